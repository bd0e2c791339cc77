#!/usr/bin/env bash
# sanitizer.sh [FILTER...]: the tests of the library under the address sanitizer, leaks included. Ten minutes, most of them building.
#
# There is unsafe code in two places of ours, the pool of locked pages and the limits of a process, and much in sled. Takes the
# nightly toolchain if there is one, else tells the stable one to be lenient.
set -euo pipefail
cd "$(dirname "$0")/../.."
cargo=(cargo)
if cargo +nightly --version >/dev/null 2>&1; then cargo+=(+nightly); else export RUSTC_BOOTSTRAP=1; fi
host=$(rustc -vV | sed -n 's/^host: //p')
export RUSTFLAGS="-Zsanitizer=address ${RUSTFLAGS:-}" CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-target}/sanitizer
# sled never frees the queue and the threads of its pool, which live as long as the process.
exec "${cargo[@]}" test --locked --package inmost --lib --features redb --target "$host" -- "$@"
