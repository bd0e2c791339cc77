#!/usr/bin/env bash
# sync_calls.sh [CALLS]: counts sync calls per acknowledged call, at 1 and at 8 threads, with strace.
#
# Creating and closing the store are subtracted, using a run without calls. Needs a folder on a real disk:
# TMPDIR.
set -euo pipefail
calls=${1:-800}
command -v strace >/dev/null || { echo 'SKIPPED: strace is not installed; nothing was counted' >&2; exit 0; }
source "$(dirname "$0")/build.sh" --package lab-worker
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

count() { # threads calls
    rm -rf "$out/store"
    strace -f -o "$out/trace" -e trace=fsync,fdatasync,sync_file_range,msync,sync,syncfs \
        "$LAB_BIN/lab-worker" calls "$out/store" "$1" "$2"
    grep -cE '^[0-9]+ +[a-z_]+\(' "$out/trace"
}

idle=$(count 1 0)
for threads in 1 8; do
    all=$(count "$threads" "$calls")
    echo "$threads threads, $calls calls: $((all - idle)) sync calls, $(awk "BEGIN { printf \"%.2f\", ($all - $idle) / $calls }") for each"
    grep -oE '^[0-9]+ +[a-z_]+\(' "$out/trace" | awk '{ print $2 }' | sort | uniq -c
done
