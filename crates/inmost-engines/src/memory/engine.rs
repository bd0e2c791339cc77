//! One generation of a store in memory, as an engine.

use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard};

use super::{Generation, locked, records_size};
#[cfg(any(test, feature = "testing"))]
use crate::local_engine::LocalEngine;
use inmost_storage::{Address, Batch, Engine, StorageError};

/// One open generation in memory.
pub(crate) struct MemoryEngine {
    generation: Arc<Mutex<Generation>>,
    ticket: u64,
}

impl MemoryEngine {
    pub(super) fn open(generation: &Arc<Mutex<Generation>>) -> Result<Self, StorageError> {
        let mut held = locked(generation);
        if held.holder.is_some() {
            return Err(StorageError::InUse(None));
        }
        held.engines += 1;
        held.holder = Some(held.engines);
        Ok(Self { generation: Arc::clone(generation), ticket: held.engines })
    }

    fn generation(&self) -> Result<MutexGuard<'_, Generation>, StorageError> {
        let held = locked(&self.generation);
        if held.holder == Some(self.ticket) { Ok(held) } else { Err(StorageError::Poisoned) }
    }
}

impl Engine for MemoryEngine {
    fn get_many(&self, addresses: &[Address]) -> Result<Vec<Option<Vec<u8>>>, StorageError> {
        let held = self.generation()?;
        Ok(addresses.iter().map(|address| held.records.get(address).cloned()).collect())
    }

    fn scan(
        &self,
        after: Option<&Address>,
        limit: usize,
    ) -> Result<Vec<(Address, Vec<u8>)>, StorageError> {
        let held = self.generation()?;
        let from = after.map_or(Bound::Unbounded, |address| Bound::Excluded(*address));
        let page = held.records.range((from, Bound::Unbounded)).take(limit);
        Ok(page.map(|(address, value)| (*address, value.clone())).collect())
    }

    fn apply(&self, batch: &Batch) -> Result<(), StorageError> {
        let mut held = self.generation()?;
        batch.check_bounds()?;
        if let Some((root, expected)) = &batch.expect
            && held.records.get(root) != expected.as_ref()
        {
            return Err(StorageError::Conflict);
        }
        for (address, value) in &batch.puts {
            held.change(*address, Some(value.clone()));
        }
        for address in &batch.deletes {
            held.change(*address, None);
        }
        Ok(())
    }

    fn sync(&self) -> Result<(), StorageError> {
        self.generation()?.unsynced.clear();
        Ok(())
    }

    fn size(&self) -> Result<u64, StorageError> {
        Ok(records_size(&*self.generation()?))
    }

    fn close(self: Box<Self>) -> Result<(), StorageError> {
        self.sync()
    }
}

/// For tests of the journal in front of it.
#[cfg(any(test, feature = "testing"))]
impl LocalEngine for MemoryEngine {
    fn apply_loosely(&self, batch: &Batch) -> Result<bool, StorageError> {
        self.apply(batch).map(|()| false)
    }
}

impl Drop for MemoryEngine {
    fn drop(&mut self) {
        if let Ok(mut held) = self.generation() {
            held.holder = None;
        }
    }
}
