#!/usr/bin/env bash
# mutants.sh [SHARD/SHARDS [OPTION...]]: mutates the riskiest modules in one place after another and runs the
# tests of their libraries each time.
#
# A mutation that no test detects is printed as MISSED: a test is missing, or the mutation has no effect, or
# only the tests in tests/ detect it, which `cargo test --test contract` with that mutation shows. A full run
# takes hours; `0/40` runs every fortieth mutation. Needs cargo-mutants. The results are in target/mutants.
set -euo pipefail
cd "$(dirname "$0")/../.."
cargo mutants --version >/dev/null 2>&1 || {
    echo 'cargo-mutants is missing: cargo install --locked cargo-mutants' >&2
    exit 1
}
shard=${1:-0/1}
shift || true
files=()
for file in 'crates/inmost-format/src/**' 'crates/inmost-engines/src/local/journal.rs' 'crates/inmost-engines/src/local/journal/**' \
    src/session/commit.rs 'src/session/commit/**' 'src/vfs/path/**' src/vfs/{path,search,text}.rs; do
    files+=(--file "$file")
done
mkdir -p target
# Tests and their helpers are not mutated. Only the libraries' own tests are built.
exec cargo mutants --package inmost --package inmost-format --package inmost-engines --cargo-arg=--lib "${files[@]}" \
    --exclude '**/tests/**' --exclude '**/tests.rs' --exclude '**/vectors.rs' --exclude-re 'tests::' --shard "$shard" \
    --timeout-multiplier 2 --sharding round-robin --output target/mutants "$@"
