#!/usr/bin/env bash
# damage.sh [STORES [FIRST]]: damages copies of stores at seeded places and verifies what unlock, salvage, check and repair
# make of them. The default is 10,000 stores, the long form. The results are printed as tables in Markdown.
#
# Keys are random, so a seed means the same damage only with the same stores. With LAB_CACHE=FOLDER they stay in that
# folder together with the results; another run with it leaves out the seeds that it has. Stores that failed stay there
# too, in `failed`.
set -euo pipefail
stores=${1:-10000}
first=${2:-0}
source "$(dirname "$0")/build.sh" --package lab-damage
if [ -n "${LAB_CACHE:-}" ]; then
    cache=$LAB_CACHE
    mkdir -p "$cache"
else
    # No power is cut, so a folder in memory is sufficient and faster.
    if [ -w /dev/shm ]; then cache=$(mktemp -d /dev/shm/damage.XXXXXX); else cache=$(mktemp -d); fi
    trap 'code=$?; if [ "$code" = 0 ] || [ -z "${LAB_KEEP:-}" ]; then rm -rf "$cache"; else echo "kept: $cache"; fi' EXIT
fi
echo "seeds $first to $((first + stores - 1))"
"$LAB_BIN/lab-damage" run "$cache" "$cache/results" "$first" $((first + stores))
"$LAB_BIN/lab-damage" table "$cache/results"
