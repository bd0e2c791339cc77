#!/usr/bin/env bash
# Unlocks a store through a real pinentry, in a terminal of tmux: cancelled, with a wrong passphrase, and with the right one.
#
#   tests/desktop/pinentry.sh PROGRAM
set -euo pipefail
for program in tmux pinentry-curses; do
  command -v "$program" >/dev/null || {
    echo "there is no $program" >&2
    exit 1
  }
done
inmost=$1
folder=$(mktemp -d)
socket=$folder/tmux
tmux() { command tmux -S "$socket" -f /dev/null "$@"; }
trap 'tmux kill-server 2>/dev/null; "$inmost" lock --store "$folder/store" >/dev/null 2>&1; rm -rf "$folder"' EXIT
export XDG_RUNTIME_DIR=$folder/runtime HOME=$folder PINENTRY_PROGRAM=pinentry-curses
mkdir -m 700 "$XDG_RUNTIME_DIR"
printf 'correct horse' >"$folder/secret"
"$inmost" init --store "$folder/store" --passphrase-file "$folder/secret" --kdf-memory-mib 19 --kdf-passes 2 >/dev/null

# Waits until the screen shows this text.
shows() {
  for _ in $(seq 600); do
    if tmux capture-pane -p | grep -qF -- "$1"; then return; fi
    sleep 0.1
  done
  echo "the screen does not show: $1" >&2
  tmux capture-pane -p >&2
  exit 1
}

tmux new-session -d -x 100 -y 30 "env PS1='ready> ' sh"
shows 'ready>'
# pinentry-curses draws on the terminal that this variable names.
tmux send-keys 'export GPG_TTY=$(tty)' Enter
command="'$inmost' unlock --store '$folder/store' --prompt pinentry; echo code=\$?"
tmux send-keys "clear; $command" Enter
shows 'Unlock the memory in'
tmux send-keys Escape
shows 'code=1'
echo 'pinentry-curses: a cancelled prompt unlocks nothing'
tmux send-keys "clear; $command" Enter
shows 'Unlock the memory in'
tmux send-keys 'wrong' Enter
shows 'Unlock the memory in'
tmux send-keys 'correct horse' Enter
shows 'Unlocked.'
shows 'code=0'
if tmux capture-pane -p -S - | grep -q 'correct horse'; then
  echo 'the passphrase is on the screen' >&2
  exit 1
fi
"$inmost" ls --store "$folder/store" >/dev/null
echo 'pinentry-curses: the right passphrase unlocks, after a wrong one'
