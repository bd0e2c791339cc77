//! sled's database, and what its errors mean.

use std::io;
use std::path::Path;

use inmost_storage::StorageError;

use super::claim::while_in_use;
use super::log;
use crate::threads;
use inmost_engines::guard::guarded;

/// sled's database. Like every call into it, dropping it is guarded.
pub(super) struct Handle(Option<sled::Db>);

impl Handle {
    /// The size of sled's page cache; its default is 1 GiB. A layer above caches decoded values, so this
    /// cache only has to hold the index and the leaves being written.
    const CACHE_BYTES: u64 = 16 << 20;

    /// Opens the database. Waits for an earlier handle of this process to be released.
    pub(super) fn open(folder: &Path) -> Result<Self, StorageError> {
        threads::claim()?;
        // A configuration remembers the errors of an attempt, so each attempt gets a new one. The background
        // flusher is off, because we sync at every commit.
        let open = || {
            sled::Config::new()
                .path(folder)
                .cache_capacity(Self::CACHE_BYTES)
                .segment_size(log::SEGMENT_BYTES)
                .flush_every_ms(None)
                .open()
        };
        Ok(Self(Some(while_in_use(|| guarded(storage_error, open))?)))
    }

    pub(super) fn call<T>(
        &self,
        call: impl FnOnce(&sled::Db) -> Result<T, sled::Error>,
    ) -> Result<T, StorageError> {
        let db = self.0.as_ref().ok_or(StorageError::Poisoned)?;
        guarded(storage_error, || call(db))
    }

    pub(super) fn release(&mut self) {
        let db = self.0.take();
        // A caller that needs the result has synced before. sled's own flush on drop reports nothing.
        let _ = guarded(storage_error, || {
            drop(db);
            Ok(())
        });
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.release();
    }
}

/// Converts sled's error.
pub(super) fn storage_error(error: sled::Error) -> StorageError {
    match error {
        // sled loses the kind of this error and keeps only the text.
        sled::Error::Io(error) if error.to_string().contains("could not acquire lock") => {
            StorageError::InUse(None)
        }
        // The file is shorter than its own index says.
        sled::Error::Io(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            StorageError::Corrupt(error.to_string())
        }
        sled::Error::Io(error) => error.into(),
        // sled's own message has an unknown offset and an empty backtrace.
        sled::Error::Corruption { .. } => StorageError::Corrupt("a checksum is wrong".into()),
        error => StorageError::Corrupt(error.to_string()),
    }
}
