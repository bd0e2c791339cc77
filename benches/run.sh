#!/usr/bin/env bash
# Builds the benchmarks, runs them all and writes docs/BENCHMARKS.md with its charts, unattended.
#
#   benches/run.sh            under 9 minutes after building; BENCH_LARGE=1 adds a store of 100,000 files and 1,000 open stores in
#                             one process, BENCH_HUGE=1 a store of 1,000,000 files too, which takes longer than the rest
#   benches/run.sh --smoke    under a minute after building: small sizes, few samples; the page goes to benches/target/smoke
#   benches/run.sh --page     rewrites the page from the results of the last run
#
# Builds in CARGO_TARGET_DIR, by default benches/target. Works in a folder below TMPDIR if that is on a disk, else in the same
# place; needs 2 GB there, about 8 GB more with BENCH_LARGE, and another 10 GB with BENCH_HUGE.
set -euo pipefail
target=${CARGO_TARGET_DIR:-$(dirname "$0")/target}
mkdir -p "$target"
target=$(cd "$target" && pwd)
cd "$(dirname "$0")"
export CARGO_TARGET_DIR=$target PYTHONDONTWRITEBYTECODE=1

smoke=false only_page=false
case ${1:-} in
    '') ;;
    --smoke) smoke=true ;;
    --page) only_page=true ;;
    *) sed -n '2,11s/^# \{0,1\}//p' run.sh >&2; exit 2 ;;
esac

if $smoke; then
    results=$target/smoke page=$target/smoke/BENCHMARKS.md charts=$target/smoke/charts
    sizes='100 300' seconds=0.1 samples=10 unlocks=3 starts=3 edits=10
    traces=(40 200 400000 40) single=100 cpu=100 opens=3 stalls=(2 50) imports=(200 2) vaults=5
else
    results=$target/results page=../docs/BENCHMARKS.md charts=../docs/benchmarks
    sizes='100 10000' seconds=2 samples=20 unlocks=15 starts=20 edits=40
    traces=(500 3000 4194304 200) single=5000 cpu=300000 opens=20 stalls=(5 2000) imports=(5000 5) vaults=
    if [ -n "${BENCH_LARGE:-}${BENCH_HUGE:-}" ]; then sizes+=' 100000' vaults=1000; fi
    if [ -n "${BENCH_HUGE:-}" ]; then sizes+=' 1000000'; fi
fi

write_page() { python3 python/page.py "$results" "$page" "$charts"; }

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi; }

# Installs Debian packages if possible. The caller detects a failure when it uses them.
install() { as_root apt-get update -qq && as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$@"; }

say() { printf '== %s (%d s)\n' "$1" "$SECONDS" >&2; }

if $only_page; then write_page; exit; fi

command -v python3 >/dev/null || install python3 python3-venv
missing=()

# ---- building

say 'building'
features=(--features sqlcipher) ring=sqlcipher,ring
if ! { command -v cc && [ -e /usr/include/openssl/crypto.h ]; } >/dev/null; then
    install gcc libc6-dev libssl-dev >&2 || true
fi
if ! cargo build --release --locked --quiet "${features[@]}"; then
    printf '\n!! SQLCipher could not be built: its rows will be missing\n\n' >&2
    features=() ring=ring missing+=(sqlcipher)
    cargo build --release --locked --quiet
fi
cargo bench --locked --quiet "${features[@]}" --bench rows --no-run
# Another folder, because each build would replace the programs of the other.
CARGO_TARGET_DIR=$target/ring cargo build --release --locked --quiet --features "$ring"
CARGO_TARGET_DIR=$target/ring cargo bench --locked --quiet --features "$ring" --bench rows --no-run
cargo build --release --locked --quiet --manifest-path ../Cargo.toml --package inmost-cli

venv=$target/venv
if ! "$venv/bin/python" -c 'import anthropic.tools' 2>/dev/null; then
    rm -rf "$venv"
    if ! { python3 -m venv "$venv" && "$venv/bin/pip" install --quiet --requirement python/requirements.txt; } >&2; then
        printf '\n!! The Python SDK could not be installed: its rows will be missing\n\n' >&2
        missing+=(sdk)
    fi
fi

command -v restic >/dev/null || install restic >&2 || true
restic=$(command -v restic) || {
    printf '\n!! restic could not be installed: its row will be missing\n\n' >&2
    missing+=(restic)
}

# ---- where

real_disk() { [ -d "$1" ] && case $(stat -f -c %T "$1") in tmpfs | ramfs | fuse*) return 1 ;; esac; }
place=${TMPDIR:-/tmp}
real_disk "$place" || place=$target
real_disk "$place" || { echo 'neither TMPDIR nor the build folder is on a disk, and syncs elsewhere would cost nothing' >&2; exit 1; }
work=$(mktemp -d "$place/inmost-bench.XXXXXX")
trap 'rm -rf "$work"' EXIT
real_disk /dev/shm && { echo '/dev/shm is not in memory, where processor time is measured' >&2; exit 1; }
in_memory=$(mktemp -d /dev/shm/inmost-bench.XXXXXX)
trap 'rm -rf "$work" "$in_memory"' EXIT

