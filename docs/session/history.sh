#!/usr/bin/env bash
# Lets an agent change a memory for a night, undoes it, and writes what the program printed to docs/HISTORY.md.
# Usage: history.sh [PROGRAM]; without one, a debug build.
set -euo pipefail
cd "$(dirname "$0")/../.."
page=$PWD/docs/HISTORY.md
program=${1:-}
if [ -z "$program" ]; then
    cargo build --quiet --package inmost-cli
    program=$(cargo metadata --format-version 1 --no-deps | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')/debug/inmost
fi
program=$(realpath "$program")
place=$(mktemp -d)
trap '"$program" lock >/dev/null 2>&1; rm -rf "$place"' EXIT
mkdir -m 700 "$place/run"
cd "$place"
export INMOST_STORE=notes.inmost INMOST_PASSPHRASE='correct horse battery staple' XDG_RUNTIME_DIR=$place/run TZ=UTC
inmost() { "$program" "$@"; }

say() { fmt -w 120 <<<"$1"; echo; }
# Runs a command line, and shows it as typed with what it printed. It may fail.
run() {
    # shellcheck disable=SC2016 # the backquotes are markdown
    printf '```console\n'
    while [ $# -gt 0 ]; do
        printf '$ %s\n' "$1"
        (eval "$1") 2>&1 || true
        shift
    done
    # shellcheck disable=SC2016
    printf '```\n\n'
}
size='inmost status | grep -A1 -E "^(on disk|history)"'
version() { inmost log --json --limit 1 "$@" | sed 's/^{"version":\([0-9]*\),.*/\1/'; }

# 4,000 lines on what grows where, and the agent's calls: it rewords each tenth line, tidies up, and keeps what it should not.
for line in $(seq 4000); do printf 'Bed %d: carrots, then beans, then a year of clover.\n' "$line"; done >garden.txt
{
    for line in $(seq 10 10 4000); do
        printf '{"command":"str_replace","path":"/memories/garden.md","old_str":"Bed %d: carrots","new_str":"Bed %d: parsnips"}\n' "$line" "$line"
    done
    printf '%s\n' '{"command":"str_replace","path":"/memories/plan.md","old_str":"Dig the pond in May.","new_str":"Fill the pond in May."}' \
        '{"command":"create","path":"/memories/found.md","file_text":"The key of the shed is 4711.\n"}' \
        '{"command":"str_replace","path":"/memories/tea.md","old_str":"Ada prefers tea.","new_str":"Ada prefers coffee."}' \
        '{"command":"delete","path":"/memories/people"}'
} >night.jsonl

{
    say '# A night of changes, and back'
    say 'This page shows the commands of the history on a real store. `docs/session/history.sh` runs them and writes the page; only the text between the listings is written by hand.'
    say '## The evening'
    say 'A new store says what it keeps, for how long, and how to end it. Ada fills it.'
    run 'inmost init' \
        'inmost write --as ada /memories/garden.md < garden.txt' \
        'echo "Dig the pond in May." | inmost write --as ada /memories/plan.md' \
        'echo "Ada prefers tea." | inmost write --as ada /memories/tea.md' \
        'echo "Ben: birthday in June." | inmost write --as ada /memories/people/ben.md' \
        "$size"
    say '## The night'
    say 'An agent makes 404 calls, 400 of them on one file. Its name comes from its MCP client, or here from `--as`.'
    run 'inmost call --as night-agent --text < night.jsonl | tail -n 1' "$size"
    say 'Every earlier text can come back. An edit keeps only the part of the file that it replaces: 400 copies of the whole file would take 80 MB.'
    say '## The morning'
    say 'Ada corrects one file before she sees the rest.'
    run 'echo "Ada prefers tea, and coffee after lunch." | inmost write --as ada /memories/tea.md' \
        'inmost log --limit 6' 'inmost log --by night-agent --json | wc -l'
    run "inmost diff $(version /memories/plan.md)"
    say 'The plan of an undo says what would go back, and what would not because somebody changed it since.'
    run 'inmost undo --by night-agent --since 12h --dry-run'
    run 'inmost undo --by night-agent --since 12h --as ada --yes | tail -n 1' \
        'inmost cat /memories/plan.md' 'inmost cat /memories/people/ben.md' 'inmost cat --lines 10..10 /memories/garden.md'
    say 'The undo is a list of changes like any other. One file was left, and can be looked at by itself:'
    run "inmost diff $(version --by ada --kind modified /memories/tea.md)"
    say '## Forgetting'
    say 'The code of the shed is no longer in the memory, but its history has it.'
    run 'inmost log /memories/found.md' \
        "inmost restore $(version --kind deleted /memories/found.md) --to /memories/proof.md" \
        'inmost rm /memories/proof.md' \
        'inmost forget /memories/found.md' 'inmost forget /memories/found.md --yes' \
        'inmost log /memories/found.md' 'inmost log /memories/proof.md'
    say 'One `forget` removes the history of the file under every path that it had, so `proof.md` has none either.'
    say 'No command brings it back now. Its ciphertext goes with the next rewrite, which keeps all other versions:'
    run "$size" 'inmost compact' "$size"
    say 'And `purge` drops every version. The setting stays.'
    run 'inmost purge' 'inmost purge --yes' "$size" 'inmost check'
} >"$page"
