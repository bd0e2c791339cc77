#!/usr/bin/env bash
# Runs the SDK's own tests of its memory tool, unedited, against inmost.anthropic. README.md describes it.
#
#   run.sh PYTHON FOLDER
#
# PYTHON is an interpreter with the packages of the tests. The SDK's source is kept in FOLDER for the next run.
set -euo pipefail
cd "$(dirname "$0")"
python=$1 folder=$2
suite=tests/lib/tools/memory_tools/test_filesystem.py

if ! cmp -s requirements.txt "$folder/requirements.txt"; then
  rm -rf "$folder"
  mkdir -p "$folder"
  # The hash is that of the source distribution, so a wheel is refused.
  "$python" -m pip --quiet --disable-pip-version-check download --no-deps --no-binary anthropic --require-hashes \
    --requirement requirements.txt --dest "$folder"
  tar --extract --gzip --file "$folder"/anthropic-*.tar.gz --directory "$folder" --strip-components 1 --wildcards "*/$suite"
  cp requirements.txt "$folder/requirements.txt"
fi
# Not from the SDK's folder, which has settings of its own.
PYTHONPATH=$PWD${PYTHONPATH:+:$PYTHONPATH} "$python" -m pytest -p plugin --rootdir "$folder" -c /dev/null \
  -o asyncio_mode=auto -o asyncio_default_fixture_loop_scope=function -o cache_dir="$folder/cache" -q "$folder/$suite"