measure=$target/release/measure measure_ring=$target/ring/release/measure
rm -rf "$results"
mkdir -p "$results"
began=$SECONDS
python3 python/machine.py "$work" "benches/run.sh${1:+ $1}" "${missing[@]}" >"$results/machine.json"

# ---- measuring

say 'traces and stores'
"$measure" traces "$work/traces" "${traces[@]}"
for size in $sizes; do "$measure" fill "$work/store-$size" "$size"; done
# Write back the dirty pages from filling, so that they do not disturb the measurements.
sync

say 'single calls'
BENCH_WORK=$work BENCH_SIZES=$sizes BENCH_SECONDS=$seconds CRITERION_HOME=$results/criterion \
    cargo bench --locked --quiet "${features[@]}" --bench rows -- --noplot --sample-size "$samples" >"$results/criterion.log" 2>&1 ||
    { tail -20 "$results/criterion.log" >&2; exit 1; }

say 'traces on every peer'
for trace in mixed long; do "$measure" "$results" replay "$trace" "$work/traces/$trace" "$work/$trace"; done
sdk_edits=()
if [[ " ${missing[*]} " != *' sdk '* ]]; then
    say 'the Python SDK'
    mkdir "$work/sdk"
    # On failure, the page names the missing rows and page.py makes this script fail.
    "$venv/bin/python" python/sdk.py "$work/traces" "$work/sdk" "$results" "$seconds" ||
        printf '\n!! The measurement of the Python SDK failed\n\n' >&2
    sdk_edits=("$venv/bin/python" python/sdk.py edits "$work/sdk/edits")
fi

say 'the distribution of durable edits'
"$measure" "$results" latency "$work/latency" "$single" "${sdk_edits[@]}"
"$measure" "$results" turns '' "$work/turns" "$single"

say 'the feature ring'
"$measure_ring" "$results" turns ring- "$work/ring-turns" "$single"
"$measure" "$results" cpu inmost "$in_memory" "$cpu"
"$measure_ring" "$results" cpu inmost-ring "$in_memory" "$cpu"
mkdir "$work/ring"
BENCH_WORK=$work/ring BENCH_SIZES= BENCH_SECONDS=$seconds CRITERION_HOME=$results/ring-criterion CARGO_TARGET_DIR=$target/ring \
    cargo bench --locked --quiet --features "$ring" --bench rows -- --noplot --sample-size "$samples" \
    '^edit/inmost-(8-threads|depth-1)' >"$results/ring-criterion.log" 2>&1 ||
    { tail -20 "$results/ring-criterion.log" >&2; exit 1; }

say 'unlocking and opening'
for size in $sizes; do "$measure" "$results" unlock "$work/store-$size" "$size" "$unlocks"; done
for size in $sizes; do "$measure" "$results" open "$work/store-$size" "$size" "$opens" "$work"; done
for size in $sizes; do "$measure" "$results" stall "$work/store-$size" "$size" "${stalls[@]}" "$work"; done
"$measure" "$results" start "$target/release/inmost" "$work" "$starts"

say 'importing'
"$measure" "$results" import "$target/release/inmost" "$work" "${imports[@]}" ${restic:+"$restic"}

say 'room'
"$measure" "$results" written "$work" 5 "$edits"
for size in $sizes; do "$measure" "$results" resident "$work/store-$size" "$size"; done
if [ -n "$vaults" ]; then
    # Every open store holds several files.
    ulimit -Sn "$(ulimit -Hn)" || true
    # As a process with many stores should have it: docs/OPERATIONS.md. glibc reads it when a process starts.
    MALLOC_MMAP_THRESHOLD_=262144 "$measure" "$results" vaults "$work/store-100" 100 "$vaults" "$work"
fi
"$measure" "$results" stored new "$work/new-store"
"$measure" "$results" stored trace "$work/mixed/inmost"
for size in $sizes; do "$measure" "$results" stored "$size" "$work/store-$size"; done

write_page
say "measured in $((SECONDS - began)) s"
