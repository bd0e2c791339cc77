#!/usr/bin/env bash
# A store in the image of a container: its files are in a lower layer that is read only, and the first opening for writing makes another
# file of each. Reads, changes and closes it in fresh containers.
#
#   tests/lab/image.sh PROGRAM     `inmost`; needs root, for overlayfs
set -euo pipefail
program=$(realpath "$1")
[ "$(id -u)" = 0 ] || { echo 'Only root can mount overlayfs.'; exit 0; }
# What is mounted below is seen by this script alone, and ends with it.
[ "${2-}" = inside ] || exec unshare --mount --propagation private "$0" "$program" inside
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
export INMOST_PASSPHRASE='correct horse battery staple' HOME=$place XDG_RUNTIME_DIR=$place
mount -t tmpfs tmpfs "$place"
mkdir "$place/image"
"$program" init --store "$place/image/s" >"$place/recovery"
echo first | "$program" write --store "$place/image/s" /memories/a.md
container() {
    mkdir -p "$place/$1/upper" "$place/$1/work" "$place/$1/root"
    mount -t overlay overlay -o "lowerdir=$place/image,upperdir=$place/$1/upper,workdir=$place/$1/work" "$place/$1/root"
}
container one
echo second | "$program" write --store "$place/one/root/s" /memories/b.md
[ "$("$program" cat --store "$place/one/root/s" /memories/b.md)" = second ]
container two
[ "$("$program" cat --store "$place/two/root/s" /memories/a.md)" = first ]
if "$program" cat --store "$place/two/root/s" /memories/b.md 2>/dev/null; then exit 1; fi
"$program" check --store "$place/two/root/s"
umount "$place/one/root" "$place/two/root"
umount "$place"
echo 'A store in an image: ok'
