#!/usr/bin/env bash
# Types what new users got wrong, or were stopped by, in a review of an early build, and writes what the program prints today
# to manners.txt beside this. Usage: manners.sh [PROGRAM]; without one, a debug build.
set -euo pipefail
cd "$(dirname "$0")/../.."
page=$PWD/docs/session/manners.txt
program=${1:-}
if [ -z "$program" ]; then
    cargo build --quiet --locked --package inmost-cli
    program=$(cargo metadata --format-version 1 --no-deps | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')/debug/inmost
fi
program=$(realpath "$program")
place=$(mktemp -d)
trap '"$program" lock --all >/dev/null 2>&1; rm -rf "$place"' EXIT
mkdir -m 700 "$place/run" "$place/home"
cd "$place"
export HOME=$place/home INMOST_STORE=notes.inmost INMOST_PASSPHRASE='correct horse battery staple' XDG_RUNTIME_DIR=$place/run TZ=UTC
unset XDG_DATA_HOME XDG_STATE_HOME EDITOR VISUAL
inmost() { "$program" "$@"; }
about() { printf '\n# %s\n' "$1"; }
run() { # each command line as typed, with what it prints, and its exit code if it is not 0
    local code
    for line in "$@"; do
        printf '$ %s\n' "$line"
        code=0
        (eval "$line") 2>&1 || code=$?
        [ "$code" = 0 ] || printf '[exit code %s]\n' "$code"
    done
}
{
    echo 'Recorded by docs/session/manners.sh.'
    about 'A folder is not a missing file'
    run 'inmost init' 'echo "Ada prefers tea." | inmost write people/ada.md' 'inmost cat people'
    about 'A keyfile is announced, and its absence is not a wrong passphrase'
    run 'inmost init --store key.inmost --keyfile k' 'inmost status --store key.inmost' 'inmost ls --store key.inmost'
    about 'An engine that was not built is not blamed on the store'
    run 'inmost migrate --engine redb' 'inmost init --store r.inmost --engine redb'
    about 'Sizes on disk are those of du'
    run 'inmost status | grep "on disk"' 'du -sh notes.inmost | cut -f 1'
    about 'Paths'
    run 'echo x | inmost write /memories/dir/' 'inmost ls --depth 1' 'mkdir p; echo x > "p/bad\slash.md"; inmost import p' 'mkfifo pipe; inmost import pipe' 'inmost cat "*.md"'
    about 'Slips of the fingers'
    run 'inmost unlcok' 'inmost ls --stor x' 'inmost help lock | head -n 4' 'inmost | head -n 8' 'inmost cat'
    about 'Manual pages'
    run 'inmost man pages/of/it && ls pages/of/it | head -n 3' 'inmost man | grep "^\.SH"'
    about 'Is it unlocked?'
    run '(unset INMOST_PASSPHRASE; inmost status | head -n 2; exit "${PIPESTATUS[0]}")' 'inmost unlock' '(unset INMOST_PASSPHRASE; inmost status | head -n 2; exit "${PIPESTATUS[0]}")' 'inmost lock'
    about 'The cost of key derivation'
    run 'inmost init --store c.inmost --kdf-memory-mib 5'
    about 'Nothing is removed without a question'
    run 'inmost rm people' 'inmost slot remove 0'
    about 'Habits'
    run 'inmost mv people/ada.md friends/' 'inmost grep -n -w tea' 'inmost grep coffee' 'inmost grep tea none' \
        'inmost --store notes.inmost ls' 'echo y > one.md; inmost import one.md' 'inmost cat one.md friends/ada.md' \
        'inmost mv one.md none friends/' 'inmost rm one.md one.md | sed "s/until .* \`/until TIME. \`/"' 'inmost rm -r friends friends/ada.md | tail -n 1 | cut -c 1-16'
    about 'Failures name their object'
    run 'inmost ls --store none' 'INMOST_PASSPHRASE=wrong inmost ls'
    about 'A call after a lock'
    run "echo '{\"command\":\"view\",\"path\":\"/memories\"}' | (unset INMOST_PASSPHRASE; inmost call --text)"
} | sed "s|$place|~|g" >"$page"
