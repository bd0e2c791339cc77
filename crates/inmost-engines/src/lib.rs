//! Internal crate of `inmost`, for its workspace alone: no promise of semantic versioning is made.
//!
//! Places for sealed records: a folder on a local disk with sled or redb, and memory. Nothing here knows keys.
//! One suite of tests (`suite`) runs against each of them.

#![allow(
    clippy::missing_errors_doc,
    reason = "every failure is a StorageError, which says what it means"
)]

#[cfg(any(test, feature = "testing"))]
pub mod faulty;
pub mod files;
mod guard;
pub mod local;
pub mod memory;
#[cfg(any(test, feature = "testing"))]
pub mod recording;
#[cfg(feature = "redb")]
mod redb;
mod sled;
#[cfg(test)]
mod suite;

use inmost_storage::EngineKind;

/// Whether this build has the engine. Does no I/O.
#[must_use]
pub const fn is_built(engine: EngineKind) -> bool {
    match engine {
        EngineKind::Sled | EngineKind::Memory => true,
        EngineKind::Redb => cfg!(feature = "redb"),
    }
}
