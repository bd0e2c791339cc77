//! Tests that search disk and memory for traces of secrets and texts, after a separate process has used a
//! store in every way.
//!
//! This program is also that process: the tests start it again with the name of one test, [`the_child`].
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::as_conversions,
    reason = "a test should stop at the first unexpected result and report it"
)]

mod at_rest;
mod host;
#[cfg(target_os = "linux")]
mod in_memory;
mod traces;

use host::child;

/// Tests nothing. The other tests start it as the process under test.
#[test]
fn the_child() {
    if let Ok(store) = std::env::var(child::STORE) {
        child::serve(&store);
    }
}
