//! A journal in front of an engine. A commit is durable once its entry in the journal is synced; the engine gets it later.
//!
//! The journal is a file of fixed length with two halves. Commits fill one half, and are read from memory meanwhile (an
//! overlay of changes by address). When the half is full, its changes are written to the engine in the background, each
//! address once, while commits fill the other half: a checkpoint. So a commit costs one write to blocks that exist and
//! one `fdatasync`, instead of the two or three waits and the growing files of an engine.
//!
//! The rules that make this safe:
//!
//! - an entry is written only when the one before it is synced, and no block of an acknowledged entry is written again
//!   before the engine has its whole epoch, durably
//! - a checkpoint is synced before its half is used again, and in between where the engine needs it
//! - the last batch of a checkpoint holds the *mark*: the epoch and the entry that the engine has reached. Slots in the
//!   journal hold the same, so a journal and an engine of different days do not pass for one store
//! - after a failed write or sync, nothing is written again; the next opening finds out what is stored
//! - what an opening finds in the journal is written again and synced before anything shows it: after a killed process
//!   or a failed sync it may be in the page cache only
//!
//! Batches that are too large for the journal go to the engine directly, when everything before them is there. So do all
//! batches of a new generation until the first one that replaces a root.
//!
//! While the journal holds entries, the engine alone is not the store.

mod checkpoint;
#[cfg(any(test, feature = "testing"))]
pub(super) mod in_memory;
mod layout;
mod medium;
mod opening;
mod overlay;
mod pace;
mod replay;
mod room;
mod slots;
mod state;
#[cfg(test)]
mod tests;
mod writer;
mod written;

use std::sync::Arc;

use inmost_storage::limits::GROUP_RECORDS;
use inmost_storage::{Address, Batch, Engine, StorageError};

use self::layout::MARK;
use self::pace::Pace;
pub(crate) use self::state::{OpenEngine, Surroundings, Tuning};
use self::state::{Shared, Writer, lock, read, write};
pub(super) use self::{medium::NAME, written::written};
use crate::local_engine::LocalEngine;

/// An engine with a journal in front.
pub(crate) struct JournaledEngine {
    shared: Arc<Shared>,
    pace: Pace,
}

impl Engine for JournaledEngine {
    fn get_many(&self, addresses: &[Address]) -> Result<Vec<Option<Vec<u8>>>, StorageError> {
        self.explained(|shared| shared.get_many(addresses))
    }

    fn scan(
        &self,
        after: Option<&Address>,
        limit: usize,
    ) -> Result<Vec<(Address, Vec<u8>)>, StorageError> {
        self.explained(|shared| {
            // The overlay first: a checkpoint may move a record to the engine meanwhile, but never the other way.
            let overlay = read(&shared.layers).merged(after);
            overlay::merge(overlay, after, limit, |after, limit| {
                shared.read_engine(|engine| engine.scan(after, limit))
            })
        })
    }

    fn apply(&self, batch: &Batch) -> Result<(), StorageError> {
        self.explained(|shared| shared.apply(batch))
    }

    fn prepare(&self, batch: &Batch) -> Result<(), StorageError> {
        self.explained(|shared| {
            let mut writer = lock(&shared.writer);
            writer.is_prepared = false;
            shared.prepare(&mut writer, batch)?;
            writer.is_prepared = true;
            Ok(())
        })
    }

    fn sync(&self) -> Result<(), StorageError> {
        if self.explained(Shared::sync)? {
            self.pace.committed(&self.shared);
        }
        Ok(())
    }

    /// As many as surely fit an entry.
    fn group_records(&self) -> usize {
        let most = layout::longest_records(self.shared.largest_entry());
        most.min(self.shared.tuning.addresses).max(GROUP_RECORDS)
    }

    fn size(&self) -> Result<u64, StorageError> {
        self.explained(|shared| shared.read_engine(|engine| engine.size()))
    }

    fn verify(&self) -> Result<(), StorageError> {
        self.explained(Shared::verify)
    }

    fn close(self: Box<Self>) -> Result<(), StorageError> {
        self.pace.stop();
        if let Err(error) = self.shared.watched.check() {
            // Nothing more is written where other files are.
            self.discard();
            return Err(error);
        }
        self.explained(|shared| {
            let emptied = shared.changed(shared.empty());
            let closed = write(&shared.engine).take().map_or(Ok(()), Engine::close);
            emptied.and(closed)
        })
    }

    fn discard(self: Box<Self>) {
        self.pace.stop();
        if let Some(engine) = write(&self.shared.engine).take() {
            engine.discard();
        }
    }
}

impl JournaledEngine {
    /// Runs a call, unless a write has failed before. The first call that finds a failed checkpoint returns its reason, marked
    /// as such: a caller that reads around damage must not take it for the error of its own read.
    fn explained<T>(
        &self,
        call: impl FnOnce(&Shared) -> Result<T, StorageError>,
    ) -> Result<T, StorageError> {
        let shared = &*self.shared;
        match shared.poison.check().and_then(|()| call(shared)) {
            Err(StorageError::Poisoned) => {
                // The reason is there before a failing checkpoint lets go of this.
                let turn = lock(&shared.checkpointer);
                let reason = lock(&shared.failure).take();
                drop(turn);
                shared.watched.found()?;
                let failed = |reason| StorageError::WriteFailed(Box::new(reason));
                Err(reason.map_or(StorageError::Poisoned, failed))
            }
            result => result,
        }
    }
}

