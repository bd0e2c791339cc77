//! A store in memory, for tests and for memories that need not outlive the process.
//!
//! [`MemoryStorage`] is a handle: its clones share one place, which outlives the engines opened on it, so
//! tests can reopen it. Like a disk, it distinguishes applied from synced changes: `crash` discards the
//! unsynced ones.

mod bare;
mod engine;
#[cfg(any(test, feature = "testing"))]
pub mod shared;

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use self::bare::BareValues;
use self::engine::MemoryEngine;
use inmost_storage::limits;
use inmost_storage::{
    Address, BareFiles, Engine, EngineKind, HeaderCopy, Rewriting, SetAsideGeneration, Storage,
    StorageError,
};

/// A place in memory. Clones are handles of the same place and do not lock each other out. A generation still
/// has at most one engine at a time.
#[derive(Clone, Default)]
pub struct MemoryStorage(Arc<Mutex<Place>>);

#[derive(Default)]
struct Place {
    header_a: Option<Vec<u8>>,
    header_b: Option<Vec<u8>>,
    anchor: Option<Vec<u8>>,
    /// The anchor as it was synced last.
    synced_anchor: Option<Vec<u8>>,
    generations: BTreeMap<u64, Arc<Mutex<Generation>>>,
    rewriting: Option<Rewriting>,
    set_aside: BTreeMap<u64, Kept>,
}

#[derive(Clone)]
struct Kept {
    records: Arc<Mutex<Generation>>,
    header: Option<Vec<u8>>,
}

impl Place {
    fn header(&mut self, copy: HeaderCopy) -> &mut Option<Vec<u8>> {
        match copy {
            HeaderCopy::A => &mut self.header_a,
            HeaderCopy::B => &mut self.header_b,
        }
    }
}

#[derive(Default)]
struct Generation {
    records: BTreeMap<Address, Vec<u8>>,
    /// The values that each change since the last sync replaced, oldest first.
    unsynced: Vec<(Address, Option<Vec<u8>>)>,
    /// The engine that may use this generation; `None` after a crash.
    holder: Option<u64>,
    engines: u64,
}

impl Generation {
    fn change(&mut self, address: Address, value: Option<Vec<u8>>) {
        let replaced = match value {
            Some(value) => self.records.insert(address, value),
            None => self.records.remove(&address),
        };
        self.unsynced.push((address, replaced));
    }

    #[cfg(any(test, feature = "testing"))]
    fn crash(&mut self) {
        for (address, replaced) in std::mem::take(&mut self.unsynced).into_iter().rev() {
            match replaced {
                Some(value) => self.records.insert(address, value),
                None => self.records.remove(&address),
            };
        }
        self.holder = None;
    }
}

impl MemoryStorage {
    /// Simulates a power loss: discards unsynced changes. Engines that are still open return
    /// [`StorageError::Poisoned`].
    #[cfg(any(test, feature = "testing"))]
    pub fn crash(&self) {
        for generation in self.place().generations.values() {
            locked(generation).crash();
        }
    }

    /// Takes the anchor back to what was synced of it, as a power cut may.
    pub fn lose_unsynced_anchor(&self) {
        let mut place = self.place();
        let synced = place.synced_anchor.clone();
        place.anchor = synced;
    }

    /// Returns an independent place with the same bytes, such as a backup or a stolen copy.
    #[cfg(any(test, feature = "testing"))]
    #[must_use]
    pub fn duplicate(&self) -> Self {
        let place = self.place();
        let generations = place.generations.iter().map(|(number, generation)| {
            let records = locked(generation).records.clone();
            (*number, Arc::new(Mutex::new(Generation { records, ..Generation::default() })))
        });
        let copy = Place {
            header_a: place.header_a.clone(),
            header_b: place.header_b.clone(),
            anchor: place.anchor.clone(),
            synced_anchor: place.synced_anchor.clone(),
            generations: generations.collect(),
            rewriting: place.rewriting.clone(),
            // Nothing writes to these any more.
            set_aside: place.set_aside.clone(),
        };
        Self(Arc::new(Mutex::new(copy)))
    }

    /// Changes the records of a generation behind the back of an open engine, like an attacker with access to
    /// the disk.
    #[cfg(any(test, feature = "testing"))]
    #[allow(
        clippy::indexing_slicing,
        reason = "a test that names a missing generation should fail here"
    )]
    pub fn tamper<T>(
        &self,
        generation: u64,
        change: impl FnOnce(&mut BTreeMap<Address, Vec<u8>>) -> T,
    ) -> T {
        change(&mut locked(&self.place().generations[&generation]).records)
    }

    /// Replaces or removes a header copy; see [`tamper`](Self::tamper).
    #[cfg(any(test, feature = "testing"))]
    pub fn tamper_header(&self, copy: HeaderCopy, bytes: Option<&[u8]>) {
        *self.place().header(copy) = bytes.map(<[u8]>::to_vec);
    }

    /// Runs `work` on the stored values of a generation, bypassing its engine. Returns `None` if the
    /// generation does not exist.
    #[cfg(any(test, feature = "testing"))]
    pub fn with_records<T>(
        &self,
        generation: u64,
        work: impl FnOnce(&mut BTreeMap<Address, Vec<u8>>) -> T,
    ) -> Option<T> {
        let generation = self.place().generations.get(&generation).cloned()?;
        let mut held = locked(&generation);
        Some(work(&mut held.records))
    }

    /// Returns the header that was kept with a generation that was set aside.
    #[cfg(any(test, feature = "testing"))]
    #[must_use]
    pub fn kept_header(&self, number: u64) -> Option<Vec<u8>> {
        self.place().set_aside.get(&number)?.header.clone()
    }

    pub(crate) fn create_engine(&self, number: u64) -> Result<MemoryEngine, StorageError> {
        let mut place = self.place();
        if place.generations.contains_key(&number) {
            return Err(io::Error::from(io::ErrorKind::AlreadyExists).into());
        }
        MemoryEngine::open(place.generations.entry(number).or_default())
    }

    pub(crate) fn open_engine(&self, number: u64) -> Result<MemoryEngine, StorageError> {
        MemoryEngine::open(self.place().generations.get(&number).ok_or(StorageError::Missing)?)
    }

    fn place(&self) -> MutexGuard<'_, Place> {
        locked(&self.0)
    }
}

