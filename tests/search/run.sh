#!/usr/bin/env bash
# Compares the scores of `inmost-search` with those of bm25s, on the documentation of packages for Python: the same tokens must
# get the same scores. Prints the largest difference and the times.
set -euo pipefail
cd "$(dirname "$0")/../.."
export PYTHONDONTWRITEBYTECODE=1

python=${PYTHON:-python3}
if ! "$python" -c 'import bm25s, docutils, sympy' 2>/dev/null; then
  venv=${CARGO_TARGET_DIR:-target}/search-venv
  if ! "$venv/bin/python" -c 'import bm25s, docutils, sympy' 2>/dev/null; then
    python3 -m venv "$venv"
    "$venv/bin/pip" --quiet --disable-pip-version-check install --requirement tests/search/requirements.txt
  fi
  python=$venv/bin/python
fi

cargo build --quiet --release --package inmost-search --example scores
"$python" tests/search/compare.py "${CARGO_TARGET_DIR:-target}/release/examples/scores" "$@"
