//! Tests of stores through the public API: engines, disk space, rewrites, and stores of earlier releases.
//!
//! Tests that start or kill processes are in `tests/process`.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test should stop at the first unexpected result and report it"
)]

mod check;
mod engines;
mod freshness;
mod golden;
mod history_sample;
mod linearizable;
mod modelled;
mod preconditions;
mod replaced;
mod rewrite;
mod samples;
mod security_page;
mod set_aside;
mod spliced;
mod torn;
mod unlocked_store;
#[path = "../../src/api/shared_tests/zones.rs"]
mod zones;
