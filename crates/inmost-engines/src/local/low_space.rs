//! An engine that goes easy on a full disk, so that the store can still be opened and emptied.

use std::sync::Arc;

use super::ballast::{self, Ballast};
use inmost_storage::{Address, Batch, Engine, StorageError};

/// An engine and the ballast of its store.
///
/// While the ballast is whole this changes nothing. Once a write has found the disk full, also after
/// reopening, only batches that add no record in all are let through, deletes above all. Each gets a piece of
/// the ballast, as long as enough is left to open the store again. Any other answers
/// [`StorageError::Full`] before it has touched the engine. A ballast that is whole again ends that.
pub(super) struct LowSpaceEngine {
    inner: Box<dyn Engine>,
    ballast: Arc<Ballast>,
}

impl LowSpaceEngine {
    pub(super) fn new(inner: Box<dyn Engine>, ballast: Arc<Ballast>) -> Self {
        Self { inner, ballast }
    }

    /// Makes room for a batch that adds no record.
    ///
    /// # Errors
    /// [`StorageError::Full`] for any other, or if there is nothing left to give.
    fn spare(&self, batch: &Batch) -> Result<(), StorageError> {
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

/// Bytes of the ballast given up for one batch: the largest there is, and what the engine and the file system
/// add to it.
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
            self.spare(batch)?;
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
