#!/usr/bin/env bash
# states.sh [STATES [SECONDS]]: records the worker on folders in memory, for SECONDS in all, and checks STATES states
# that power cuts and kills would leave, 20,000 by default. Second cuts come in addition.
#
# Half of the states are of each engine. Each has five recordings: with a journal of 64 KiB and of the usual size, each
# with rewrites all the time and with few, so that the engine's log grows and its segments are used again; and one with idle
# times, in which the journal is emptied.
# LAB_ENGINE=sled or redb makes only one engine.
# LAB_SEED selects the same moments again for the same recording, and LAB_KEEP=1 keeps a failed run.
set -euo pipefail
states=${1:-20000} seconds=${2:-40}

skip() {
    echo "SKIPPED: the lab of states needs $1; no state was checked" >&2
    exit 0
}
[ "$(uname)" = Linux ] || skip Linux
for tool in cc cargo; do
    command -v "$tool" >/dev/null || skip "$tool"
done

source "$(dirname "$0")/build.sh" -p lab-states -p lab-worker
cc -O2 -Wall -shared -fPIC -o "$LAB_BIN/recorder.so" "$lab/recorder.c" -ldl -lpthread
if [ -w /dev/shm ]; then out=$(mktemp -d /dev/shm/states.XXXXXX); else out=$(mktemp -d); fi
trap 'code=$?; if [ "$code" = 0 ] || [ -z "${LAB_KEEP:-}" ]; then rm -rf "$out"; else echo "kept: $out"; fi' EXIT

# Small files and short pauses: a state is checked in 30 ms, and rewrites are frequent.
export LAB_KEY=raw LAB_MORE=1 LAB_LONG=${LAB_LONG:-120000} LAB_FILL=${LAB_FILL:-12} REC_SYNC_US=${REC_SYNC_US:-300}
seed=${LAB_SEED:-$RANDOM}
engines=${LAB_ENGINE:-sled redb}
# Blocks of each half of the journal, milliseconds between rewrites, whether versions are kept, milliseconds of idle times.
recordings=('8 40 1' '112 40 0' '8 2500 0' '112 2500 1' '8 1000 0 1300')
runs=$((${#recordings[@]} * $(wc -w <<<"$engines")))
bad=0
for engine in $engines; do
    for recording in "${recordings[@]}"; do
        read -r half_blocks purge_ms history idle_ms <<<"$recording"
        unset LAB_IDLE_MS
        [ -z "$idle_ms" ] || export LAB_IDLE_MS=$idle_ms
        export LAB_ENGINE=$engine INMOST_TEST_HALF_BLOCKS=$half_blocks LAB_PURGE_MS=$purge_ms LAB_HISTORY=$history
        run=$out/$engine-$half_blocks-$purge_ms
        echo "$engine, journal 2 x $((half_blocks * 4)) KiB, rewrites every $purge_ms ms, history $history, idle ${idle_ms:-0} ms, seed $seed"
        "$LAB_BIN/lab-states" record "$run" $(((seconds + runs - 1) / runs)) "$seed"
        if "$LAB_BIN/lab-states" replay "$run" $(((states + runs - 1) / runs)) "$seed"; then
            rm -rf "$run"
        else
            bad=1
        fi
        seed=$((seed + 1))
    done
done
exit "$bad"
