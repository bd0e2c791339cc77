#!/usr/bin/env bash
# Builds wheels for every Linux on x86_64, manylinux_2_17 and musllinux_1_2, with the program. zig links them, because it has the
# libraries of both. Checks which libraries they need, and tries them in new virtual environments: that for musl where MUSL_PYTHON
# names a Python for musl, and its program, which is static, everywhere.
#
#   python/wheels.sh [FOLDER]      writes to target/linux-wheels by default
#
# Needs Rust from rustup, Python 3.10 or newer and a network. Takes about 25 minutes of CPU.
set -euo pipefail
cd "$(dirname "$0")"
export PIP_DISABLE_PIP_VERSION_CHECK=1
target=$(realpath -m "${CARGO_TARGET_DIR:-../target}")
out=$(realpath -m "${1:-$target/linux-wheels}")
tools=$target/wheel-tools
python3 -m venv --clear "$tools"
"$tools/bin/pip" --quiet install auditwheel==6.8.2 cargo-zigbuild==0.24.1 maturin==1.16.0 ziglang==0.17.1
PATH=$tools/bin:$PATH
rustup target add x86_64-unknown-linux-musl
rm -rf "$out"

# build TARGET GLIBC TAG
build() {
  cargo zigbuild --release --locked --package inmost-cli --features postgres --bin inmost --target "$1$2"
  rm -rf inmost.data/scripts
  mkdir -p inmost.data/scripts
  cp "$target/$1/release/inmost" inmost.data/scripts/
  maturin build --release --locked --zig --target "$1" --compatibility "$3" --out "$out"
}

# try WHEEL PYTHON
try() {
  "$2" -m venv --clear "$target/wheel-venv"
  "$target/wheel-venv/bin/pip" --quiet install --no-index "$1"
  "$target/wheel-venv/bin/python" - <<'PYTHON'
import inmost, os, tempfile

with tempfile.TemporaryDirectory() as folder:
    path, key = os.path.join(folder, "store"), os.urandom(32)
    inmost.Store.create(path, raw_key=key).close()
    with inmost.Store.open(path, raw_key=key) as store:
        store.files.write("/memories/a.md", "tea")
        assert "tea" in store.memory_tool().call({"command": "view", "path": "/memories/a.md"}).content
PYTHON
  "$target/wheel-venv/bin/inmost" --version
}

build x86_64-unknown-linux-gnu .2.17 manylinux_2_17
build x86_64-unknown-linux-musl "" musllinux_1_2
ls -l "$out"
auditwheel show "$out"/*manylinux*.whl | grep -A1 consistent
rm -rf "$target/wheel-musl"
python3 -m zipfile -e "$out"/*musllinux*.whl "$target/wheel-musl"
# auditwheel reads the libraries of this machine, which are not those of musl.
needed=$(readelf -d "$target"/wheel-musl/inmost/_inmost*.so | grep NEEDED)
[[ $needed == *'[libc.so]' && $needed != *$'\n'* ]] || { echo "the wheel for musl needs more than libc.so: $needed" >&2; exit 1; }
try "$out"/*manylinux*.whl python3
if [ -n "${MUSL_PYTHON-}" ]; then
  try "$out"/*musllinux*.whl "$MUSL_PYTHON"
else
  chmod +x "$target"/wheel-musl/inmost-*.data/scripts/inmost
  "$target"/wheel-musl/inmost-*.data/scripts/inmost --version
  echo 'The extension module for musl was not tried: MUSL_PYTHON names no Python for musl.'
fi
