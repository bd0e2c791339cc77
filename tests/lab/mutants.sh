#!/usr/bin/env bash
# mutants.sh [SHARD/SHARDS [OPTION...]]: mutates the riskiest modules in one place after another and runs the
# library's tests each time.
#
# A mutation that no test detects is printed as MISSED: a test is missing, or the mutation has no effect, or
# only the tests in tests/ detect it, which `cargo test --test contract` with that mutation shows. A full run
# takes hours (about 700 mutations, 15 s each on two cores); `0/20` runs every twentieth. Needs cargo-mutants.
# The results are in target/mutants.
set -euo pipefail
cd "$(dirname "$0")/../.."
cargo mutants --version >/dev/null 2>&1 || {
    echo 'SKIPPED: cargo-mutants is not installed (cargo install --locked cargo-mutants)' >&2
    exit 0
}
shard=${1:-0/1}
shift || true
files=()
for file in 'crates/inmost-format/src/crypto/**' 'crates/inmost-format/src/record/**' crates/inmost-format/src/secret/wiped.rs 'crates/inmost-format/src/header/**' src/session/group_commit.rs src/vfs/{path,search,text}.rs; do
    files+=(--file "$file")
done
mkdir -p target
# Tests and their helpers are not mutated. Only the library's own tests are built.
exec cargo mutants --package inmost --package inmost-format --cargo-arg=--lib "${files[@]}" --exclude '**/tests/**' --exclude '**/tests.rs' \
    --exclude-re 'tests::' --shard "$shard" --timeout 60 --output target/mutants "$@"
