#!/usr/bin/env bash
# Tests the browser in a real terminal. Needs tmux and Python.
set -euo pipefail
cd "$(dirname "$0")/../.."
cargo test --quiet --no-run --test program
exec python3 tests/browse/terminal.py "${CARGO_TARGET_DIR:-target}/debug/inmost"
