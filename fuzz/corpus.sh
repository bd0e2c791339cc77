#!/usr/bin/env bash
# Unpacks and packs the corpus. The inputs of a target are one archive, corpus/<target>.tar, in the order of their names.
#
#   fuzz/corpus.sh unpack [target...]    to fuzz/target/corpus/<target>; without targets, all
#   fuzz/corpus.sh pack [target...]      from there. The same inputs give the same archive. Needs GNU tar
set -euo pipefail
cd "$(dirname "$0")"

what=${1:?unpack or pack}
shift
targets=("$@")
if [ ${#targets[@]} -eq 0 ]; then
    for file in fuzz_targets/*.rs; do targets+=("$(basename "$file" .rs)"); done
fi

for target in "${targets[@]}"; do
    folder=target/corpus/$target archive=corpus/$target.tar
    case $what in
        unpack)
            rm -rf "$folder"
            mkdir -p "$folder"
            tar -xf "$archive" -C "$folder"
            ;;
        pack)
            find "$folder" -type f -printf '%f\n' | LC_ALL=C sort |
                tar -cf "$archive" --format=ustar --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=644 -C "$folder" -T -
            ;;
        *)
            echo "unpack or pack?" >&2
            exit 2
            ;;
    esac
done
