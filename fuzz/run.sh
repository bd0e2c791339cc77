#!/usr/bin/env bash
# Runs every fuzz target for some seconds and prints a table of the results.
#
#   fuzz/run.sh [seconds] [target...]     60 seconds each, all targets, address sanitizer on
#   SANITIZER=none fuzz/run.sh 10         smoke test: no nightly features, half the build time
#
# Uses the nightly toolchain if it is installed, else the stable one with unstable features allowed. New inputs go to
# fuzz/target/found/<target>, findings to fuzz/artifacts/<target>. The corpus is unpacked to fuzz/target/corpus.
set -euo pipefail
cd "$(dirname "$0")"

seconds=${1:-60}
shift || true
sanitizer=${SANITIZER:-address}
targets=("$@")
if [ ${#targets[@]} -eq 0 ]; then
    for file in fuzz_targets/*.rs; do targets+=("$(basename "$file" .rs)"); done
fi

fuzz=(cargo fuzz)
if [ "$sanitizer" = none ]; then
    # A separate folder, so that the two forms do not rebuild each other.
    export CARGO_TARGET_DIR=$PWD/target/none
else
    if cargo +nightly --version >/dev/null 2>&1; then
        fuzz=(cargo +nightly fuzz)
    else
        export RUSTC_BOOTSTRAP=1
    fi
fi

options() {
    case $1 in
        call) echo -dict=dictionaries/json.dict -max_len=4096 ;;
        # Few bytes arrive, so a length that is announced must not cost more.
        frames) echo -dict=dictionaries/json.dict -max_len=4096 -malloc_limit_mb=16 ;;
        path) echo -dict=dictionaries/path.dict -max_len=2048 ;;
        # Short inputs test little here, so libFuzzer may start with long ones.
        model | tamper) echo -max_len=1200 -len_control=0 ;;
        *) echo -max_len=4096 ;;
    esac
}

mkdir -p target/logs
for target in "${targets[@]}"; do "${fuzz[@]}" build --release --sanitizer "$sanitizer" "$target" >&2; done

printf '%-10s %12s %8s %8s %6s  %s\n' target executions edges features inputs findings
failed=0
for target in "${targets[@]}"; do
    found=target/found/$target log=target/logs/$target.log
    mkdir -p "$found" "regressions/$target" "artifacts/$target"
    ./corpus.sh unpack "$target"
    status=0
    # shellcheck disable=SC2046 # the options must be split into words
    "${fuzz[@]}" run --release --sanitizer "$sanitizer" "$target" \
        "$found" "target/corpus/$target" "regressions/$target" -- \
        -max_total_time="$seconds" -timeout=60 -rss_limit_mb=2048 -print_final_stats=1 \
        $(options "$target") >"$log" 2>&1 || status=$?
    number() { { grep -oE "$1" "$log" || true; } | tail -1 | grep -oE '[0-9]+' | tail -1 || echo -; }
    if [ "$status" -ne 0 ]; then
        failed=1
        finding=$({ grep -oE 'artifacts/[^ ]+|panicked at .*' "$log" || true; } | tr '\n' ' ')
        finding=${finding:-"see fuzz/$log"}
    else
        finding=none
    fi
    printf '%-10s %12s %8s %8s %6s  %s\n' "$target" \
        "$(number 'number_of_executed_units: [0-9]+')" "$(number 'cov: [0-9]+')" \
        "$(number 'ft: [0-9]+')" "$(number 'corp: [0-9]+')" "$finding"
done
exit $failed
