#!/usr/bin/env bash
# Types a session into tmux, as a person would, and writes what the terminal showed to transcript.txt beside this.
# Needs tmux and what tests/mcp/run.sh installs; run that first.
set -euo pipefail
cd "$(dirname "$0")/../.."
here=$PWD/docs/session tools=$PWD/target/mcp-clients
place=$(mktemp -d)
trap 'XDG_RUNTIME_DIR=$place/run "$place/bin/inmost" lock --store "$place/demo.inmost" >/dev/null 2>&1; tmux -L inmost kill-server 2>/dev/null; sleep 0.5; rm -rf "$place"' EXIT
cargo build --quiet --package inmost-cli
mkdir "$place/bin" "$place/run"
chmod 700 "$place/run"
ln -s "$PWD/target/debug/inmost" "$place/bin/inmost"
printf '#!/bin/sh\nexec %s/venv/bin/python "$@"\n' "$tools" >"$place/bin/mcp-python"
ln -s "$here/python_client.py" "$place/bin/client.py"
cat >"$place/bin/inspector" <<END
#!/bin/sh
# inspector COMMAND PATH [LINE TEXT]: one call by the inspector's command line, which starts a server of its own.
PATH=$tools/bin:\$PATH HOME=$place MCP_INSPECTOR_SECRET_STORE=memory exec $tools/node_modules/.bin/mcp-inspector \\
    --cli --config $place/config.json --server inmost --method tools/call --tool-name memory \\
    --tool-arg command=\$1 --tool-arg path=\$2 \${3:+--tool-arg insert_line=\$3 --tool-arg insert_text="\$4"} |
    mcp-python -c 'import json, sys; print("inspector:", json.load(sys.stdin)["content"][0]["text"])'
END
chmod +x "$place/bin/inspector" "$place/bin/mcp-python"

run() { tmux -L inmost "$@"; }
run -f /dev/null new-session -d -s demo -x 110 -y 200 "env -i PATH='$place/bin:/usr/bin:/bin' TERM=screen HOME='$place' \
    XDG_RUNTIME_DIR='$place/run' INMOST_STORE='$place/demo.inmost' PS1='\$ ' bash --norc --noprofile -i"
wait_for() { # text: waits until the last lines show it; without one, for the prompt
    for _ in $(seq 300); do
        shown=$(run capture-pane -p -t demo | sed '/^$/d' | tail -3)
        if [ -n "${1:-}" ]; then grep -qF -- "$1" <<<"$shown" && return; fi
        if [ -z "${1:-}" ] && [ "$(tail -1 <<<"$shown")" = '$' ]; then return; fi
        sleep 0.1
    done
    echo "the terminal never showed: ${1:-a prompt}" >&2
    run capture-pane -p -t demo >&2
    exit 1
}
say() { run send-keys -t demo -l "$1"; run send-keys -t demo Enter; sleep 0.3; }
command() { say "$1"; wait_for "${2:-}"; }

wait_for
command 'inmost init' 'six random words'
command 'anvil breeze copper dawn ember fjord' 'gain'
command 'anvil breeze copper dawn ember fjord' '[y/N]'
command 'n'
command 'inmost unlock --idle 20s' 'Passphrase for'
command 'anvil breeze copper dawn ember fjord'
command 'inmost mcp --print-config generic > ~/config.json; echo "# shared" | inmost write /memories/shared.md'
command 'mcp-python ~/bin/client.py $(which inmost) /memories/shared.md 6 & for n in 0 1 2 3 4 5; do inspector insert /memories/shared.md 0 "inspector $n"; done; wait'
command 'inmost cat /memories/shared.md | sort'
command 'inmost status'
command 'sleep 22; inspector view /memories' 'inspector: '
sleep 1
command 'inmost unlock --idle 20s' 'Passphrase for'
command 'anvil breeze copper dawn ember fjord'
command 'inspector view /memories' 'shared.md'
command 'inmost lock'
sleep 0.5
run capture-pane -p -t demo | sed -e '/^$/d' -e "s|$place|~|g" |
    # The log lines that the inspector prints with every call.
    sed -e '/^\[mcp-inspector\]/d' -e '/secret-storage.md$/d' >"$here/transcript.txt"
cat "$here/transcript.txt"
