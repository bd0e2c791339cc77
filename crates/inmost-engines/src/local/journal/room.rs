//! What happens on a full disk.
//!
//! The journal needs no room, so commits go on until a checkpoint finds the disk full. The ballast has room for one
//! whole checkpoint besides the next opening: the checkpoint, or a batch that bypasses the journal, is made with it. From
//! then on, until the ballast is whole again, only batches that add no record in total are accepted, mainly deletes. A
//! checkpoint for which the ballast has no room either stays in the journal, and only ends what needs it.

use super::layout;
use super::state::{Shared, Writer, lock, read};
use crate::local::ballast::Loan;
use inmost_storage::{Address, Batch, StorageError};

impl Shared {
    /// Decides whether there is room for a batch, before it changes anything.
    ///
    /// # Errors
    /// [`StorageError::Full`] if the disk is full and the batch adds a record, or the journal has no room for it either.
    pub(super) fn admit(&self, writer: &mut Writer, batch: &Batch) -> Result<(), StorageError> {
        if self.ballast.is_short() && self.ballast.make().is_err() && self.adds_records(batch)? {
            return Err(StorageError::Full);
        }
        let added = batch.records();
        let (is_large, has_pending, bytes) = {
            let pending = &read(&self.layers).pending;
            let records = pending.len().saturating_add(added);
            let bytes = layout::entry_bytes(pending).saturating_add(layout::batch_bytes(batch));
            let is_large = records > self.tuning.addresses || bytes > self.largest_entry();
            (is_large, !pending.is_empty(), bytes)
        };
        if is_large && has_pending {
            // Several batches before one sync, together too large for one entry.
            let flushed = self.flush(writer);
            self.changed(flushed)?;
        }
        // On a full disk, what the sync of this batch needs is done here: a batch can be refused, but a failed sync ends the
        // session.
        let is_short = self.ballast.is_short();
        if is_large && (is_short || self.ballast.is_disk_nearly_full()) {
            self.drain(writer)?;
            if self.ballast.is_short() && self.ballast.spare().is_none() {
                return Err(StorageError::Full);
            }
        }
        // A half that is full waits for the checkpoint of the other one. On a disk that may be full by then, the wait is here as
        // well.
        let needs_checkpoint = !self.has_room(writer, &read(&self.layers), added, bytes);
        if needs_checkpoint
            && (is_short || self.ballast.is_disk_nearly_full() || self.is_stuck())
            && !self.checkpoint()?
        {
            return Err(StorageError::Full);
        }
        Ok(())
    }

    /// Whether the last checkpoint found no room. Waits for the one that is running.
    fn is_stuck(&self) -> bool {
        let has_frozen = read(&self.layers).frozen.is_some();
        has_frozen && lock(&self.checkpointer).stuck
    }

    fn adds_records(&self, batch: &Batch) -> Result<bool, StorageError> {
        let addresses: Vec<Address> = batch.puts.iter().map(|(address, _)| *address).collect();
        let there = |addresses: &[Address]| {
            let values = self.get_many(addresses)?;
            Ok::<_, StorageError>(values.iter().flatten().count())
        };
        let added = addresses.len().saturating_sub(there(&addresses)?);
        Ok(added > there(&batch.deletes)?)
    }

    /// Runs a checkpoint, with a part of the ballast if the disk is full. Returns `false` if there is no room even so.
    pub(super) fn with_room(
        &self,
        checkpoint: impl Fn() -> Result<(), StorageError>,
    ) -> Result<bool, StorageError> {
        let mut loans = Vec::new();
        if self.ballast.is_short() && self.ballast.make().is_err() {
            match self.give_room() {
                Some(loan) => loans.push(loan),
                None => return Ok(false),
            }
        }
        let mut result = checkpoint();
        if matches!(result, Err(StorageError::Full)) {
            let more = self.give_room();
            // The engine does not work after a failed write.
            self.reopen()?;
            match more {
                Some(loan) => loans.push(loan),
                None => return Ok(false),
            }
            result = checkpoint();
            if matches!(result, Err(StorageError::Full)) {
                self.reopen()?;
                return Ok(false);
            }
        }
        drop(loans);
        if self.ballast.is_short() {
            // Takes back what the checkpoint did not need, before another program does.
            let _ = self.ballast.make();
        }
        result.map(|()| true)
    }

    /// Frees the part of the ballast that is meant for a checkpoint, if there is any.
    fn give_room(&self) -> Option<Loan<'_>> {
        let spare = self.ballast.spare();
        if spare.is_none() {
            self.ballast.keep(self.ballast.held());
        }
        spare.map(|left| self.ballast.lend(left))
    }

    pub(super) fn note_full<T>(&self, result: &Result<T, StorageError>) {
        if matches!(result, Err(StorageError::Full)) {
            self.ballast.keep(self.ballast.held());
        }
    }
}
