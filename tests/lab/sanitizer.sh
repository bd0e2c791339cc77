#!/usr/bin/env bash
# sanitizer.sh [FILTER...]: runs the library's tests under the address sanitizer, including leak detection.
# Takes ten minutes, mostly building.
#
# Our unsafe code is in two files, `locked.rs` and `registers.rs` in crates/inmost-format/src/secret; sled has
# much more.
# Uses the nightly toolchain if there is one, otherwise the stable one with unstable features allowed.
set -euo pipefail
cd "$(dirname "$0")/../.."
cargo=(cargo)
if cargo +nightly --version >/dev/null 2>&1; then cargo+=(+nightly); else export RUSTC_BOOTSTRAP=1; fi
host=$(rustc -vV | sed -n 's/^host: //p')
export RUSTFLAGS="-Zsanitizer=address ${RUSTFLAGS:-}" CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-target}/sanitizer
# Locked pages are allocated for the life of the process, which looks like a leak in a test.
suppressions=$(mktemp)
trap 'rm -f "$suppressions"' EXIT
echo 'leak:inmost_format::secret::locked::Chunk' >"$suppressions"
export LSAN_OPTIONS=suppressions=$suppressions:print_suppressions=0
# Excluded are a test that reads its own stack, which the sanitizer moves elsewhere, and time limits.
"${cargo[@]}" test --locked --package inmost --package inmost-format --package inmost-engines --package inmost-sled --package inmost-redb --lib --target "$host" -- \
    --skip leaves_a_clean_stack --skip linear_time "$@"
