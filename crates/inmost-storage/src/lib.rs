//! Internal crate of `inmost`, for this workspace only. It promises no semantic versioning.
//!
//! The traits between the store and the place where its bytes live.
//!
//! [`Storage`] is the place of one store: two header copies, a lock, an anchor and generations. [`Engine`] is
//! one generation: a flat map from 32-byte addresses to sealed values. Both see only ciphertext and hold no
//! keys. [`SharedStorage`] and [`SharedEngine`] add what a place needs that several hosts use at once.

#![allow(
    clippy::missing_errors_doc,
    reason = "every failure is a StorageError, which says what it means"
)]

mod bare;
mod error;
pub mod limits;
mod rewriting;
mod shared;
mod untrusted_file;
#[cfg(any(test, feature = "testing"))]
mod variants;

use std::sync::Arc;

pub use bare::{BareFiles, Extent};
pub use error::StorageError;
pub use rewriting::{Leftover, Rewriting, SetAsideGeneration};
pub use shared::{
    Access, Delta, HeaderChange, Known, LEASE_LOST, Limit, Pull, SharedBatch, SharedEngine,
    SharedStorage,
};
pub use untrusted_file::{FileProblem, UntrustedFile};

/// The key of a record in an engine.
///
/// It is a keyed hash, so the order and the grouping of addresses carry no information.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Address(pub [u8; 32]);

/// An atomic change to one generation.
#[derive(Clone, Default)]
pub struct Batch {
    /// The root as the writer last saw it: its address and its whole value, or `None` for a new generation.
    /// The engine refuses the batch with [`StorageError::Conflict`] if it holds anything else. Two writers
    /// therefore cannot both build on the same root.
    pub expect: Option<(Address, Option<Vec<u8>>)>,
    /// Values to write, at most one per address.
    pub puts: Vec<(Address, Vec<u8>)>,
    /// Addresses to remove. An absent address is not an error.
    pub deletes: Vec<Address>,
}

impl Batch {
    /// Checks the lengths and counts of the batch against [`limits`]. Does no I/O.
    ///
    /// # Errors
    /// [`StorageError::TooLarge`] if a value or the number of records exceeds its limit.
    pub fn check_bounds(&self) -> Result<(), StorageError> {
        let within = self.puts.iter().all(|(_, value)| value.len() <= limits::RECORD_VALUE_BYTES)
            && self.records() <= limits::BATCH_RECORDS_MAX;
        if within { Ok(()) } else { Err(StorageError::TooLarge) }
    }

    /// Returns how many records it writes and removes.
    #[must_use]
    pub fn records(&self) -> usize {
        self.puts.len().saturating_add(self.deletes.len())
    }
}

/// One generation of sealed records.
///
/// A failed [`apply`](Engine::apply) or [`sync`](Engine::sync) poisons the engine: every later call returns
/// [`StorageError::Poisoned`]. The state after a failed write is unknown until the generation is reopened. A
/// batch refused with `Conflict` or `TooLarge` has written nothing and does not poison the engine. The same holds for
/// `Full` from an engine with a journal, which decides about room before it writes.
pub trait Engine: Send + Sync {
    /// Returns the values at `addresses`, in the same order; `None` for an absent record.
    fn get_many(&self, addresses: &[Address]) -> Result<Vec<Option<Vec<u8>>>, StorageError>;

    /// Returns up to `limit` records after `after`, in address order. Successive pages are not one snapshot.
    fn scan(
        &self,
        after: Option<&Address>,
        limit: usize,
    ) -> Result<Vec<(Address, Vec<u8>)>, StorageError>;

    /// Applies the whole batch or nothing. The change is visible to readers at once and durable after the
    /// next [`sync`](Engine::sync).
    ///
    /// In a new generation that nothing names yet, before the first batch with a root to expect, a crash may leave any part of
    /// what was not synced. Such a generation is filled fastest in the order of the addresses.
    fn apply(&self, batch: &Batch) -> Result<(), StorageError>;