impl Storage for MemoryStorage {
    fn read_header(&self, copy: HeaderCopy) -> Result<Option<Vec<u8>>, StorageError> {
        let limit = usize::try_from(limits::HEADER_READ_BYTES).unwrap_or(usize::MAX);
        let mut place = self.place();
        Ok(place.header(copy).as_ref().map(|bytes| bytes.iter().copied().take(limit).collect()))
    }

    fn write_header(&self, copy: HeaderCopy, bytes: &[u8]) -> Result<(), StorageError> {
        *self.place().header(copy) = Some(bytes.to_vec());
        Ok(())
    }

    fn read_anchor(&self) -> Result<Option<Vec<u8>>, StorageError> {
        Ok(self.place().anchor.clone())
    }

    fn write_anchor(&self, bytes: &[u8]) -> Result<(), StorageError> {
        let mut place = self.place();
        place.anchor = Some(bytes.to_vec());
        place.synced_anchor.get_or_insert_with(|| bytes.to_vec());
        Ok(())
    }

    fn write_anchor_durably(&self, bytes: &[u8]) -> Result<(), StorageError> {
        let mut place = self.place();
        place.anchor = Some(bytes.to_vec());
        place.synced_anchor = Some(bytes.to_vec());
        Ok(())
    }

    fn generations(&self) -> Result<Vec<u64>, StorageError> {
        Ok(self.place().generations.keys().copied().collect())
    }

    fn create_generation(
        &self,
        number: u64,
        engine: EngineKind,
    ) -> Result<Box<dyn Engine>, StorageError> {
        check_kind(engine)?;
        Ok(Box::new(self.create_engine(number)?))
    }

    fn open_generation(
        &self,
        number: u64,
        engine: EngineKind,
    ) -> Result<Box<dyn Engine>, StorageError> {
        check_kind(engine)?;
        Ok(Box::new(self.open_engine(number)?))
    }

    fn bare_files(&self, number: u64) -> Result<Box<dyn BareFiles>, StorageError> {
        let place = self.place();
        let generation = place.generations.get(&number).ok_or(StorageError::Missing)?;
        Ok(Box::new(BareValues::new(locked(generation).records.values())))
    }

    fn remove_generation(&self, number: u64) -> Result<(), StorageError> {
        self.place().generations.remove(&number);
        Ok(())
    }

    fn rewriting(&self) -> Result<Option<Rewriting>, StorageError> {
        Ok(self.place().rewriting.clone())
    }

    fn begin_rewrite(&self, rewriting: &Rewriting) -> Result<(), StorageError> {
        self.place().rewriting = Some(rewriting.clone());
        Ok(())
    }

    fn finish_rewrite(&self) -> Result<(), StorageError> {
        self.place().rewriting = None;
        Ok(())
    }

    fn set_aside(&self, number: u64, header: Option<&[u8]>) -> Result<(), StorageError> {
        let mut place = self.place();
        let records = place.generations.remove(&number).ok_or(StorageError::Missing)?;
        let header = header.map(<[u8]>::to_vec);
        let mut name = number;
        while place.set_aside.contains_key(&name) {
            name = name.wrapping_add(1);
        }
        place.set_aside.insert(name, Kept { records, header });
        Ok(())
    }

    fn set_aside_generations(&self) -> Result<Vec<SetAsideGeneration>, StorageError> {
        let place = self.place();
        let found = place.set_aside.iter().map(|(number, kept)| {
            let header = kept.header.as_ref().map_or(0, |header| length(header));
            SetAsideGeneration {
                number: *number,
                bytes: records_size(&locked(&kept.records)) + header,
            }
        });
        Ok(found.collect())
    }

    fn discard_set_aside(&self, number: u64) -> Result<(), StorageError> {
        self.place().set_aside.remove(&number);
        Ok(())
    }

    fn size(&self) -> Result<u64, StorageError> {
        let mut place = self.place();
        let headers = [HeaderCopy::A, HeaderCopy::B]
            .into_iter()
            .map(|copy| place.header(copy).as_ref().map_or(0, |bytes| length(bytes)))
            .sum::<u64>();
        Ok(headers
            + place.generations.values().map(|each| records_size(&locked(each))).sum::<u64>())
    }
}

fn check_kind(engine: EngineKind) -> Result<(), StorageError> {
    match engine {
        EngineKind::Memory => Ok(()),
        EngineKind::Sled | EngineKind::Redb | EngineKind::Postgres => Err(StorageError::NotBuilt),
    }
}

fn records_size(generation: &Generation) -> u64 {
    let address = u64::try_from(size_of::<Address>()).unwrap_or(u64::MAX);
    generation.records.values().map(|value| address + length(value)).sum()
}

fn length(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}

/// Locks a mutex, poisoned or not: no code that can panic runs under these locks, so the data is always
/// consistent.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
