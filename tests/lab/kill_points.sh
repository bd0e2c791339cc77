#!/bin/sh
# The long form of tests/kill_points.rs: SIGKILL before every single change of a file, on both engines.
set -eu
cd "$(dirname "$0")/../.."
INMOST_LONG=1 exec cargo test --features redb --test kill_points -- --nocapture "$@"
