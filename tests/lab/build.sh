# Builds the programs of the lab and sets LAB_BIN. The other scripts source it.
lab=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
target=${CARGO_TARGET_DIR:-$lab/../../target}/lab
CARGO_TARGET_DIR=$target cargo build --quiet --release --locked --manifest-path "$lab/Cargo.toml" "$@"
LAB_BIN=$target/release
export LAB_BIN
