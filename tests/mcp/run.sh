#!/usr/bin/env bash
# Tests `inmost mcp` with third-party clients: the Python package `mcp`, the inspector of the protocol's authors, Claude
# Code, Codex and Gemini CLI; and the bundle for Claude Desktop.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/mcp/install.sh

cargo test --quiet --no-run --test program
inmost=$(realpath "${CARGO_TARGET_DIR:-target}/debug/inmost")
"$python" tests/mcp/python_client.py "$inmost"
"$python" tests/mcp/inspector_client.py "$binaries/mcp-inspector" "$inmost"
# Node.js 20 has waited for ever, at its exit, for a thread of its compiler.
bundle() { timeout -k 5 120 dist/mcpb/build.sh "$binaries/mcpb" "$tools/inmost.mcpb" "$inmost" >/dev/null; }
bundle || bundle
"$python" tests/mcp/bundle.py "$tools/inmost.mcpb" "$inmost"
"$python" tests/mcp/coding_clients.py "$binaries" "$inmost"
