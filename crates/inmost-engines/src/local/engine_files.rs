//! The engines that keep their files in the folder of a generation.

use std::path::Path;

use inmost_storage::{EngineKind, StorageError};

use crate::local_engine::{Expected, LocalEngine};
#[cfg(feature = "redb")]
use crate::redb::RedbEngine;
use crate::sled::SledEngine;

/// Creates an empty generation.
pub(super) fn create_engine(
    folder: &Path,
    engine: EngineKind,
) -> Result<Box<dyn LocalEngine>, StorageError> {
    Ok(match engine {
        EngineKind::Sled => Box::new(SledEngine::create(folder)?),
        #[cfg(feature = "redb")]
        EngineKind::Redb => Box::new(RedbEngine::create(folder)?),
        _ => return Err(StorageError::NotBuilt),
    })
}

/// Opens a generation whose files are as expected, and writes nothing if they are not.
pub(super) fn open_engine(
    folder: &Path,
    engine: EngineKind,
    expected: &Expected<'_>,
) -> Result<Box<dyn LocalEngine>, StorageError> {
    Ok(match engine {
        EngineKind::Sled => Box::new(SledEngine::open(folder, expected)?),
        #[cfg(feature = "redb")]
        EngineKind::Redb => Box::new(RedbEngine::open(folder, expected)?),
        _ => return Err(StorageError::NotBuilt),
    })
}

/// The last resort on a full disk: frees files that the engine can rebuild.
pub(super) fn open_in_no_room(
    folder: &Path,
    engine: EngineKind,
    expected: &Expected<'_>,
) -> Result<Box<dyn LocalEngine>, StorageError> {
    match engine {
        EngineKind::Sled => Ok(Box::new(SledEngine::open_without_snapshots(folder, expected)?)),
        _ => Err(StorageError::Full),
    }
}
