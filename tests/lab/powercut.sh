#!/usr/bin/env bash
# powercut.sh [CUTS [SECONDS]]: records the worker on a logged disk, for SECONDS in all, then replays power
# cuts. The default is 330 cuts, the long form.
#
# Concurrent callers create and edit small and long files, create files of 16 MiB, delete folders of 120
# files, and purge, which also changes the header. A third of the cuts is of each kind. After some of them the
# worker goes on and the power is cut again, which is not counted in CUTS; see replay.py. LAB_SEED selects the
# same moments again. LAB_FAIL=1 makes flushes fail. LAB_FULL=1 with a small LAB_IMAGE fills the disk. Without
# root, FUSE or loop devices, it prints that it was skipped and exits with code 0.
set -euo pipefail
cuts=${1:-330} seconds=${2:-60}

skip() {
    echo "SKIPPED: the power-cut lab needs $1; no cut was replayed" >&2
    exit 0
}
[ "$(uname)" = Linux ] || skip Linux
[ "$(id -u)" = 0 ] || skip root
[ -w /dev/fuse ] || skip FUSE
for tool in losetup mkfs.ext4 e2fsck python3 cargo; do
    command -v "$tool" >/dev/null || skip "$tool"
done

source "$(dirname "$0")/build.sh" --workspace
# A folder in memory, if the system has one: 300 images of a few hundred MiB are written.
if [ -w /dev/shm ]; then out=$(mktemp -d /dev/shm/powercut.XXXXXX); else out=$(mktemp -d); fi
trap 'code=$?; if [ "$code" = 0 ] || [ -z "${LAB_KEEP:-}" ]; then rm -rf "$out"; else echo "kept: $out"; fi' EXIT
# Most containers forbid mounting, and then the lab cannot run.
truncate -s 16M "$out/probe.img" && mkfs.ext4 -q -F "$out/probe.img" && mkdir "$out/probe"
mount -o loop "$out/probe.img" "$out/probe" 2>/dev/null || skip 'loop devices that can be mounted'
umount "$out/probe"
rm "$out/probe.img"

# Half of the cuts with a journal of 64 KiB, so that many of them hit a checkpoint or a batch that bypasses it.
seed=${LAB_SEED:-$RANDOM}
history=${LAB_HISTORY:-}
bad=0
for half_blocks in 8 64; do
    run=$out/$half_blocks
    export INMOST_TEST_HALF_BLOCKS=$half_blocks
    # Versions are kept in one of the two, unless LAB_HISTORY says otherwise.
    export LAB_HISTORY=${history:-$((half_blocks == 8))}
    echo "journal: 2 x $((half_blocks * 4)) KiB, history: $LAB_HISTORY"
    "$lab/record.sh" "$run" $(((seconds + 1) / 2))
    # A short run makes its second cuts with the small journal only.
    [ "$cuts" -ge 60 ] || [ "$half_blocks" = 8 ] || export LAB_AGAIN=0
    # Each moment makes three cuts.
    python3 "$lab/replay.py" "$run" $(((cuts + 5) / 6)) "$seed" || bad=1
    [ "$bad" = 1 ] || rm -rf "$run"
done
exit "$bad"
