//! The names of the storage engines on the command line and in messages to the key agent.

use clap::ValueEnum;
use inmost::StorageEngine;
use serde::{Deserialize, Serialize};

/// A storage engine.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
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