impl Drop for JournaledEngine {
    fn drop(&mut self) {
        // What the journal holds stays there. The next opening finds it.
        self.pace.stop();
    }
}

impl Shared {
    fn apply(&self, batch: &Batch) -> Result<(), StorageError> {
        let mut writer = lock(&self.writer);
        if !std::mem::take(&mut writer.is_prepared) {
            self.prepare(&mut writer, batch)?;
        }
        self.poison.check()?;
        if writer.filling {
            return self.changed(self.fill(&mut writer, batch));
        }
        writer.root = batch.expect.as_ref().map(|(root, _)| *root).or(writer.root);
        layout::add(&mut write(&self.layers).pending, batch);
        Ok(())
    }

    /// Checks a batch, and makes room for it. Changes nothing if it is refused.
    fn prepare(&self, writer: &mut Writer, batch: &Batch) -> Result<(), StorageError> {
        self.poison.check()?;
        batch.check_bounds()?;
        if let Some((root, expected)) = &batch.expect {
            let found = self.get_many(&[*root])?.pop().flatten();
            if found != *expected {
                return Err(StorageError::Conflict);
            }
            if writer.filling && expected.is_some() {
                // No entry may be durable before the records that it builds on.
                self.changed(self.with_engine(|engine| engine.sync()))?;
                writer.filling = false;
            }
        }
        if writer.filling { Ok(()) } else { self.admit(writer, batch) }
    }

    /// Applies a batch to a new generation.
    fn fill(&self, writer: &mut Writer, batch: &Batch) -> Result<(), StorageError> {
        let (first, last) = (batch.puts.first(), batch.puts.last());
        let is_in_order = batch.expect.is_none()
            && batch.deletes.is_empty()
            && first.is_none_or(|(first, _)| *first > writer.filled)
            && batch.puts.is_sorted_by(|(one, _), (next, _)| one < next);
        if is_in_order {
            writer.filled = last.map_or(writer.filled, |(last, _)| *last);
            return self.with_engine(|engine| engine.fill(&batch.puts));
        }
        // What follows may be in any order too.
        writer.filled = Address([0xFF; 32]);
        self.with_engine(|engine| engine.apply(batch))
    }

    /// Returns whether there was anything to make durable.
    fn sync(&self) -> Result<bool, StorageError> {
        let mut writer = lock(&self.writer);
        self.poison.check()?;
        if writer.filling {
            let synced = self.with_engine(|engine| engine.sync());
            let followed = synced.and_then(|()| self.follow(layout::Position::default(), false));
            return self.changed(followed.and_then(|()| self.watched.check())).map(|()| false);
        }
        let flushed = self.flush(&mut writer);
        // After the sync: what it wrote counts only if it is in the store's files.
        self.changed(flushed.and_then(|flushed| self.watched.check().map(|()| flushed)))
    }

    fn get_many(&self, addresses: &[Address]) -> Result<Vec<Option<Vec<u8>>>, StorageError> {
        let mut missing = Vec::new();
        let mut values = {
            let layers = read(&self.layers);
            let find = |address: &Address| {
                layers.find(address).unwrap_or_else(|| {
                    missing.push(*address);
                    None
                })
            };
            addresses.iter().map(find).collect::<Vec<_>>()
        };
        if missing.is_empty() {
            return Ok(values);
        }
        // Not under the lock of the overlay: a checkpoint may move records to the engine from here on, but those above
        // are read already.
        let mut found = self.read_engine(|engine| engine.get_many(&missing))?.into_iter();
        let mut missing = missing.iter().peekable();
        for (address, value) in addresses.iter().zip(&mut values) {
            if value.is_none() && missing.next_if_eq(&address).is_some() {
                *value = found.next().flatten();
            }
        }
        Ok(values)
    }

    /// Reads from the engine. After a full disk has stopped a checkpoint, the engine takes no call until the checkpoint has opened it
    /// again; this waits for that. A read can meet the full disk, too: sled may write a page anew when it reads it, and takes no call
    /// after that either. Then it is opened again here.
    fn read_engine<T>(
        &self,
        call: impl Fn(&dyn LocalEngine) -> Result<T, StorageError>,
    ) -> Result<T, StorageError> {
        match self.with_engine(&call) {
            Err(StorageError::Poisoned) => {
                drop(lock(&self.checkpointer));
                self.poison.check()?;
                self.with_engine(call)
            }
            Err(StorageError::Full) => {
                let _turn = lock(&self.checkpointer);
                self.poison.check()?;
                match self.with_engine(&call) {
                    Err(StorageError::Full) => {
                        self.keep_reason(self.reopen())?;
                        self.with_engine(call)
                    }
                    result => result,
                }
            }
            result => result,
        }
    }
}
