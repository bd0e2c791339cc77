#!/usr/bin/env bash
# Tests docs/FORMAT.md: the Python reader, which was written only from the document, reads stores that the
# library wrote, and both must return the same files. Then every kind of damage must be refused.
set -euo pipefail
cd "$(dirname "$0")/../.."
reader=tests/reader
export PYTHONDONTWRITEBYTECODE=1

# Uses a Python that has the modules, or a virtual environment with them.
python=${PYTHON:-python3}
if ! "$python" -c 'import argon2, nacl' 2>/dev/null; then
  venv=${CARGO_TARGET_DIR:-target}/reader-venv
  if ! "$venv/bin/python" -c 'import argon2, nacl' 2>/dev/null; then
    python3 -m venv "$venv"
    "$venv/bin/pip" --quiet --disable-pip-version-check install --requirement "$reader/requirements.txt"
  fi
  python=$venv/bin/python
fi

sample=$(mktemp -d)
trap 'rm -rf "$sample"' EXIT

compare() { # what, folder of header and anchor, folder of records and files, passphrase
  "$python" "$reader/inmost_reader.py" --header "$2/header.a" --records "$3/records.bin" --anchor "$2/anchor" \
    --passphrase-file "$4" > "$sample/read.json"
  "$python" - "$1" "$sample/read.json" "$3/files.json" <<'PYTHON'
import json, sys
what, read, expected = sys.argv[1], *(json.load(open(path)) for path in sys.argv[2:])
if read != expected:
    sys.exit(f"{what}: the reader and the program return different files")
print(f"{what}: {len(read)} identical files")
PYTHON
}

"$python" "$reader/example.py"
echo "docs/FORMAT.md: the example store is as described"

INMOST_SAMPLE=$sample/new cargo test --quiet --package inmost --lib -- --ignored --exact \
  vfs::samples::write_the_store_for_the_independent_reader > "$sample/log" 2>&1 || { cat "$sample/log"; exit 1; }
compare "a store after many changes" "$sample/new" "$sample/new" "$sample/new/passphrase"
compare "the same after a purge" "$sample/new/purged" "$sample/new/purged" "$sample/new/passphrase"
for version in tests/golden/v*/; do
  compare "$version" "$version/store" "$version" "$version/passphrase"
done
"$python" "$reader/refusals.py" "$sample/new"
