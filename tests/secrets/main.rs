//! What is left of secrets and texts on disk and in memory, after a process of its own has used a store in every way.
//!
//! This program is also that process: the tests start it again with the name of one test, [`the_child`].
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::as_conversions,
    reason = "a test that meets the unexpected should stop there and say so"
)]

mod at_rest;
mod host;
#[cfg(target_os = "linux")]
mod in_memory;
mod traces;

use host::child;

/// Tests nothing: the other tests start it as the process that they look at.
#[test]
fn the_child() {
    if let Ok(store) = std::env::var(child::STORE) {
        child::serve(&store);
    }
}
