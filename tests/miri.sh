#!/usr/bin/env bash
# miri.sh [NAME]: runs the unit tests of inmost-format under Miri, which finds undefined behaviour, each for 75 s at most. NAME selects
# tests whose names contain it.
#
# The target is 32-bit Windows: Miri knows neither the system calls that lock memory on Linux nor the assembly that zeroes vector
# registers on x86-64, and on this target neither is used. Takes about half an hour. Prints the tests that did not pass, and fails if
# one has failed.
set -euo pipefail
cd "$(dirname "$0")/.."
rustup component list --toolchain nightly 2>/dev/null | grep -q '^miri.*(installed)' ||
    rustup toolchain install nightly --profile minimal --component miri,rust-src
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# Tests may read the clock and write to temporary folders.
export MIRIFLAGS=-Zmiri-disable-isolation
run() { cargo +nightly miri test --quiet --locked --target i686-pc-windows-gnu --package inmost-format --lib -- "$@" </dev/null; }
names=$(run --list | sed -n 's/: test$//p' | grep -F -- "${1:-}")
passed=0 failed=0 slow=0
for name in $names; do
    code=0
    timeout 75 bash -c "$(declare -f run)"'; run --exact "$0"' "$name" >"$log" 2>&1 || code=$?
    case $code in
        0) passed=$((passed + 1)) ;;
        124) slow=$((slow + 1)) && printf 'too slow  %s\n' "$name" ;;
        *) failed=$((failed + 1)) && printf 'FAILED    %s: %s\n' "$name" "$(grep -m 1 -E '^error|panicked' "$log" || true)" ;;
    esac
done
printf '%d passed, %d too slow, %d failed\n' "$passed" "$slow" "$failed"
[ "$failed" = 0 ]
