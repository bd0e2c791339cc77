#!/usr/bin/env bash
# Builds the Debian package: the program, its manual pages, completions for three shells, and the service that locks stores
# before a suspend. Needs Python and cargo-deb (cargo install --locked cargo-deb).
#
#   dist/deb/build.sh OUTPUT [PROGRAM]
#
# OUTPUT is the folder or file to write. Without PROGRAM a release build of `inmost` is packed.
set -euo pipefail
[ $# -ge 1 ] || {
  sed -n '2,7s/^# \{0,1\}//p' "$0" >&2
  exit 2
}
command -v cargo-deb >/dev/null || {
  echo 'cargo-deb is missing; install it with: cargo install --locked cargo-deb' >&2
  exit 1
}
output=$(realpath -m "$1")
program=${2:-}
[ -z "$program" ] || program=$(realpath "$program")
cd "$(dirname "$0")/../.."
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
if [ -z "$program" ]; then
  cargo build --release --package inmost-cli --locked
  program=$target/release/inmost
fi
# Where the list of files in cli/Cargo.toml has them. cargo-deb takes them for built files and looks into the target folder.
files=$target/release/deb
rm -rf "$files"
mkdir -p "$files/completions"
[ "$program" -ef "$target/release/inmost" ] || install -m 755 "$program" "$target/release/inmost"
"$program" man "$files/man"
for shell in bash zsh fish; do
  "$program" completions "$shell" >"$files/completions/$shell"
done
dist/notices.py >"$files/THIRD-PARTY"
cargo deb --package inmost-cli --no-build --output "$output" --quiet
