#!/usr/bin/env bash
# Tests what a desktop does for the program: a real pinentry asks for the passphrase, and logind's signals lock the stores.
set -euo pipefail
cd "$(dirname "$0")/../.."
tools=${CARGO_TARGET_DIR:-target}/desktop
if [ ! -x "$tools/bin/python" ] || ! "$tools/bin/python" -c 'import jeepney' 2>/dev/null; then
  python3 -m venv "$tools"
  "$tools/bin/python" -m pip --quiet --disable-pip-version-check install jeepney==0.9.0
fi
cargo test --quiet --no-run --test program
inmost=$(realpath "${CARGO_TARGET_DIR:-target}/debug/inmost")
tests/desktop/pinentry.sh "$inmost"
"$tools/bin/python" tests/desktop/suspend.py "$inmost"
