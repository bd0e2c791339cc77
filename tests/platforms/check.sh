#!/usr/bin/env bash
# Checks with clippy that everything compiles for Windows, macOS and musl, tests included, and denies warnings. Nothing is
# linked or run: see wine.sh.
#
#   tests/platforms/check.sh                          all targets, everything
#   tests/platforms/check.sh aarch64-apple-darwin     one of them
#   tests/platforms/check.sh --ci                     Windows only, without the tests
#
# Needs Debian 12 on x86-64, apt-get and a network. toolchain.sh says what is downloaded; nothing is installed.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/platforms/toolchain.sh

windows=x86_64-pc-windows-gnu
macos=aarch64-apple-darwin
musl=x86_64-unknown-linux-musl

# The packages for a target. The npm package links with Node.js on Windows even in a check, and needs its libraries.
packages() {
    echo --workspace --features redb,postgres
    if [ "$1" = "$windows" ]; then echo --exclude inmost-nodejs; fi
}

# Runs a command of cargo for a target, with a standard library built from source.
for_target() {
    local target=$1 command=$2 name
    shift 2
    name=${target//-/_}
    # The tests need ring, which is partly C. What is only checked is never linked, so its objects may be missing.
    env "CC_$name=true" "AR_$name=true" PYO3_CROSS_PYTHON_VERSION=3.11 CARGO_PROFILE_DEV_OPT_LEVEL=0 CARGO_PROFILE_DEV_DEBUG=0 \
        cargo "$command" --locked -Zbuild-std --target "$target" $(packages "$target") "$@"
}

use_compiler
case ${1-} in
--ci)
    for_target $windows clippy -- -D warnings
    ;;
*)
    [ $# -gt 0 ] || set -- $windows $macos $musl
    for target in "$@"; do
        # On Windows clippy does not see the `const` of a thread's variable.
        for_target "$target" clippy --all-targets --keep-going -- -D warnings -A clippy::missing_const_for_thread_local
        echo "$target: no warnings"
    done
    ;;
esac
