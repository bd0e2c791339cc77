//! A disk that forgets what was not synced.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

use super::super::medium::Medium;
use super::{ROOT, Records};
use crate::faulty::Faults;
use inmost_storage::{Address, Batch, StorageError, limits};

/// A file whose writes are in a cache until they are synced.
#[derive(Clone)]
pub(crate) struct Disk(Arc<Mutex<State>>, Faults);

#[derive(Clone)]
struct State {
    durable: Vec<u8>,
    /// What is read: with all writes, those whose sync failed included.
    cached: Vec<u8>,
    /// Written, not synced. After a failed sync this is empty: what was written can be read, but no later sync writes it.
    dirty: Vec<(usize, Vec<u8>)>,
}

impl Disk {
    pub(crate) fn new(bytes: Vec<u8>, faults: &Faults) -> Self {
        let state = State { cached: bytes.clone(), durable: bytes, dirty: Vec::new() };
        Self(Arc::new(Mutex::new(state)), faults.clone())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    pub(crate) fn duplicate(&self, faults: &Faults) -> Self {
        Self(Arc::new(Mutex::new(self.state().clone())), faults.clone())
    }

    /// Changes bytes behind the journal's back, when everything written has reached the disk. No sync may have failed.
    pub(crate) fn tamper<T>(&self, change: impl FnOnce(&mut Vec<u8>) -> T) -> T {
        let mut guard = self.state();
        let state = &mut *guard;
        for (offset, bytes) in std::mem::take(&mut state.dirty) {
            state.durable[offset..offset + bytes.len()].copy_from_slice(&bytes);
        }
        assert!(state.durable == state.cached);
        let changed = change(&mut state.durable);
        state.cached.clone_from(&state.durable);
        changed
    }

    /// Forgets unsynced writes, sector by sector: none, all or some of them, in any order.
    pub(crate) fn cut_power(&self, random: &mut Random) {
        let mut state = self.state();
        let kind = random.below(3);
        let mut sectors = Vec::new();
        for (offset, bytes) in std::mem::take(&mut state.dirty) {
            for (number, sector) in bytes.chunks(SECTOR).enumerate() {
                sectors.push((offset + number * SECTOR, sector.to_vec()));
            }
        }
        random.shuffle(&mut sectors);
        for (offset, sector) in sectors {
            if kind == 0 || kind == 1 && random.below(2) == 0 {
                state.durable[offset..offset + sector.len()].copy_from_slice(&sector);
            }
        }
        state.cached = state.durable.clone();
    }
}

impl Medium for Disk {
    fn read(&self) -> io::Result<Vec<u8>> {
        Ok(self.state().cached.clone())
    }

    fn write_at(&self, offset: usize, bytes: &[u8]) -> io::Result<()> {
        let write = || {
            let mut state = self.state();
            state.cached[offset..offset + bytes.len()].copy_from_slice(bytes);
            state.dirty.push((offset, bytes.to_vec()));
            Ok(())
        };
        self.1.run(write).map_err(io_error)
    }

    fn sync(&self) -> io::Result<()> {
        let sync = || {
            let mut state = self.state();
            for (offset, bytes) in std::mem::take(&mut state.dirty) {
                state.durable[offset..offset + bytes.len()].copy_from_slice(&bytes);
            }
            Ok(())
        };
        let synced = self.1.run(sync).map_err(io_error);
        if synced.is_err() {
            self.state().dirty.clear();
        }
        synced
    }
}

fn io_error(error: StorageError) -> io::Error {
    match error {
        StorageError::Io(error) => error,
        StorageError::Full => io::ErrorKind::StorageFull.into(),
        other => io::Error::other(other.to_string()),
    }
}

const SECTOR: usize = 512;

/// A seeded generator (Knuth's MMIX).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        let mut random = Self(seed ^ 0x9E37_79B9_7F4A_7C15);
        random.below(2);
        random
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    fn index(&mut self, length: usize) -> usize {
        usize::try_from(self.below(length.try_into().unwrap())).unwrap()
    }

    fn shuffle<T>(&mut self, items: &mut [T]) {
        for index in (1..items.len()).rev() {
            let other = self.index(index + 1);
            items.swap(index, other);
        }
    }

    /// A commit on this state: a few records and a new root, or, one time in twelve, too many for an entry.
    pub(crate) fn batch(&mut self, state: &Records) -> Batch {
        let is_large = self.below(12) == 0;
        let changes = if is_large { 20 } else { 1 + self.below(6) };
        let mut batch = Batch::default();
        for _ in 0..changes {
            let address = Address([1 + u8::try_from(self.below(60)).unwrap(); 32]);
            if batch.puts.iter().any(|(put, _)| *put == address) || batch.deletes.contains(&address)
            {
                continue;
            }
            if self.below(4) == 0 {
                batch.deletes.push(address);
            } else {
                batch.puts.push((address, self.value()));
            }
        }
        batch.expect = Some((ROOT, state.get(&ROOT).cloned()));
        batch.puts.push((ROOT, self.value()));
        batch
    }

    fn value(&mut self) -> Vec<u8> {
        let lengths = [0, 1, 297, 553, 1_065, limits::RECORD_VALUE_BYTES];
        let length = lengths[self.index(lengths.len())];
        let mut value = vec![u8::try_from(self.below(256)).unwrap(); length];
        // Every value differs, so that a stale one is noticed.
        let stamp = self.below(1 << 31).to_le_bytes();
        value.iter_mut().zip(stamp).for_each(|(to, from)| *to = from);
        value
    }
}
