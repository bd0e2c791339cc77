#!/usr/bin/env bash
# Writes the golden store of the present format anew. README.md says when that is allowed.
set -euo pipefail
cd "$(dirname "$0")/../.."
version=tests/golden/v1
if [ -n "$(git tag --list 'v*')" ]; then
  echo "A release is tagged: its stores are out there. A changed format is a new version beside this one." >&2
  exit 1
fi
sample=$(mktemp -d)
trap 'rm -rf "$sample"' EXIT
INMOST_SAMPLE=$sample/new cargo test --quiet --package inmost --lib -- --ignored --exact vfs::samples::write_the_golden_store
rm -rf "$version"
mv "$sample/new" "$version"
# A process id, room without meaning, and an empty folder that git would not keep.
rm -f "$version/store/lock" "$version/store/ballast"
rmdir "$version"/store/gen-*/blobs
du -sh "$version"
