//! The engines of this workspace, for the tests of what they have in common. This crate exists for the workspace alone.

use inmost_engines::local_engine::LocalKind;
use inmost_storage::EngineKind;

/// The engines that keep their files in a folder.
pub const LOCAL: &[LocalKind] = &[
    inmost_sled::KIND,
    #[cfg(feature = "redb")]
    inmost_redb::KIND,
];

/// Their names.
pub fn kinds() -> impl Iterator<Item = EngineKind> {
    LOCAL.iter().map(|engine| engine.kind)
}
