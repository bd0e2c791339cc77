//! An engine that saves space on a full disk, so that the store can still be opened and emptied.

use std::sync::Arc;

use super::ballast::{self, Ballast};
use inmost_storage::{Address, Batch, Engine, StorageError};

/// An engine and the ballast of its store.
///
/// While the ballast is whole, this changes nothing. Once a write has found the disk full (this survives
/// reopening), only batches that add no record in total are accepted, mainly deletes. Each may use a part of
/// the ballast, as long as enough is left to open the store again. Any other batch returns
/// [`StorageError::Full`] before it reaches the engine. Normal operation resumes when the ballast is whole
/// again.
pub(super) struct LowSpaceEngine {
    inner: Box<dyn Engine>,
    ballast: Arc<Ballast>,
}

impl LowSpaceEngine {
    pub(super) fn new(inner: Box<dyn Engine>, ballast: Arc<Ballast>) -> Self {
        Self { inner, ballast }
    }

    /// Frees space for a batch that adds no record.
    ///
    /// # Errors
    /// [`StorageError::Full`] if the batch adds a record or the ballast is used up.
    fn free_space_for(&self, batch: &Batch) -> Result<(), StorageError> {
        let addresses: Vec<Address> = batch.puts.iter().map(|(address, _)| *address).collect();
        let there = |addresses: &[Address]| {
            let values = self.inner.get_many(addresses)?;
            Ok::<_, StorageError>(values.iter().flatten().count())
        };
        let added = addresses.len().saturating_sub(there(&addresses)?);
        let left = self.ballast.held().saturating_sub(BATCH_ROOM);
        if added > there(&batch.deletes)? || left < ballast::OPENING_BYTES {
            return Err(StorageError::Full);
        }
        self.ballast.keep(left);
        Ok(())
    }

    fn note<T>(&self, result: Result<T, StorageError>) -> Result<T, StorageError> {
        if matches!(result, Err(StorageError::Full)) {
            self.ballast.keep(self.ballast.held());
        }
        result
    }
}

/// Bytes of the ballast that are freed for one batch: the largest batch plus the overhead of the engine and
/// the file system.
const BATCH_ROOM: u64 = 384 << 10;

impl Engine for LowSpaceEngine {
    fn get_many(&self, addresses: &[Address]) -> Result<Vec<Option<Vec<u8>>>, StorageError> {
        self.inner.get_many(addresses)
    }

    fn scan(
        &self,
        after: Option<&Address>,
        limit: usize,
    ) -> Result<Vec<(Address, Vec<u8>)>, StorageError> {
        self.inner.scan(after, limit)
    }

    fn apply(&self, batch: &Batch) -> Result<(), StorageError> {
        if self.ballast.is_short() && self.ballast.make().is_err() {
            self.free_space_for(batch)?;
        }
        self.note(self.inner.apply(batch))
    }

    fn sync(&self) -> Result<(), StorageError> {
        self.note(self.inner.sync())
    }

    fn size(&self) -> Result<u64, StorageError> {
        self.inner.size()
    }

    fn close(self: Box<Self>) -> Result<(), StorageError> {
        let Self { inner, ballast } = *self;
        let closed = inner.close();
        if matches!(closed, Err(StorageError::Full)) {
            ballast.keep(ballast.held());
        }
        closed
    }
}
