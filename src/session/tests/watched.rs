//! A storage that counts batches and syncs, blocks a sync or a batch, panics or has no room on demand, or fails to read some of its
//! records.

use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use inmost_engines::memory::MemoryStorage;
use inmost_storage::{
    Address, BareFiles, Batch, Engine, EngineKind, HeaderCopy, Rewriting, SetAsideGeneration,
    Storage, StorageError,
};

/// The operations that the engine of a [`WatchedStorage`] has received.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Seen {
    /// Batches applied.
    pub(crate) batches: usize,
    /// Syncs begun.
    pub(crate) syncs: usize,
    /// The size of the largest batch, in records.
    pub(crate) most: usize,
}

/// The point at which an engine panics.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Panics {
    /// Before the batch is applied.
    BeforeApply,
    /// When the batch is applied.
    AfterApply,
    /// In the sync.
    InSync,
}

/// The control handle of a [`WatchedStorage`].
#[derive(Clone, Default)]
pub(crate) struct Watch(Arc<(Mutex<State>, Condvar)>);

#[derive(Default)]
struct State {
    seen: Seen,
    held: bool,
    room: Room,
    panics: Option<Panics>,
    unreadable: Option<Unreadable>,
    /// Batches to apply before one is refused.
    full_after: Option<usize>,
    /// Batches in a row that are refused.
    full_for: usize,
    /// Whether only batches are taken that add no record in total, as a journal does on a full disk.
    is_full: bool,
}

/// Whether a batch has to wait for room.
#[derive(Default, PartialEq, Eq)]
enum Room {
    #[default]
    Free,
    Held,
    /// Held, and a batch waits for it.
    Awaited,
}

/// The records that cannot be read.
type Unreadable = Box<dyn Fn(&Address) -> bool + Send>;

impl Watch {
    /// The counts since the last [`reset`](Self::reset).
    pub(crate) fn seen(&self) -> Seen {
        self.state().seen
    }

    /// Resets the counts.
    pub(crate) fn reset(&self) {
        self.state().seen = Seen::default();
    }

    /// Blocks every sync.
    pub(crate) fn hold(&self) {
        self.state().held = true;
    }

    /// Releases the syncs.
    pub(crate) fn release(&self) {
        self.state().held = false;
        self.0.1.notify_all();
    }

    /// Waits until a sync has begun.
    pub(crate) fn wait_for_sync(&self) {
        let mut state = self.state();
        while state.seen.syncs == 0 {
            state = self.wait(state);
        }
    }

    /// Makes every batch wait for room.
    pub(crate) fn hold_room(&self) {
        self.state().room = Room::Held;
    }

    /// Gives room to the batches that wait for it.
    pub(crate) fn free_room(&self) {
        self.state().room = Room::Free;
        self.0.1.notify_all();
    }

    /// Waits until a batch waits for room.
    pub(crate) fn wait_for_batch(&self) {
        let mut state = self.state();
        while state.room != Room::Awaited {
            state = self.wait(state);
        }
    }

    fn wait_for_room(&self) {
        let mut state = self.state();
        while state.room != Room::Free {
            state.room = Room::Awaited;
            self.0.1.notify_all();
            state = self.wait(state);
        }
    }

    /// Makes the engine panic, once.
    pub(crate) fn panic_at(&self, at: Panics) {
        self.state().panics = Some(at);
    }

    /// Refuses one batch for lack of room, after this many others.
    pub(crate) fn be_full_after(&self, batches: usize) {
        self.state().full_after = Some(batches);
    }

    /// Refuses this many batches for lack of room.
    pub(crate) fn be_full_for(&self, batches: usize) {
        self.state().full_for = batches;
    }

    /// Whether to refuse batches that add records in total, as a journal does on a full disk.
    pub(crate) fn take_nothing_more(&self, is_full: bool) {
        self.state().is_full = is_full;
    }

    fn check_room(&self, engine: &dyn Engine, batch: &Batch) -> Result<(), StorageError> {
        let mut state = self.state();
        if let Some(left) = state.full_for.checked_sub(1) {
            state.full_for = left;
            return Err(StorageError::Full);
        }
        if state.is_full {
            let there = |addresses: &[Address]| {
                engine.get_many(addresses).map(|values| values.iter().flatten().count())
            };
            let puts: Vec<Address> = batch.puts.iter().map(|(address, _)| *address).collect();
            if puts.len() - there(&puts)? > there(&batch.deletes)? {
                return Err(StorageError::Full);
            }
        }
        let left = state.full_after.map(|batches| batches.checked_sub(1));
        state.full_after = left.flatten();
        if left == Some(None) { Err(StorageError::Full) } else { Ok(()) }
    }

    /// Makes every read of such a record fail, as on a bad block of the disk.
    pub(crate) fn make_unreadable(&self, records: impl Fn(&Address) -> bool + Send + 'static) {
        self.state().unreadable = Some(Box::new(records));
    }

