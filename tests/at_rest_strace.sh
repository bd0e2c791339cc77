#!/bin/sh
# Records every file that a process opens for writing and every byte that it writes while it uses a store in
# every way, and searches them for the stored content. These are the ignored tests of
# tests/secrets/at_rest.rs.
set -eu
cd "$(dirname "$0")/.."
if ! command -v strace >/dev/null; then
    if [ "$(id -u)" != 0 ]; then
        echo "strace is not installed, and only root can install it" >&2
        exit 1
    fi
    apt-get -qq update
    apt-get -qq install -y strace
fi
cargo build --quiet --package inmost-cli
INMOST_TEST_PROGRAM=$(cargo metadata --format-version 1 --no-deps | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')/debug/inmost
export INMOST_TEST_PROGRAM
exec cargo test --package inmost --test secrets -- --ignored --nocapture
