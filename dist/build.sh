#!/usr/bin/env bash
# Builds everything that a release consists of, so that a second build of the same commit in another folder, with the tools that
# BUILD-INFO names, gives equal bytes: programs without dependencies for Linux on x86_64 and aarch64, a Debian package, wheels, npm
# packages, the bundle for Claude Desktop, the installer, the list of components (CycloneDX) and SHA256SUMS.
#
#   dist/build.sh [FOLDER [URL]]      writes to target/release-files by default
#
# URL is where the files will be; the installer gets them from there. Needs Linux on x86_64, Rust from rustup, a C compiler, Python
# 3.10, Node.js 20.11, dpkg and a network. Takes about 45 minutes of CPU. `dist/test.sh FOLDER` installs each file and uses it.
set -euo pipefail
out=${1:+$(realpath -m "$1")}
cd "$(dirname "$0")/.."
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
out=${out:-$target/release-files}
[[ $out/ != "$PWD"/* ]] || exclude=":(exclude)$out"
changes=$(git status --porcelain -- . ${exclude:+"$exclude"})
[ -z "$changes" ] || { printf '%s\n' "$changes" 'These files are not committed; a release is built from a commit.' >&2; exit 1; }
url=${2:-}
tools=$target/release-tools
version=$(cargo metadata --format-version 1 --no-deps --locked | python3 -c '
import json, sys
print(next(p["version"] for p in json.load(sys.stdin)["packages"] if p["name"] == "inmost-cli"))')
# Only a folder of an earlier build is replaced, and that has no folders in it.
[ -z "$(ls -A "$out" 2>/dev/null)" ] || { [ -e "$out/SHA256SUMS" ] && [ -z "$(find "$out" -mindepth 1 -type d -print -quit)" ]; } ||
  { echo "$out holds other files than those of a release." >&2; exit 1; }
rm -rf "$out"
mkdir -p "$out" "$target/release-tree"
: >"$out/SHA256SUMS"

# ---- tools

export PIP_DISABLE_PIP_VERSION_CHECK=1
python3 -m venv --clear "$tools/venv"
"$tools/venv/bin/pip" --quiet install --requirement dist/requirements.txt
cargo install --quiet --locked --root "$tools" cargo-deb@3.8.0 cargo-cyclonedx@0.5.9
npm install --silent --no-audit --no-fund --prefix "$tools" @anthropic-ai/mcpb@2.1.2
npm ci --silent --no-audit --no-fund --prefix nodejs
PATH=$tools/venv/bin:$tools/bin:$tools/node_modules/.bin:$PATH
rustup target add x86_64-unknown-linux-musl aarch64-unknown-linux-musl

# ---- what would make two builds differ, or show the folders of this machine

SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH TZ=UTC LC_ALL=C CARGO_INCREMENTAL=0 CARGO_PROFILE_RELEASE_STRIP=symbols
umask 022
cargo_home=${CARGO_HOME:-$HOME/.cargo}
# The last prefix that matches counts. RUSTFLAGS replaces the flags of .cargo/config.toml, so the first is repeated here.
flags="--cfg poly1305_backend=\"soft\" --remap-path-prefix=$PWD=/inmost --remap-path-prefix=$cargo_home=/cargo"
flags+=" --remap-path-prefix=$(rustc --print sysroot)=/rust --remap-path-prefix=$target=/target"
export CFLAGS="-ffile-prefix-map=$cargo_home=/cargo"

dist/notices.py >"$target/release-tree/THIRD-PARTY"
{ git rev-parse HEAD; rustc -Vv; node --version; npm --version; } >"$out/BUILD-INFO"

# program TRIPLE: a static program. cargo-zigbuild drops rustc's `-static-pie`, which would load it at the same address each time.
program() {
  RUSTFLAGS=$flags cargo-zigbuild rustc --release --locked --package inmost-cli --features postgres --bin inmost --target "$1" \
    -- -C link-arg=-pie
}

# extensions TRIPLE GLIBC TAG: the extension modules for Python and Node.js, with the program of x86_64.
extensions() {
  local flags=$flags
  # An extension module uses the C library of its host.
  [[ $1 != *-musl ]] || flags+=' -C target-feature=-crt-static'
  rm -rf python/inmost.data
  install -D "$target/x86_64-unknown-linux-musl/release/inmost" python/inmost.data/scripts/inmost
  install -D -m 644 "$target/release-tree/THIRD-PARTY" python/inmost.data/data/share/doc/inmost/THIRD-PARTY
  (cd python && CARGO_TARGET_DIR=$target/extensions RUSTFLAGS=$flags \
    maturin build --release --locked --zig --target "$1" --compatibility "$3" --out "$out")
  CARGO_TARGET_DIR=$target/extensions RUSTFLAGS=$flags cargo zigbuild --release --locked --package inmost-nodejs --lib --target "$1$2"
}

# archive FOLDER FILE: a .tar.gz without the times and users of this machine.
archive() {
  tar --create --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --mode=u+rwX,go+rX,go-w \
    --directory "$(dirname "$1")" "$(basename "$1")" | gzip --no-name --best >"$2"
}

# ---- programs

x86_64=$target/x86_64-unknown-linux-musl/release/inmost
program x86_64-unknown-linux-musl
program aarch64-unknown-linux-musl
for arch in x86_64 aarch64; do
  folder=$target/release-tree/inmost-$version-$arch-linux
  rm -rf "$folder"
  mkdir -p "$folder/completions"
  install -m 755 "$target/$arch-unknown-linux-musl/release/inmost" "$folder"
  "$x86_64" man "$folder/man"
  for shell in bash zsh fish; do "$x86_64" completions "$shell" >"$folder/completions/$shell"; done
  cp LICENSE-* README.md SECURITY.md CHANGELOG.md "$target/release-tree/THIRD-PARTY" "$folder"
  archive "$folder" "$out/inmost-$version-$arch-linux.tar.gz"
done
dist/deb/build.sh "$out" "$x86_64"

# ---- packages

extensions x86_64-unknown-linux-gnu .2.17 manylinux_2_17
extensions x86_64-unknown-linux-musl '' musllinux_1_2
npm run --silent --prefix nodejs compile
for libc in gnu musl; do
  folder=$target/release-tree/inmost-linux-x64-$libc
  rm -rf "$folder"
  mkdir -p "$folder"
  install -m 755 "$target/extensions/x86_64-unknown-linux-$libc/release/libinmost_nodejs.so" "$folder/inmost.linux-x64-$libc.node"
  install -m 755 "$x86_64" "$folder"
  cp LICENSE-* "$target/release-tree/THIRD-PARTY" "$folder"
done
node dist/npm.mjs "$target/release-tree" linux-x64-gnu linux-x64-musl
chmod -R u=rwX,go=rX "$target/release-tree"
for package in inmost inmost-linux-x64-gnu inmost-linux-x64-musl; do
  npm pack --silent --ignore-scripts --pack-destination "$out" "$target/release-tree/$package" >/dev/null
done
dist/mcpb/build.sh mcpb "$out/inmost-$version-x86_64-linux.mcpb" "$x86_64"

# ---- what belongs to all of it

cargo cyclonedx --quiet --manifest-path cli/Cargo.toml --features postgres --target x86_64-unknown-linux-musl --format json \
  --override-filename components
sed "s|file://$PWD|file:///inmost|" cli/components.json >"$out/inmost-$version.cdx.json"
find . -name components.json -not -path './target/*' -not -path './nodejs/node_modules/*' -delete
sum_of() { sha256sum "$out/inmost-$version-$1-linux.tar.gz" | cut -d ' ' -f 1; }
sed "s|@VERSION@|$version|; s|@URL@|$url|; s|@X86_64@|$(sum_of x86_64)|; s|@AARCH64@|$(sum_of aarch64)|" dist/install.sh >"$out/install.sh"

content_of() {
  case $1 in
    *.whl | *.mcpb) python3 -c 'import sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as archive:
    for name in archive.namelist():
        sys.stdout.buffer.write(archive.read(name))' "$1" ;;
    *.tgz | *.tar.gz) tar -xzOf "$1" ;;
    *.deb) dpkg --fsys-tarfile "$1" ;;
    *) cat "$1" ;;
  esac
}
for file in "$out"/*; do
  content_of "$file" >"$target/release-tree/content"
  ! grep -aqF -e "$PWD/" -e "$cargo_home/" -e "$target/" "$target/release-tree/content" ||
    { echo "$file names a folder of this machine." >&2; exit 1; }
done
(cd "$out" && rm SHA256SUMS && sha256sum -- * >SHA256SUMS)
ls -l "$out"
