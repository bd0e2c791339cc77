//! The names of the storage engines on the command line.

use clap::ValueEnum;
use inmost::StorageEngine;

use crate::exit::{Exit, Failure};

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

    /// Refuses an engine that this build lacks, before anything is asked or created.
    pub(crate) fn check(self) -> Result<(), Failure> {
        if self == Self::Redb && !cfg!(feature = "redb") {
            return Err(Failure::new(
                Exit::UnknownFormat,
                "This build of inmost has no engine redb. Nothing was changed.",
                "Use a build with the feature `redb`: `cargo install --locked --path cli --features redb`.",
            ));
        }
        Ok(())
    }
}
