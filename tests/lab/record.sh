#!/usr/bin/env bash
# record.sh OUT SECONDS: runs the worker on an ext4 file system whose block writes, flushes and
# acknowledgements go into one log, OUT/log.bin.
#
# The file system is on a loop device on fusedisk. OUT/base.img is the disk before. Needs root, FUSE and loop
# devices.
set -euo pipefail
out=$1 seconds=$2
bin=${LAB_BIN:?the folder of the built programs}
mkdir -p "$out/disk" "$out/mnt"
truncate -s "${LAB_IMAGE:-448M}" "$out/base.img"
mkfs.ext4 -q -F -E lazy_itable_init=0,lazy_journal_init=0 "$out/base.img"

loop='' worker='' fuse=''
tidy() {
    [ -z "$worker" ] || kill -9 "$worker" 2>/dev/null || true
    umount "$out/mnt" 2>/dev/null || true
    [ -z "$loop" ] || losetup -d "$loop" 2>/dev/null || true
    umount "$out/disk" 2>/dev/null || true
    [ -z "$fuse" ] || kill "$fuse" 2>/dev/null || true
}
trap tidy EXIT

"$bin/fusedisk" "$out/base.img" "$out/disk" "$out/log.bin" &
fuse=$!
for _ in $(seq 50); do
    [ -e "$out/disk/disk" ] && break
    sleep 0.1
done
loop=$(losetup -f --show "$out/disk/disk")
mount -t ext4 "$loop" "$out/mnt"
mkdir "$out/mnt/home"
sync -f "$out/mnt"

"$bin/lab-worker" work "$out/mnt/home/store" "$out/disk/ack" >"$out/worker.out" 2>"$out/worker.err" &
worker=$!
for _ in $(seq "$seconds"); do
    sleep 1
    kill -0 "$worker" 2>/dev/null || break
done
if ! kill -0 "$worker" 2>/dev/null; then
    echo "the worker ended by itself: $(cat "$out/worker.out" "$out/worker.err")" >&2
    exit 1
fi
# Stops the log here, because later writes of the page cache are not caused by the worker.
echo x >"$out/disk/ctl"
kill -9 "$worker"
wait "$worker" 2>/dev/null || true
worker=''
