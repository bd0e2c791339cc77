//! The engines of this build.

use inmost_engines::local_engine::LocalKind;
use inmost_storage::EngineKind;

/// The engines that keep their files in a folder.
pub(crate) const LOCAL: &[LocalKind] = &[
    inmost_sled::KIND,
    #[cfg(feature = "redb")]
    inmost_redb::KIND,
];

/// Returns whether this build includes the engine. Does no I/O.
pub(crate) fn is_built(engine: EngineKind) -> bool {
    match engine {
        EngineKind::Memory => true,
        EngineKind::Postgres => cfg!(feature = "postgres"),
        EngineKind::Sled | EngineKind::Redb => LOCAL.iter().any(|local| local.kind == engine),
    }
}
