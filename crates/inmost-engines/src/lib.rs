//! Internal crate of `inmost`, for this workspace only. It promises no semantic versioning.
//!
//! Storage for sealed records: a local folder with a journal in front of an engine, and memory. The engines for a folder are
//! crates of their own, which implement [`LocalEngine`](local_engine::LocalEngine). Nothing here handles keys. One suite of
//! tests, `tests/engines`, runs against every implementation.

#![allow(
    clippy::missing_errors_doc,
    reason = "every failure is a StorageError, which says what it means"
)]

#[cfg(any(test, feature = "testing"))]
pub mod faulty;
pub mod files;
pub mod guard;
pub mod local;
pub mod local_engine;
pub mod memory;
pub mod poison;
#[cfg(any(test, feature = "testing"))]
pub mod recording;
#[cfg(any(test, feature = "testing"))]
pub mod samples;
