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
# Locked pages are taken for the life of a process, which in a test looks like a leak.
suppressions=$(mktemp)
trap 'rm -f "$suppressions"' EXIT
echo 'leak:inmost::secret::locked::Chunk' >"$suppressions"
export LSAN_OPTIONS=suppressions=$suppressions:print_suppressions=0
# Left out are a test that looks at its own stack, which the sanitizer moves elsewhere, and bounds on time.
"${cargo[@]}" test --locked --package inmost --package inmost-format --package inmost-engines --lib --features redb --target "$host" -- \
    --skip leaves_a_clean_stack --skip linear_time "$@"
