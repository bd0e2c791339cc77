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

read_store() { # folder of the store with its records, passphrase, options
  "$python" "$reader/inmost_reader.py" --header "$1/store/header.a" --records "$1/records.bin" \
    --journal "$1"/store/gen-*/journal --anchor "$1/store/anchor" --passphrase-file "$2" "${@:3}" > "$sample/read.json"
}

compare() { # what, folder of the store with its records and files, passphrase
  read_store "$2" "$3"
  identical "$1" files "$2/files.json"
}

compare_versions() { # what, folder of the store with its records, files and versions, passphrase
  compare "$@"
  read_store "$2" "$3" --history
  identical "$1" versions "$2/versions.json"
  read_store "$2" "$3" --readings
  identical "$1" readings "$2/readings.json"
}

identical() { # what, of which things, what the program returned
  "$python" - "$1" "$2" "$sample/read.json" "$3" <<'PYTHON'
import json, sys
what, things, read, expected = *sys.argv[1:3], *(json.load(open(path)) for path in sys.argv[3:])
for thing in filter(lambda thing: isinstance(thing, dict), read):
    thing.pop("held", None)  # what an entry holds: the program shows only the texts of versions
if read != expected:
    sys.exit(f"{what}: the reader and the program return different {things}")
print(f"{what}: {len(read)} identical {things}")
PYTHON
}

"$python" "$reader/example.py"
"$python" tests/vectors/make.py
"$python" crates/inmost-sync/tests/vectors.py check
echo "docs/FORMAT.md: the example store is as described"

new=$sample/new
make() { # arguments that choose the test target, name of the test
  INMOST_SAMPLE=$new INMOST_TEST_NO_BACKGROUND=1 cargo test --quiet "${@:1:$#-1}" -- --ignored --exact "${@: -1}" \
    > "$sample/log" 2>&1 || { cat "$sample/log"; exit 1; }
}
make --lib vfs::samples::write_the_store_for_the_independent_reader
make --test store samples::write_the_records_of_the_samples_and_more_stores
compare "a store after many changes" "$new" "$new/passphrase"
compare "the same after a purge" "$new/purged" "$new/passphrase"
compare "a store in use" "$new/in-use" "$new/passphrase"
compare_versions "a store with a history" "$new/history" "$new/passphrase"
for number in 2 3; do
  "$python" "$reader/inmost_reader.py" --backup "$new/backups/kept/backup-000000000000000$number" \
    --passphrase-file "$new/passphrase" > "$sample/read.json"
  identical "backup $number of a folder" files "$new/backups/$number.json"
done
for version in tests/golden/v*; do
  compare "$version" "$version" "$version/passphrase"
  compare "$version/in-use" "$version/in-use" "$version/in-use/passphrase"
  compare_versions "$version/history" "$version/history" "$version/history/passphrase"
done
"$python" "$reader/refusals.py" "$new"
