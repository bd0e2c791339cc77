#!/usr/bin/env bash
# Rewrites the golden stores of the current format. README.md says when that is allowed.
set -euo pipefail
cd "$(dirname "$0")/../.."
version=tests/golden/v1
if [ -n "$(git tag --list 'v*')" ]; then
  echo "A release is tagged, so stores of this format are in use. Add a new format version instead of changing this one." >&2
  exit 1
fi
sample=$(mktemp -d)
trap 'rm -rf "$sample"' EXIT
export INMOST_SAMPLE=$sample/new INMOST_TEST_NO_BACKGROUND=1
cargo test --quiet --package inmost --lib -- --ignored --exact vfs::samples::write_the_golden_store
cargo test --quiet --package inmost --test store -- --ignored --exact samples::write_the_records_of_the_samples_and_more_stores
# Folders of backups may change until the first release.
rm -rf "$version" "$sample/new/backups"
mv "$sample/new" "$version"
# Removes a process id, the ballast, and empty folders that git would not keep.
for store in "$version" "$version/in-use" "$version/history"; do
  rm -f "$store/store/lock" "$store/store/ballast"
  rmdir "$store"/store/gen-*/blobs
done
du -sh "$version"
