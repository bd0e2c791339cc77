//! Internal crate of `inmost`, for this workspace only. It promises no semantic versioning.
//!
//! Storage for sealed records: a local folder with sled or redb, a PostgreSQL database, and memory. Nothing here handles
//! keys. One test suite (`suite`) runs against every implementation.

#![allow(
    clippy::missing_errors_doc,
    reason = "every failure is a StorageError, which says what it means"
)]

mod allocator;
#[cfg(any(test, feature = "testing"))]
pub mod faulty;
pub mod files;
mod guard;
pub mod local;
mod local_engine;
pub mod memory;
mod poison;
#[cfg(feature = "postgres")]
pub mod postgres;
#[cfg(any(test, feature = "testing"))]
pub mod recording;
#[cfg(feature = "redb")]
mod redb;
mod sled;
#[cfg(test)]
mod suite;
mod threads;

pub use allocator::map_large_buffers;
use inmost_storage::EngineKind;

/// Returns whether this build includes the engine. Does no I/O.
#[must_use]
pub const fn is_built(engine: EngineKind) -> bool {
    match engine {
        EngineKind::Sled | EngineKind::Memory => true,
        EngineKind::Redb => cfg!(feature = "redb"),
        EngineKind::Postgres => cfg!(feature = "postgres"),
    }
}
