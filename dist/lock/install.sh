#!/bin/sh
# Installs the service that locks the stores of this user before suspend and with the screen, and starts it.
set -eu
cd "$(dirname "$0")"
inmost=$(command -v inmost) || {
    echo 'inmost is not on the PATH; install it first, for example with: cargo install --locked --path cli' >&2
    exit 1
}
if [ "$(uname -s)" = Darwin ]; then
    mkdir -p ~/Library/LaunchAgents
    cp org.inmost.lock.plist ~/Library/LaunchAgents/
    launchctl load -w ~/Library/LaunchAgents/org.inmost.lock.plist
    echo 'Installed: unlocked stores lock at logout. After sleep they lock when their idle time is over.'
    exit 0
fi
for program in systemctl systemd-inhibit dbus-monitor; do
    command -v "$program" >/dev/null || {
        echo "$program is missing; it is part of systemd, or of Debian's package dbus-bin" >&2
        exit 1
    }
done
programs=${XDG_DATA_HOME:-$HOME/.local/share}/inmost
units=${XDG_CONFIG_HOME:-$HOME/.config}/systemd/user
mkdir -p "$programs" "$units"
cp lock-on-suspend "$programs/"
sed "s|/usr/lib/inmost/lock-on-suspend|/usr/bin/env \"INMOST_PROGRAM=$inmost\" \"$programs/lock-on-suspend\"|" inmost-lock.service \
    >"$units/inmost-lock.service"
systemctl --user daemon-reload
systemctl --user enable --now inmost-lock.service
echo 'Installed: unlocked stores lock before suspend and with the screen.'
