#!/usr/bin/env bash
# record.sh OUT SECONDS [IMAGE BEFORE]: runs the worker on an ext4 file system whose block writes, flushes and
# acknowledgements go into one log, OUT/log.bin.
#
# The file system is on a loop device on fusedisk. OUT/base.img is the disk before. With IMAGE, the file system and
# the store in it are there already, and the file BEFORE has their acknowledgements. With LAB_FAIL=1, flushes fail
# at random moments, and the worker is started again; so it is after an error of a full disk (LAB_FULL=1). With
# LAB_SYNC=1, the page cache is written back every 0.2 s, which a system does after about 30 s. Needs root, FUSE and
# loop devices.
set -euo pipefail
out=$1 seconds=$2 image=${3:-} before=${4:-}
bin=${LAB_BIN:?the folder of the built programs}
mkdir -p "$out/disk" "$out/mnt"
if [ -n "$image" ]; then
    [ "$image" = "$out/base.img" ] || cp --sparse=always "$image" "$out/base.img"
else
    truncate -s "${LAB_IMAGE:-448M}" "$out/base.img"
    mkfs.ext4 -q -F -E lazy_itable_init=0,lazy_journal_init=0 "$out/base.img"
fi

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
for _ in $(seq 10); do
    # Another recording may take the same device in between.
    loop=$(losetup -f --show "$out/disk/disk" 2>/dev/null) && break
    sleep 0.1
done
mount -t ext4 "$loop" "$out/mnt"
mkdir -p "$out/mnt/home"
sync -f "$out/mnt"

touch "$out/so-far"
start_worker() {
    # fusedisk does not give the acknowledgements back, so an earlier run of this recording is in a file of its own.
    cat ${before:+"$before"} "$out/so-far" >"$out/before"
    "$bin/lab-worker" work "$out/mnt/home/store" "$out/disk/ack" "$out/before" >>"$out/worker.out" 2>>"$out/worker.err" &
    worker=$!
}
start_worker
end=$(($(date +%s%N) + seconds * 1000000000))
while [ "$(date +%s%N)" -lt "$end" ]; do
    sleep 0.2
    [ -z "${LAB_SYNC:-}" ] || sync -f "$out/mnt"
    if [ -n "${LAB_FAIL:-}" ] && [ $((RANDOM % 10)) = 0 ]; then
        echo fail >"$out/disk/ctl"
    fi
    kill -0 "$worker" 2>/dev/null && continue
    code=0
    wait "$worker" || code=$?
    worker=''
    # Exit code 3 is a failed call. The opening of the store may be what the failed flush hit.
    [ -z "${LAB_FAIL:-}" ] || ! tail -n 1 "$out/worker.out" | grep -q 'Input/output error' || code=3
    if [ "$code" != 3 ] || [ -z "${LAB_FAIL:-}${LAB_FULL:-}" ]; then
        echo "the worker ended by itself ($code): $(cat "$out/worker.out" "$out/worker.err")" >&2
        exit 1
    fi
    echo x >"$out/disk/ctl"
    python3 "$(dirname "$0")/replay.py" acknowledged "$out/log.bin" >"$out/so-far"
    # After a failed flush, ext4 may have become read-only.
    if [ -n "${LAB_FAIL:-}" ] && ! touch "$out/mnt/home/probe" 2>/dev/null; then
        echo "the file system does not accept writes any more" >>"$out/worker.err"
        break
    fi
    start_worker
done
# Where the anchor is on the disk, for cuts that hit its writes.
filefrag -v -b1 "$out/mnt/home/store/anchor" 2>/dev/null | awk '$1 == "0:" { sub(/\.\..*/, "", $4); print $4 }' >"$out/anchor" || true
# Stops the log here, because later writes of the page cache are not caused by the worker.
echo x >"$out/disk/ctl"
if [ -n "$worker" ]; then
    kill -9 "$worker" 2>/dev/null || true
    wait "$worker" 2>/dev/null || true
    worker=''
fi
