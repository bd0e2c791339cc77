//! Stores as a host uses them through the public API: engines, room, rewrites, and stores of earlier releases.
//!
//! Tests that start or kill processes are in `tests/process`.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that meets the unexpected should stop there and say so"
)]

mod check;
mod engines;
mod golden;
mod linearizable;
mod rewrite;
mod security_page;
mod unlocked_store;
