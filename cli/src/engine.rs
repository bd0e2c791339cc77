//! The names of the storage engines on the command line.

use clap::ValueEnum;
use inmost::StorageEngine;

/// A storage engine.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum EngineName {
    /// sled 0.34.7, included in every build
    Sled,
    /// redb 4, included in builds with the feature `redb`
    Redb,
}

impl EngineName {
    pub(crate) fn engine(self) -> StorageEngine {
        match self {
            Self::Sled => StorageEngine::Sled,
            Self::Redb => StorageEngine::Redb,
        }
    }
}
