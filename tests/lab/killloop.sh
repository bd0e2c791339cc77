#!/usr/bin/env bash
# killloop.sh [KILLS]: SIGKILL at random moments, most of them during calls of several threads. The default is
# 500 kills, the long form.
#
# Every start of the worker opens the store, checks every record, and compares every file with the
# acknowledged state; see worker.
set -euo pipefail
kills=${1:-500}
source "$(dirname "$0")/build.sh" --package lab-worker
# Only the process is killed, not the machine, so a folder in memory is sufficient and faster.
if [ -w /dev/shm ]; then out=$(mktemp -d /dev/shm/killloop.XXXXXX); else out=$(mktemp -d); fi
trap 'code=$?; if [ "$code" = 0 ] || [ -z "${LAB_KEEP:-}" ]; then rm -rf "$out"; else echo "kept: $out"; fi' EXIT
# Small enough that every kind of step sometimes ends within half a second.
export LAB_LONG=${LAB_LONG:-2097152} LAB_FILL=${LAB_FILL:-30} LAB_PURGE_MS=${LAB_PURGE_MS:-60}
# Half of the kills with a journal of 64 KiB, so that many of them hit a checkpoint.
history=${LAB_HISTORY:-}
for half_blocks in 8 64; do
    export INMOST_TEST_HALF_BLOCKS=$half_blocks
    # Versions are kept in one of the two, unless LAB_HISTORY says otherwise.
    export LAB_HISTORY=${history:-$((half_blocks == 8))}
    echo "journal: 2 x $((half_blocks * 4)) KiB, history: $LAB_HISTORY"
    "$LAB_BIN/lab-worker" kill "$out/store.$half_blocks" "$out/ack.$half_blocks" $(((kills + 1) / 2))
    "$LAB_BIN/lab-worker" check "$out/store.$half_blocks" "$out/ack.$half_blocks"
done
