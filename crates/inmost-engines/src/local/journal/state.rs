//! What a journal holds while it is open: its file, its engine, and what its threads share.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use inmost_storage::{Address, JournalMac, StorageError};

use super::layout::{self, JournalId, Position};
use super::medium::Medium;
use super::overlay::Layers;
use super::slots::Slots;
use crate::local::ballast::Ballast;
use crate::local::watched::Watched;
use crate::local_engine::{Expected, LocalEngine};
use crate::poison::Poison;

/// Opens the engine behind the journal, and opens it again later. Verifies its files first, and writes nothing if they are
/// damaged.
pub(crate) type OpenEngine =
    Box<dyn Fn(&Expected<'_>) -> Result<Box<dyn LocalEngine>, StorageError> + Send + Sync>;

/// What a journal works with, besides its file and its engine.
pub(crate) struct Surroundings {
    pub(in crate::local) open_engine: OpenEngine,
    pub(in crate::local) ballast: Arc<Ballast>,
    pub(in crate::local) watched: Arc<Watched>,
    pub(in crate::local) tuning: Tuning,
    /// Authenticates the slots.
    pub(in crate::local) mac: Arc<dyn JournalMac>,
}

/// Sizes and times of a journal.
#[derive(Clone, Copy)]
pub(crate) struct Tuning {
    /// Blocks of 4 KiB in each half of a new journal.
    pub(in crate::local) half_blocks: u32,
    /// The most addresses that one checkpoint writes.
    pub(in crate::local) addresses: usize,
    /// The most records in one batch of a checkpoint.
    pub(in crate::local) batch_records: usize,
    /// A checkpoint follows when no commit came for this long.
    pub(in crate::local) idle: Duration,
    /// Whether checkpoints run in a thread of their own.
    pub(in crate::local) background: bool,
    /// The engine's index is brought up to date after this many batches of checkpoints.
    pub(in crate::local) index_after: Option<u32>,
}

/// What the threads of one journal share. Locks are taken in the order of the fields.
pub(super) struct Shared {
    pub(super) writer: Mutex<Writer>,
    pub(super) checkpointer: Mutex<Checkpointer>,
    pub(super) layers: RwLock<Layers>,
    /// `None` after it was closed, or could not be opened again.
    pub(super) engine: RwLock<Option<Box<dyn LocalEngine>>>,
    pub(super) id: JournalId,
    pub(super) medium: Box<dyn Medium>,
    pub(super) half_blocks: u32,
    pub(super) open_engine: OpenEngine,
    pub(super) ballast: Arc<Ballast>,
    pub(super) watched: Arc<Watched>,
    pub(super) tuning: Tuning,
    pub(super) poison: Poison,
    pub(super) slots: Mutex<Slots>,
    /// Why a checkpoint failed, for the next call to return.
    pub(super) failure: Mutex<Option<StorageError>>,
}

/// The place where the next entry goes.
pub(super) struct Writer {
    /// The epoch that commits are appended to, and the last entry.
    pub(super) position: Position,
    /// Bytes of its half that are in use.
    pub(super) length: usize,
    /// The root's address, from the batches since the last sync.
    pub(super) root: Option<Address>,
    /// Whether this is a new generation without any ordinary commit.
    pub(super) filling: bool,
    /// The last address of a new generation, as long as its records come in order.
    pub(super) filled: Address,
    /// Whether the next batch was checked, and has room.
    pub(super) is_prepared: bool,
    /// The most bytes that each half has held since it was last wiped.
    pub(super) used: [usize; 2],
    /// The bytes of an entry; kept to save allocations.
    pub(super) entry: Vec<u8>,
}

/// The right to write to the engine, and how far the engine is.
pub(super) struct Checkpointer {
    /// The last epoch and entry that the engine has, durably, and that a slot names.
    pub(super) stored: Position,
    /// Batches written since the engine's index was brought up to date.
    pub(super) batches: u32,
    /// How long that took last time.
    pub(super) indexing: Duration,
    /// Whether the last checkpoint found no room on the disk.
    pub(super) stuck: bool,
    /// Whether the journal is wiped next. That sync covers the slot too.
    pub(super) closing: bool,
}

impl Shared {
    pub(super) fn with_engine<T>(
        &self,
        call: impl FnOnce(&dyn LocalEngine) -> Result<T, StorageError>,
    ) -> Result<T, StorageError> {
        read(&self.engine).as_deref().map_or(Err(StorageError::Poisoned), call)
    }

    /// Passes the result of a change on. A failure means that the state on disk is unknown.
    pub(super) fn changed<T>(&self, result: Result<T, StorageError>) -> Result<T, StorageError> {
        self.note_full(&result);
        self.poison.on_error(result)
    }

    pub(super) fn half_bytes(&self) -> usize {
        usize::try_from(self.half_blocks).unwrap_or(usize::MAX).saturating_mul(layout::BLOCK)
    }

    pub(super) fn largest_entry(&self) -> usize {
        self.half_bytes() / LARGEST_SHARE
    }

    pub(super) fn offset_of_half(&self, half: usize) -> usize {
        layout::SLOTS_BYTES.saturating_add(self.half_bytes().saturating_mul(half))
    }

    pub(super) fn offset_in_half(&self, epoch: u64, at: usize) -> usize {
        self.offset_of_half(layout::half_of(epoch)).saturating_add(at)
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

pub(super) fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}

/// A batch that takes more than this part of a half goes to the engine directly.
const LARGEST_SHARE: usize = 2;