    /// Does what may have to wait before a batch is applied: checks it, and makes room for it. The batch must be the next one that
    /// is applied. [`apply`](Engine::apply) does the same if this was not called; a caller that applies under a lock waits here,
    /// without the lock. The default does nothing.
    ///
    /// # Errors
    /// As `apply`; what `apply` refuses is refused here.
    fn prepare(&self, _batch: &Batch) -> Result<(), StorageError> {
        Ok(())
    }

    /// Makes everything applied so far durable: it survives a power loss.
    fn sync(&self) -> Result<(), StorageError>;

    /// Returns how many records of the greatest length a batch may change at the cost of one sync. Calls that wait together share
    /// batches of so many. The default is [`GROUP_RECORDS`](limits::GROUP_RECORDS).
    fn group_records(&self) -> usize {
        limits::GROUP_RECORDS
    }

    /// Returns the bytes that this generation occupies on disk.
    fn size(&self) -> Result<u64, StorageError>;

    /// Checks what the engine keeps beside its records, such as a journal. Changes nothing.
    ///
    /// # Errors
    /// [`StorageError::Corrupt`] with what is damaged.
    fn verify(&self) -> Result<(), StorageError> {
        Ok(())
    }

    /// Returns what the engine can besides, if several hosts may have this generation open at once.
    fn shared(&self) -> Option<&dyn SharedEngine> {
        None
    }

    /// Syncs, then releases every handle and lock.
    fn close(self: Box<Self>) -> Result<(), StorageError>;

    /// Releases every handle and lock, for a generation that is removed or opened again next. What was not synced may be lost.
    /// The default drops the engine; an engine in front of another one passes the call on.
    fn discard(self: Box<Self>) {}
}

/// Authenticates the slots of a generation's journal. Its implementation keeps the key.
pub trait JournalMac: Send + Sync {
    /// Returns the MAC of the fields of a slot at this place, 0 or 1.
    fn mac(&self, place: u8, fields: &SlotFields) -> [u8; 32];

    /// Returns whether this is the MAC of these fields at this place. Takes the same time for every wrong one.
    fn verify(&self, place: u8, fields: &SlotFields, mac: &[u8; 32]) -> bool;
}

/// The bytes of a slot of a journal before its MAC.
pub type SlotFields = [u8; 96];

/// The two copies of the header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HeaderCopy {
    /// Written first.
    A,
    /// Written second.
    B,
}

impl HeaderCopy {
    /// Returns the other copy.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }
}

/// The place of one store. A value of this type holds the store's lock, unless the place is [shared](SharedStorage).
pub trait Storage: Send + Sync {
    /// Returns what the place can besides, if several hosts may use the store at once.
    fn shared(&self) -> Option<&dyn SharedStorage> {
        None
    }

    /// Returns the bytes of a header copy, or `None` if it does not exist. Reads at most 64 KiB.
    fn read_header(&self, copy: HeaderCopy) -> Result<Option<Vec<u8>>, StorageError>;

    /// Replaces a header copy atomically and durably. The old bytes are overwritten, best effort.
    fn write_header(&self, copy: HeaderCopy, bytes: &[u8]) -> Result<(), StorageError>;

    /// Returns the anchor, or `None` if it does not exist. Reads at most 512 bytes. This default and those below are for
    /// shared places.
    fn read_anchor(&self) -> Result<Option<Vec<u8>>, StorageError> {
        Ok(None)
    }

    /// Writes the anchor, 512 bytes. After a crash it is there as a whole or not at all. Only the first write of a
    /// session is synced.
    fn write_anchor(&self, _bytes: &[u8]) -> Result<(), StorageError> {
        Ok(())
    }

    /// As [`write_anchor`](Self::write_anchor), but synced in any case.
    fn write_anchor_durably(&self, bytes: &[u8]) -> Result<(), StorageError> {
        self.write_anchor(bytes)
    }

    /// Returns the numbers of the existing generations, ascending.
    fn generations(&self) -> Result<Vec<u64>, StorageError>;

    /// Creates an empty, durable generation. It must not exist yet.
    fn create_generation(
        &self,
        number: u64,
        engine: EngineKind,
    ) -> Result<Box<dyn Engine>, StorageError>;

    /// Opens a generation.
    ///
    /// # Errors
    /// [`StorageError::Missing`] if no generation has this number. [`StorageError::Damaged`] if its files are not complete.
    fn open_generation(
        &self,
        number: u64,
        engine: EngineKind,
    ) -> Result<Box<dyn Engine>, StorageError>;

