//! A journal whose bytes are in memory, in front of an engine in memory, for tests that change the bytes.

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use inmost_storage::{Engine, JournalMac, SlotFields, StorageError};

use super::JournaledEngine;
use super::layout::{JournalId, Place, Position, Slot};
use super::medium::{self, Medium};
use super::state::{Surroundings, Tuning};
use crate::local::ballast::Ballast;
use crate::memory::MemoryStorage;

/// A generation with a journal of two small halves, as on a disk that needs no sync. Its engine can be opened again and
/// again, one at a time.
pub struct JournalInMemory {
    file: Bytes,
    place: MemoryStorage,
}

#[derive(Clone)]
struct Bytes(Arc<Mutex<Vec<u8>>>);

impl JournalInMemory {
    /// Creates a generation without records, and opens its engine.
    ///
    /// # Errors
    /// None is expected.
    pub fn create() -> Result<(Self, Box<dyn Engine>), StorageError> {
        let id = JournalId([7; 16]);
        let bytes = medium::blank(id, TUNING.half_blocks, Position::default(), &Known);
        let new =
            Self { file: Bytes(Arc::new(Mutex::new(bytes))), place: MemoryStorage::default() };
        let engine = Box::new(new.place.create_engine(GENERATION)?);
        let medium = Box::new(new.file.clone());
        let engine = JournaledEngine::begin(id, medium, engine, new.surroundings())?;
        Ok((new, Box::new(engine)))
    }

    /// Opens the engine behind the journal.
    ///
    /// # Errors
    /// [`StorageError::Corrupt`] if the journal is damaged, or not that of the engine.
    pub fn open(&self) -> Result<Box<dyn Engine>, StorageError> {
        let medium = Box::new(self.file.clone());
        Ok(Box::new(JournaledEngine::resume(medium, self.surroundings())?))
    }

    /// Changes the bytes of the journal. Its length can change too.
    pub fn tamper<T>(&self, change: impl FnOnce(&mut Vec<u8>) -> T) -> T {
        change(&mut self.file.bytes())
    }

    /// Writes the MAC of a slot into its bytes, as only a holder of the key can.
    pub fn authenticate(slot: &mut [u8], is_second: bool) {
        let place = if is_second { Place::Second } else { Place::First };
        Slot::authenticate(slot, place, &Known);
    }

    /// An independent copy of the journal and of what is behind it.
    #[must_use]
    pub fn duplicate(&self) -> Self {
        let bytes = self.file.bytes().clone();
        Self { file: Bytes(Arc::new(Mutex::new(bytes))), place: self.place.duplicate() }
    }

    /// Puts the engine of another one behind this journal.
    pub fn take_engine_of(&mut self, other: &Self) {
        self.place = other.place.duplicate();
    }

    fn surroundings(&self) -> Surroundings {
        let place = self.place.clone();
        Surroundings {
            open_engine: Box::new(move |_| Ok(Box::new(place.open_engine(GENERATION)?))),
            ballast: Arc::new(Ballast::of(Path::new("/nonexistent"))),
            watched: Arc::default(),
            tuning: TUNING,
            mac: Arc::new(Known),
        }
    }
}

impl Bytes {
    fn bytes(&self) -> MutexGuard<'_, Vec<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Medium for Bytes {
    fn read(&self) -> io::Result<Vec<u8>> {
        Ok(self.bytes().clone())
    }

    fn write_at(&self, offset: usize, bytes: &[u8]) -> io::Result<()> {
        let mut held = self.bytes();
        let to = held.get_mut(offset..offset.saturating_add(bytes.len()));
        to.ok_or(io::ErrorKind::UnexpectedEof)?.copy_from_slice(bytes);
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }
}

/// A MAC that no test of the journal computes, although it could.
pub(crate) struct Known;

impl JournalMac for Known {
    fn mac(&self, place: u8, fields: &SlotFields) -> [u8; 32] {
        let mut mac = [0; 32];
        for (salt, part) in (0..).zip(mac.chunks_mut(4)) {
            let mut hash = crc32fast::Hasher::new();
            hash.update(&[salt, place]);
            hash.update(fields);
            part.copy_from_slice(&hash.finalize().to_be_bytes());
        }
        mac
    }

    fn verify(&self, place: u8, fields: &SlotFields, mac: &[u8; 32]) -> bool {
        self.mac(place, fields) == *mac
    }
}

const GENERATION: u64 = 1;
/// Few commits fill a half of 32 KiB, and checkpoints run when a commit needs them.
const TUNING: Tuning = Tuning {
    half_blocks: 8,
    addresses: 24,
    batch_records: 5,
    idle: Duration::from_secs(3_600),
    background: false,
    index_after: None,
};
