#!/usr/bin/env bash
# Installs the package into a new virtual environment and tests it there: its own tests, the SDK's, and the types.
# Needs Rust and Python 3.11 or newer. `INMOST_PROFILE=release` tests a release build.
set -euo pipefail
cd "$(dirname "$0")"
export PYTHONDONTWRITEBYTECODE=1 PIP_DISABLE_PIP_VERSION_CHECK=1
export INMOST_PROFILE=${INMOST_PROFILE:-dev}

fail() {
  echo "$1" >&2
  exit 1
}

tools=$(realpath -m "${CARGO_TARGET_DIR:-../target}")/python
python=$tools/venv/bin/python
python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || fail 'python3 is older than 3.11'
mkdir -p "$tools"
python3 -m venv --clear "$tools/venv" || fail 'python3 makes no virtual environments'
"$python" -m pip --quiet install --requirement tests/requirements.txt ||
  fail 'the packages of tests/requirements.txt cannot be installed'
echo "---- pip install ./python ($SECONDS s)"
"$python" -m pip --quiet install .
ls -l "$tools"/../wheels/inmost-*.whl | awk '{ print "wheel: " $5 " bytes, '"$INMOST_PROFILE"' profile" }'

# pip compiles the program and then the module. A crate of both that has fewer features in the module is compiled twice.
features() { cargo tree --locked --edges normal,build --prefix none --format '{p} {f}' "$@" | sed 's/ (\*)$//' | sort -u; }
program=$(features --package inmost-cli --features postgres)
twice=$(comm -13 <(echo "$program") <(features --package inmost-python) | cut -d ' ' -f 1,2 | grep -Fxf <(cut -d ' ' -f 1,2 <<<"$program")) || true
[ -z "$twice" ] || [ "$(uname -s)" != Linux ] || fail "python/Cargo.toml lacks features that the program has in $(tr '\n' ',' <<<"$twice")"

echo "---- the source distribution ($SECONDS s)"
"$python" -m build --sdist --outdir "$tools/sdist" . >/dev/null
rm -rf "$tools"/sdist/*/
tar -xzf "$tools"/sdist/inmost-*.tar.gz -C "$tools/sdist"
# Every file that cargo needs is in it. It is built by hand, because that compiles everything again.
cargo metadata --locked --no-deps --format-version 1 --manifest-path "$tools"/sdist/inmost-*/python/Cargo.toml >/dev/null
grep -q '^Name: inmost$' "$tools"/sdist/inmost-*/PKG-INFO

echo "---- pytest ($SECONDS s)"
"$python" -m pytest -q -p no:cacheprovider tests
echo "---- the SDK's own tests ($SECONDS s)"
tests/sdk_suite/run.sh "$python" "$tools/sdk"

echo "---- PostgreSQL ($SECONDS s)"
INMOST=$tools/venv/bin/inmost ../tests/postgres/run.sh with "$python" -m pytest -q -p no:cacheprovider --config-file "$PWD/pyproject.toml" \
  "$PWD/postgres_tests"
INMOST=$tools/venv/bin/inmost ../tests/postgres/run.sh load "$python" "$PWD/examples/web_service.py" -- 20 3

echo "---- types ($SECONDS s)"
"$python" -m mypy --strict --cache-dir "$tools/mypy" benchmark.py examples tests postgres_tests
"$python" -m mypy.stubtest inmost._inmost
"$tools/venv/bin/pyright" --pythonpath "$python" benchmark.py examples tests postgres_tests
echo "---- done ($SECONDS s)"