    fn check_readable<'a>(
        &self,
        mut addresses: impl Iterator<Item = &'a Address>,
    ) -> Result<(), StorageError> {
        match &self.state().unreadable {
            Some(unreadable) if addresses.any(unreadable) => {
                Err(io::Error::other("a bad block that a test asked for").into())
            }
            _ => Ok(()),
        }
    }

    /// Counts a sync, and blocks while syncs are held back.
    fn begin_sync(&self) {
        let mut state = self.state();
        state.seen.syncs += 1;
        self.0.1.notify_all();
        while state.held {
            state = self.wait(state);
        }
    }

    fn panic_if(&self, at: Panics) {
        let panics = self.state().panics.take_if(|panics| *panics == at);
        assert!(panics.is_none(), "a panic that a test asked for");
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'s>(&self, state: MutexGuard<'s, State>) -> MutexGuard<'s, State> {
        self.0.1.wait(state).unwrap_or_else(PoisonError::into_inner)
    }
}

/// A watched storage in memory.
pub(crate) struct WatchedStorage {
    /// The storage below.
    pub(crate) inner: MemoryStorage,
    /// The control handle.
    pub(crate) watch: Watch,
}

impl Storage for WatchedStorage {
    fn read_header(&self, copy: HeaderCopy) -> Result<Option<Vec<u8>>, StorageError> {
        self.inner.read_header(copy)
    }

    fn write_header(&self, copy: HeaderCopy, bytes: &[u8]) -> Result<(), StorageError> {
        self.inner.write_header(copy, bytes)
    }

    fn read_anchor(&self) -> Result<Option<Vec<u8>>, StorageError> {
        self.inner.read_anchor()
    }

    fn write_anchor(&self, bytes: &[u8]) -> Result<(), StorageError> {
        self.inner.write_anchor(bytes)
    }

    fn generations(&self) -> Result<Vec<u64>, StorageError> {
        self.inner.generations()
    }

    fn create_generation(
        &self,
        number: u64,
        engine: EngineKind,
    ) -> Result<Box<dyn Engine>, StorageError> {
        let inner = self.inner.create_generation(number, engine)?;
        Ok(Box::new(WatchedEngine { inner, watch: self.watch.clone() }))
    }

    fn open_generation(
        &self,
        number: u64,
        engine: EngineKind,
    ) -> Result<Box<dyn Engine>, StorageError> {
        let inner = self.inner.open_generation(number, engine)?;
        Ok(Box::new(WatchedEngine { inner, watch: self.watch.clone() }))
    }

    fn bare_files(&self, number: u64) -> Result<Box<dyn BareFiles>, StorageError> {
        self.inner.bare_files(number)
    }

    fn remove_generation(&self, number: u64) -> Result<(), StorageError> {
        self.inner.remove_generation(number)
    }

    fn rewriting(&self) -> Result<Option<Rewriting>, StorageError> {
        self.inner.rewriting()
    }

    fn begin_rewrite(&self, rewriting: &Rewriting) -> Result<(), StorageError> {
        self.inner.begin_rewrite(rewriting)
    }

    fn finish_rewrite(&self) -> Result<(), StorageError> {
        self.inner.finish_rewrite()
    }

    fn set_aside(&self, number: u64, header: Option<&[u8]>) -> Result<(), StorageError> {
        self.inner.set_aside(number, header)
    }

    fn set_aside_generations(&self) -> Result<Vec<SetAsideGeneration>, StorageError> {
        self.inner.set_aside_generations()
    }

    fn discard_set_aside(&self, number: u64) -> Result<(), StorageError> {
        self.inner.discard_set_aside(number)
    }

    fn size(&self) -> Result<u64, StorageError> {
        self.inner.size()
    }
}

struct WatchedEngine {
    inner: Box<dyn Engine>,
    watch: Watch,
}

impl Engine for WatchedEngine {
    fn get_many(&self, addresses: &[Address]) -> Result<Vec<Option<Vec<u8>>>, StorageError> {
        self.watch.check_readable(addresses.iter())?;
        self.inner.get_many(addresses)
    }

    fn scan(
        &self,
        after: Option<&Address>,
        limit: usize,
    ) -> Result<Vec<(Address, Vec<u8>)>, StorageError> {
        let page = self.inner.scan(after, limit)?;
        self.watch.check_readable(page.iter().map(|(address, _)| address))?;
        Ok(page)
    }

    fn apply(&self, batch: &Batch) -> Result<(), StorageError> {
        self.watch.panic_if(Panics::BeforeApply);
        self.watch.check_room(&*self.inner, batch)?;
        // An engine whose page is damaged cannot remove a record from it either.
        self.watch.check_readable(batch.deletes.iter())?;
        let mut state = self.watch.state();
        state.seen.batches += 1;
        state.seen.most = state.seen.most.max(batch.puts.len() + batch.deletes.len());
        drop(state);
        self.inner.apply(batch)?;
        self.watch.panic_if(Panics::AfterApply);
        Ok(())
    }

    fn prepare(&self, batch: &Batch) -> Result<(), StorageError> {
        self.watch.wait_for_room();
        self.inner.prepare(batch)
    }

    fn sync(&self) -> Result<(), StorageError> {
        self.watch.begin_sync();
        self.watch.panic_if(Panics::InSync);
        self.inner.sync()
    }

    fn size(&self) -> Result<u64, StorageError> {
        self.inner.size()
    }

    fn close(self: Box<Self>) -> Result<(), StorageError> {
        // Engines sync once more before they close.
        self.watch.begin_sync();
        self.inner.close()
    }

    fn discard(self: Box<Self>) {
        self.inner.discard();
    }
}
