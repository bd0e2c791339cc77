#!/usr/bin/env bash
# Makes common mistakes of new users, and writes what the program prints to manners.txt beside this.
# Usage: manners.sh [PROGRAM]; without one, a debug build.
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
unset XDG_DATA_HOME EDITOR VISUAL PAGER
typist=$OLDPWD/docs/session/typed.py
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
mkdir bin
ln -s "$program" bin/inmost
# An editor that adds a line, and one that waits until it is killed.
printf '#!/bin/sh\nfor file; do :; done\necho "Ben prefers cocoa." >>"$file"\n' >bin/vim
ln -s vim bin/vi
printf '#!/bin/sh\necho "The editor has the text."\nexec sleep 60\n' >bin/waiting
chmod +x bin/vim bin/waiting
typed() { # a line, and what is typed into a terminal when which text appears
    local code=0
    printf '$ %s\n' "$1"
    (unset INMOST_PASSPHRASE; PATH=$place/bin:$PATH TERM=xterm python3 "$typist" "$@") 2>&1 || code=$?
    [ "$code" = 0 ] || printf '[exit code %s]\n' "$code"
}
secret=$INMOST_PASSPHRASE
cheap='--kdf-memory-mib 19 --kdf-passes 2'
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

    printf '\n\nThe rest was typed at a terminal.\n'
    about 'Three tries at a passphrase, and the prompt names the store'
    inmost write people/ada.md <<<'Ada prefers tea.' >/dev/null
    typed 'inmost cat people/ada.md' 'Passphrase for' 'wrong' 'Passphrase for' 'wrong again' 'Passphrase for' "$secret"
    typed 'inmost ls' 'Passphrase for' 'wrong' 'Passphrase for' 'wrong' 'Passphrase for' 'wrong'
    typed 'inmost ls' 'Passphrase for' '^C'
    about 'Words and recovery keys do not stay in the scrollback, and the next step is named'
    typed 'inmost init --store words.inmost' 'six random words' '' 'choose another' 'six words' '[y/N]' 'y' 'Press Enter' ''
    about 'A keyfile is announced at the terminal, too'
    typed "inmost init --store both.inmost --keyfile key $cheap" 'Passphrase' "$secret" 'Type it again' "$secret" '[y/N]' 'n'
    about 'What destroys asks first'
    inmost slot add --recovery-key --label paper >/dev/null
    typed 'inmost slot remove 0' 'Passphrase for' "$secret" 'Type yes' 'no'
    typed 'inmost rotate' 'Passphrase for' "$secret" 'Type yes' 'no'
    typed 'inmost rm people' 'Passphrase for' "$secret" 'Type yes' ''
    typed 'inmost destroy' 'Type ' 'no'
    run 'inmost ls' 'inmost slot list | cut -c 1-40'
    about 'An import shows its pace, and Ctrl-C of it says what is done'
    mkdir many
    for number in $(seq 20000); do printf 'Entry %d: rain.\n' "$number" >"many/$number.md"; done
    typed 'inmost import --to log many' 'Passphrase for' "$secret" 'files read' '^C'
    run 'inmost import --to log many'
    about 'An import commits many files at once'
    run 'inmost status | grep -E "^(files|text|commits|on disk)"' 'inmost stats | head -n 4'
    about 'Long output goes through a pager'
    typed "PAGER='sed \"s/^/pager: /\"' inmost log --limit 2 people" 'Passphrase for' "$secret"
    about 'vi is the editor if there is no other'
    typed 'inmost edit people/ada.md' 'Passphrase for' "$secret"
    about 'The text of a killed edit is removed by the next'
    typed 'EDITOR=waiting inmost edit people/ada.md' 'Passphrase for' "$secret" 'has the text' 'kill'
    run 'find /dev/shm -maxdepth 1 -name "inmost-edit-*" | wc -l'
    typed 'inmost edit people/ada.md' 'Passphrase for' "$secret"
    run 'find /dev/shm -maxdepth 1 -name "inmost-edit-*" | wc -l'
    about 'The key daemon has its whole name in status'
    typed 'inmost unlock' 'Passphrase for' "$secret"
    run 'inmost status | grep -A 2 "^key daemon"' 'inmost lock'
    about 'A stream of calls goes on after a locked answer'
    view='{"command":"view","path":"/memories/people/ada.md"}'
    run "(unset INMOST_PASSPHRASE; (echo '$view'; sleep 2; INMOST_PASSPHRASE='$secret' inmost unlock >/dev/null; echo '$view') | inmost call --text --keep-going)" 'inmost lock'
    about 'What was missing is there'
    run 'inmost ls --long --sort size --depth 1' 'inmost grep -C 1 cocoa people' 'inmost status --json | cut -c 1-70' 'inmost slot list --json | head -n 1 | cut -c 1-70' \
        'inmost check --json | tail -n 1' 'inmost backup copies' 'inmost undo --since 1h --dry-run friends' \
        'inmost mcp --print-config claude-command' 'inmost mcp --print-config codex' 'inmost lock --all'
    printf '\n\nLater, with the reason\n'
    cat <<'END'
`import --dry-run`, `import --exclude`: an import replaces nothing without --overwrite, prints each file that it refuses, can be
    repeated, and `inmost undo` takes it back. Until then, import a copy of the wanted files.
More in `Error: Memory is unavailable.`: the model cannot repair a store, and the cause may name paths and processes. The person
    reads cause and next step on the standard error of `inmost call` and `inmost mcp`.

Elsewhere: history and undo in docs/HISTORY.md; salvage in docs/OPERATIONS.md; service units, the lock on suspend, graphical
prompts, completion of memory paths and the browser in docs/PROGRAM.md; the packages in python/ and nodejs/; the client of the key
daemon in crates/inmost-keyd.
END
} | sed "s|$program|~/bin/inmost|g; s|$place|~|g" >"$page"
