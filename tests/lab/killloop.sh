#!/usr/bin/env bash
# killloop.sh [KILLS]: SIGKILL at random moments, most of them inside calls of several threads; 500 in the long form, the default.
#
# Every start of the worker opens the store, checks every record, and compares every file with what was acknowledged; see worker.
set -euo pipefail
kills=${1:-500}
source "$(dirname "$0")/build.sh" --package lab-worker
# What is killed is a process and not the machine, so memory is disk enough, and faster.
if [ -w /dev/shm ]; then out=$(mktemp -d /dev/shm/killloop.XXXXXX); else out=$(mktemp -d); fi
trap 'code=$?; if [ "$code" = 0 ] || [ -z "${LAB_KEEP:-}" ]; then rm -rf "$out"; else echo "kept: $out"; fi' EXIT
# Small enough that every kind of step ends now and then within half a second.
export LAB_LONG=${LAB_LONG:-2097152} LAB_FILL=${LAB_FILL:-30} LAB_PURGE_MS=${LAB_PURGE_MS:-60}
"$LAB_BIN/lab-worker" kill "$out/store" "$out/ack" "$kills"
"$LAB_BIN/lab-worker" check "$out/store" "$out/ack"
