#!/usr/bin/env bash
# Builds the tests for Windows and runs them with wine, except those that are about Unix (they are not compiled there) and
# those listed below.
#
#   tests/platforms/wine.sh                  the library, its integration suites, the key daemon and the program
#   tests/platforms/wine.sh inmost-engines   one package
#
# Needs Debian 12 on x86-64, apt-get and a network. toolchain.sh says what is downloaded; nothing is installed. wine is not
# Windows: it lets a folder with open files be renamed, does not keep a locked range from being read, and knows no power cut.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/platforms/toolchain.sh

# Tests that fail under wine 8 and why.
excluded=(
    # Threads share one pipe. wine 8 then says of an overlapped call that has completed that it is incomplete (error 996,
    # ERROR_IO_INCOMPLETE), which Windows does not do once the completion port has reported it.
    threads_share_a_client
    two_programs_that_count_together_lose_nothing
    # Thousands of copies of a store, each of which takes wine far longer than Linux.
    damage_to_a_log_is_noticed_or_harmless
    damage_after_an_unclean_end_is_noticed_unchanged_or_harmless
    the_first_page_can_be_damaged_anywhere
)

packages=("$@")
[ $# -gt 0 ] || packages=(inmost-storage inmost-format inmost-engines inmost-sled inmost-redb inmost-engine-tests inmost inmost-screen inmost-search inmost-keyd inmost-console inmost-cli)
features=redb
skips=()
for test in ${excluded[@]+"${excluded[@]}"}; do
    skips+=(--skip "$test")
done

use_wine
options=(--locked -Zbuild-std --target x86_64-pc-windows-gnu)
for package in "${packages[@]}"; do
    # The documentation's examples would be linked one by one.
    chosen=(--package "$package" --bins --tests)
    case $package in
    inmost | inmost-engine-tests) chosen+=(--lib --features "$features") ;;
    inmost-cli) chosen+=(--features "$features") ;;
    *) chosen+=(--lib) ;;
    esac
    cargo test "${options[@]}" "${chosen[@]}" --no-fail-fast -- ${skips[@]+"${skips[@]}"}
done
