//! Tests of the journal on a simulated disk: every operation of a workload is the last one before a crash.

mod disk;
mod faults;
mod modelled;
mod openings;
mod replaying;
mod vectors;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use self::disk::{Disk, Random};
use super::in_memory::Known;
use super::layout::JournalId;
use super::*;
use crate::faulty::{Faults, FaultyEngine};
use crate::local::ballast::Ballast;
use crate::memory::MemoryStorage;
use inmost_storage::{EngineKind, Storage};

pub(super) type Records = BTreeMap<Address, Vec<u8>>;

/// A journal of two halves of 32 KiB, so that few commits fill one.
pub(super) const SMALL: Tuning = Tuning {
    half_blocks: 8,
    addresses: 24,
    batch_records: 5,
    idle: Duration::from_secs(3_600),
    background: false,
    index_after: None,
};

pub(super) const ROOT: Address = Address([0xAA; 32]);

/// An engine in memory and a journal on a simulated disk.
#[derive(Clone)]
pub(super) struct World {
    pub(super) faults: Faults,
    pub(super) disk: Disk,
    pub(super) memory: MemoryStorage,
    pub(super) ballast: Arc<Ballast>,
}

impl World {
    pub(super) fn new() -> Self {
        Self::with_ballast(Ballast::of(std::path::Path::new("/nonexistent")))
    }

    pub(super) fn with_ballast(ballast: Ballast) -> Self {
        let faults = Faults::new();
        let id = JournalId([7; 16]);
        let stored = layout::Position::default();
        let disk = Disk::new(medium::blank(id, SMALL.half_blocks, stored, &Known), &faults);
        Self { disk, faults, memory: MemoryStorage::default(), ballast: Arc::new(ballast) }
    }

    pub(super) fn opener(&self) -> OpenEngine {
        let (memory, faults) = (self.memory.clone(), self.faults.clone());
        Box::new(move |_| {
            faults.check_alive()?;
            Ok(Box::new(FaultyEngine::new(Box::new(memory.open_engine(1)?), &faults)))
        })
    }

    pub(super) fn create_engine(&self) -> Result<Box<dyn LocalEngine>, StorageError> {
        let engine = self.faults.run(|| self.memory.create_engine(1))?;
        Ok(Box::new(FaultyEngine::new(Box::new(engine), &self.faults)))
    }

    pub(super) fn create(&self) -> Result<JournaledEngine, StorageError> {
        let engine = self.create_engine()?;
        let medium = Box::new(self.disk.clone());
        let around = self.around(self.opener());
        JournaledEngine::begin(JournalId([7; 16]), medium, engine, around)
    }

    pub(super) fn open(&self) -> Result<JournaledEngine, StorageError> {
        let medium = Box::new(self.disk.clone());
        JournaledEngine::resume(medium, self.around(self.opener()))
    }

    /// What a journal in this world works with, if it opens its engine so.
    pub(super) fn around(&self, open_engine: OpenEngine) -> Surroundings {
        Surroundings {
            open_engine,
            ballast: Arc::clone(&self.ballast),
            watched: Arc::default(),
            tuning: SMALL,
            mac: Arc::new(Known),
        }
    }

    /// Cuts the power. Of what is not synced, anything between nothing and all survives, in sectors.
    pub(super) fn cut_power(&self, random: &mut Random) {
        self.disk.cut_power(random);
        if random.below(2) == 0 {
            self.memory.crash();
        } else if let Ok(engine) = self.memory.open_generation(1, EngineKind::Memory) {
            engine.sync().unwrap();
        }
    }

    /// An independent copy of the stored bytes.
    pub(super) fn duplicate(&self) -> Self {
        let faults = Faults::new();
        Self {
            disk: self.disk.duplicate(&faults),
            faults,
            memory: self.memory.duplicate(),
            ballast: Arc::clone(&self.ballast),
        }
    }
}

/// Commits batches and remembers what must be stored.
pub(super) struct Writing {
    pub(super) acknowledged: Records,
    /// The state after the commit under way.
    pub(super) under_way: Option<Records>,
}

impl Writing {
    pub(super) fn new() -> Self {
        Self { acknowledged: Records::new(), under_way: None }
    }

    /// Makes this many commits.
    pub(super) fn run(
        &mut self,
        engine: &JournaledEngine,
        commits: u32,
        random: &mut Random,
    ) -> Result<(), StorageError> {
        for _ in 0..commits {
            let batch = random.batch(&self.acknowledged);
            self.commit(engine, &batch)?;
        }
        Ok(())
    }

    pub(super) fn commit(
        &mut self,
        engine: &JournaledEngine,
        batch: &Batch,
    ) -> Result<(), StorageError> {
        let mut after = self.acknowledged.clone();
        after.extend(batch.puts.iter().cloned());
        batch.deletes.iter().for_each(|address| drop(after.remove(address)));
        self.under_way = Some(after.clone());
        // Callers may prepare the batch, as a session does, or leave that to `apply`.
        if after.len().is_multiple_of(2) {
            engine.prepare(batch)?;
        }
        engine.apply(batch)?;
        engine.sync()?;
        self.acknowledged = after;
        self.under_way = None;
        Ok(())
    }

    /// Checks that the engine holds every acknowledged commit, and at most the one under way besides.
    pub(super) fn check(&mut self, engine: &JournaledEngine, context: &str) {
        let found: Records = engine.scan(None, usize::MAX).unwrap().into_iter().collect();
        let is_right = found == self.acknowledged || Some(&found) == self.under_way.as_ref();
        assert!(is_right, "{context}: {} records", found.len());
        assert_eq!(all_in_pages(engine, 3), found, "{context}");
        let addresses: Vec<_> = self.acknowledged.keys().chain(found.keys()).copied().collect();
        let values = engine.get_many(&addresses).unwrap();
        let expected: Vec<_> =
            addresses.iter().map(|address| found.get(address).cloned()).collect();
        assert!(values == expected, "{context}");
        engine.verify().unwrap();
        self.acknowledged = found;
        self.under_way = None;
    }
}

fn all_in_pages(engine: &JournaledEngine, limit: usize) -> Records {
    let mut records = Records::new();
    loop {
        let after = records.last_key_value().map(|(address, _)| *address);
        let page = engine.scan(after.as_ref(), limit).unwrap();
        assert!(page.len() <= limit);
        if page.is_empty() {
            return records;
        }
        records.extend(page);
    }
}