    /// As [`create_generation`](Self::create_generation), with the MAC of the generation's journal. The default is for places
    /// that have no journal.
    fn create_generation_with(
        &self,
        number: u64,
        engine: EngineKind,
        _mac: Arc<dyn JournalMac>,
    ) -> Result<Box<dyn Engine>, StorageError> {
        self.create_generation(number, engine)
    }

    /// As [`open_generation`](Self::open_generation), with the MAC under which the journal was written.
    ///
    /// # Errors
    /// [`StorageError::Damaged`] too if the journal was written under another MAC.
    fn open_generation_with(
        &self,
        number: u64,
        engine: EngineKind,
        _mac: Arc<dyn JournalMac>,
    ) -> Result<Box<dyn Engine>, StorageError> {
        self.open_generation(number, engine)
    }

    /// Returns the files of a generation as bare bytes. Files that are missing are left out.
    fn bare_files(&self, number: u64) -> Result<Box<dyn BareFiles>, StorageError>;

    /// Removes a generation and everything in it. An absent generation is not an error.
    fn remove_generation(&self, number: u64) -> Result<(), StorageError>;

    /// Returns the note of the last rewrite, or `None` if it is absent or cannot be understood. It is not
    /// authenticated.
    fn rewriting(&self) -> Result<Option<Rewriting>, StorageError> {
        Ok(None)
    }

    /// Notes a rewrite durably, in place of an earlier note.
    fn begin_rewrite(&self, _rewriting: &Rewriting) -> Result<(), StorageError> {
        Ok(())
    }

    /// Removes the note durably, overwriting it, best effort. An absent note is not an error.
    fn finish_rewrite(&self) -> Result<(), StorageError> {
        Ok(())
    }

    /// Moves a generation out of the way durably, and stores a header beside its records if one is given. Never replaces
    /// a generation that was set aside before. No engine may have the generation open.
    ///
    /// # Errors
    /// [`StorageError::Missing`] if there is no such generation; then nothing has changed.
    fn set_aside(&self, _number: u64, _header: Option<&[u8]>) -> Result<(), StorageError> {
        Err(StorageError::Unavailable("a shared store sets no generation aside".into()))
    }

    /// Returns the generations that were set aside, ascending.
    fn set_aside_generations(&self) -> Result<Vec<SetAsideGeneration>, StorageError> {
        Ok(Vec::new())
    }

    /// Removes a generation that was set aside, with its header, which is overwritten, best effort. An absent one is not
    /// an error.
    fn discard_set_aside(&self, _number: u64) -> Result<(), StorageError> {
        Ok(())
    }

    /// Whether the store takes part in synchronisation, so that what is forgotten is to be noted.
    fn is_synchronised(&self) -> bool {
        false
    }

    /// Returns the note of what was forgotten, or `None` if it does not exist. Reads at most 64 MiB.
    fn read_forgets(&self) -> Result<Option<Vec<u8>>, StorageError> {
        Ok(None)
    }

    /// Replaces that note durably. Removes it if there are no bytes.
    fn write_forgets(&self, _bytes: &[u8]) -> Result<(), StorageError> {
        Ok(())
    }

    /// Returns the bytes that the store occupies on disk, without the ballast that is reserved for a full disk and
    /// without what was set aside.
    fn size(&self) -> Result<u64, StorageError>;

    /// Checks that the files that are in use are still those that their names lead to.
    ///
    /// # Errors
    /// [`StorageError::Replaced`], and from then on always.
    fn check_files(&self) -> Result<(), StorageError> {
        Ok(())
    }

    /// Returns whether the disk is full and changes depend on the reserved ballast. Writes that can wait
    /// should then wait.
    fn is_short_of_room(&self) -> bool {
        false
    }
}

/// The engines that a store can name in its header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EngineKind {
    /// sled 0.34.7, the default.
    Sled,
    /// redb 4, behind the feature of that name.
    Redb,
    /// `PostgreSQL`, behind the feature `postgres`. Its places are shared.
    Postgres,
    /// A map in memory. It lives as long as its storage.
    Memory,
}
