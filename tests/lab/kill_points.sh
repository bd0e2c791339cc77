#!/bin/sh
# kill_points.sh [TEST...]: the long form of tests/process/kill_points.rs: SIGKILL before every single file
# change, on both engines.
set -eu
cd "$(dirname "$0")/../.."
[ $# -gt 0 ] || set -- kill_points::
INMOST_LONG=1 exec cargo test --features redb --test process -- --nocapture "$@"
