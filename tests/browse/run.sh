#!/usr/bin/env bash
# Tests the browser in a real terminal. Needs tmux and Python.
set -euo pipefail
cd "$(dirname "$0")/../.."
cargo build --quiet --package inmost-cli
exec python3 tests/browse/terminal.py "${CARGO_TARGET_DIR:-target}/debug/inmost"
