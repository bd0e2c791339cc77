#!/usr/bin/env bash
# powercut.sh [CUTS [SECONDS]]: records the worker on a logged disk, then replays power cuts: 330 in the long form, the default.
#
# Concurrent callers create and edit small and long files, create files of 16 MiB, delete folders of 120 files, and purge,
# which is also a change of the header. Every third of the cuts is of one kind, see replay.py. LAB_SEED repeats a choice of
# moments. Says loudly that it was skipped where there is no root, FUSE or loop device; exit code 0.
set -euo pipefail
cuts=${1:-330} seconds=${2:-60}

skip() {
    echo "SKIPPED: the power-cut lab needs $1; no cut was replayed" >&2
    exit 0
}
[ "$(uname)" = Linux ] || skip Linux
[ "$(id -u)" = 0 ] || skip root
[ -w /dev/fuse ] || skip FUSE
for tool in losetup mkfs.ext4 python3 cargo; do
    command -v "$tool" >/dev/null || skip "$tool"
done

source "$(dirname "$0")/build.sh" --workspace
# A disk in memory, if there is one: 300 images of a few hundred MiB are written.
if [ -w /dev/shm ]; then out=$(mktemp -d /dev/shm/powercut.XXXXXX); else out=$(mktemp -d); fi
trap 'code=$?; if [ "$code" = 0 ] || [ -z "${LAB_KEEP:-}" ]; then rm -rf "$out"; else echo "kept: $out"; fi' EXIT
# Where mounting is forbidden, as in most containers, there is nothing to cut.
truncate -s 16M "$out/probe.img" && mkfs.ext4 -q -F "$out/probe.img" && mkdir "$out/probe"
mount -o loop "$out/probe.img" "$out/probe" 2>/dev/null || skip 'loop devices that can be mounted'
umount "$out/probe"
rm "$out/probe.img"

"$lab/record.sh" "$out" "$seconds"
python3 "$lab/replay.py" "$out" $(((cuts + 2) / 3)) "${LAB_SEED:-$RANDOM}"
