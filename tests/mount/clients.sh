#!/usr/bin/env bash
# Adopts the memories of real clients: `clients.py` says what is tested. Needs fusermount3 unless it runs as root. Takes about a
# minute, after the installation of the clients.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/mcp/install.sh
cargo build --locked
"$python" tests/mount/clients.py "$binaries" "${CARGO_TARGET_DIR:-target}/debug/inmost"
