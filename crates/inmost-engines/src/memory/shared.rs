//! A store in memory that several hosts share: the model of a database server, for tests.
//!
//! [`SharedMemory`] is the server. Each [`host`](SharedMemory::host) is a storage of its own, as another process or another
//! machine would have it. A [`Network`] decides what happens to each operation of a host: it may hold it back, refuse it,
//! lose its reply, or deliver a batch long after its sender gave up.

mod engine;
mod link;
mod network;
mod server;
mod vault;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use self::engine::HostEngine;
use self::link::Link;
pub use self::network::{Network, Operation, Sound, Verdict};
use self::server::Server;
use self::vault::{Delayed, Lease, rows_size};
pub use self::vault::{Generation, Rows, Vault};
use super::{check_kind, length, locked};
use inmost_storage::limits::{self, LEASE};
use inmost_storage::{
    BareFiles, Engine, EngineKind, HeaderCopy, SharedStorage, Storage, StorageError,
};

use super::bare::BareValues;

/// The server of one store. Clones are handles of the same server.
#[derive(Clone, Default)]
pub struct SharedMemory(Arc<Server>);

impl SharedMemory {
    /// The storage of a new host, over a network without faults.
    #[must_use]
    pub fn host(&self) -> SharedHost {
        self.host_over(Arc::new(Sound))
    }

    /// The storage of a new host over this network.
    #[must_use]
    pub fn host_over(&self, network: Arc<dyn Network>) -> SharedHost {
        let mut vault = self.0.vault();
        vault.hosts = vault.hosts.max(NUMBERED) + 1;
        SharedHost(Link::new(&self.0, vault.hosts, network))
    }

    /// The storage of a host of this number, over this network.
    #[must_use]
    pub fn numbered_host(&self, number: u64, network: Arc<dyn Network>) -> SharedHost {
        // The server tells hosts apart by numbers that nobody else has.
        SharedHost(Link::new(&self.0, number, network))
    }

    /// Works on what is stored, like an operator of the server.
    pub fn with<T>(&self, work: impl FnOnce(&mut Vault) -> T) -> T {
        let result = work(&mut self.0.vault());
        self.0.unlocked.notify_all();
        result
    }

    /// An independent server with the same content, such as a backup.
    #[must_use]
    pub fn duplicate(&self) -> Vault {
        let mut copy = self.0.vault().clone();
        copy.generations.values_mut().for_each(|generation| generation.locked_by = None);
        copy
    }

    /// Lets the clock of the server run.
    pub fn pass(&self, time: Duration) {
        let mut vault = self.0.vault();
        vault.now = vault.now.saturating_add(time);
    }

    /// Delivers the delayed batches, in the order in which they were sent. Returns how many of them were still possible.
    #[must_use]
    pub fn deliver(&self) -> usize {
        let mut vault = self.0.vault();
        let is_locked = |vault: &Vault, number: &u64| {
            vault.generations.get(number).is_some_and(|it| it.locked_by.is_some())
        };
        // They wait for the lock on a root like any other batch.
        let (waiting, delayed): (Vec<_>, Vec<_>) = std::mem::take(&mut vault.delayed)
            .into_iter()
            .partition(|it| is_locked(&vault, &it.generation));
        vault.delayed = waiting;
        let landed =
            delayed.iter().filter(|it| vault.apply(it.generation, it.lease, &it.batch).is_ok());
        landed.count()
    }
}

/// The storage of one host.
#[derive(Clone)]
pub struct SharedHost(Arc<Link>);

impl SharedHost {
    fn engine(&self, number: u64) -> Box<dyn Engine> {
        Box::new(HostEngine::new(&self.0, number))
    }
}

impl Storage for SharedHost {
    fn shared(&self) -> Option<&dyn SharedStorage> {
        Some(self)
    }

    fn read_header(&self, copy: HeaderCopy) -> Result<Option<Vec<u8>>, StorageError> {
        if copy == HeaderCopy::B {
            return Ok(None);
        }
        let limit = usize::try_from(limits::HEADER_READ_BYTES).unwrap_or(usize::MAX);
        let vault = self.0.ask(Operation::Header)?;
        Ok(vault.header.as_ref().map(|bytes| bytes.iter().copied().take(limit).collect()))
    }

    fn write_header(&self, copy: HeaderCopy, bytes: &[u8]) -> Result<(), StorageError> {
        if copy == HeaderCopy::B {
            return Ok(());
        }
        let mut vault = self.0.ask(Operation::Header)?;
        if vault.header.as_ref().is_some_and(|header| header != bytes) {
            return Err(io::Error::from(io::ErrorKind::AlreadyExists).into());
        }
        let mine = |generation: &Generation| {
            generation.lease.is_some_and(|lease| lease.host == self.0.number)
        };
        let named =
            vault.generations.iter().rev().find(|(_, it)| mine(it)).map(|(number, _)| *number);
        if vault.header.is_none() {
            vault.header = Some(bytes.to_vec());
            vault.named = named.unwrap_or_default();
            if let Some(generation) = named.and_then(|named| vault.generations.get_mut(&named)) {
                generation.lease = None;
            }
        }
        Ok(())
    }

    fn generations(&self) -> Result<Vec<u64>, StorageError> {
        Ok(self.0.ask(Operation::Header)?.generations.keys().copied().collect())
    }

    fn create_generation(
        &self,
        number: u64,
        engine: EngineKind,
    ) -> Result<Box<dyn Engine>, StorageError> {
        check_kind(engine)?;
        let mut vault = self.0.ask(Operation::Create)?;
        if vault.generations.contains_key(&number) && !vault.is_leftover(number, 0) {
            return Err(io::Error::from(io::ErrorKind::AlreadyExists).into());
        }
        vault.leases += 1;
        let (host, until) = (self.0.number, vault.now.saturating_add(LEASE));
        let lease = Lease { host, number: vault.leases, until };
        self.0.keep_lease(number, lease.number);
        vault
            .generations
            .insert(number, Generation { lease: Some(lease), ..Generation::default() });
        Ok(self.engine(number))
    }

    fn open_generation(
        &self,
        number: u64,
        engine: EngineKind,
    ) -> Result<Box<dyn Engine>, StorageError> {
        check_kind(engine)?;
        let vault = self.0.ask(Operation::Header)?;
        if vault.generations.contains_key(&number) {
            Ok(self.engine(number))
        } else {
            Err(StorageError::Missing)
        }
    }

    fn bare_files(&self, number: u64) -> Result<Box<dyn BareFiles>, StorageError> {
        let vault = self.0.ask(Operation::Header)?;
        let generation = vault.generations.get(&number).ok_or(StorageError::Missing)?;
        Ok(Box::new(BareValues::new(generation.rows.values().map(|(_, value)| value))))
    }

    fn remove_generation(&self, number: u64) -> Result<(), StorageError> {
        let mut vault = self.0.ask(Operation::Remove)?;
        if vault.generations.contains_key(&number) && !vault.is_leftover(number, self.0.number) {
            return Err(StorageError::InUse(None));
        }
        vault.generations.remove(&number);
        Ok(())
    }

    fn size(&self) -> Result<u64, StorageError> {
        let vault = self.0.ask(Operation::Header)?;
        let header = vault.header.as_ref().map_or(0, |bytes| length(bytes));
        Ok(header + vault.generations.values().map(|it| rows_size(&it.rows)).sum::<u64>())
    }
}

impl SharedStorage for SharedHost {
    fn most_connections(&self) -> usize {
        self.0.network.most_connections()
    }

    fn renew_lease(&self, number: u64) -> Result<(), StorageError> {
        let mut vault = self.0.ask(Operation::Lease)?;
        let until = vault.now.saturating_add(LEASE);
        let generation = vault.generations.get_mut(&number).ok_or(StorageError::Missing)?;
        match &mut generation.lease {
            Some(lease) if lease.host == self.0.number => lease.until = until,
            _ => return Err(StorageError::Missing),
        }
        Ok(())
    }

    fn remove_leftovers(&self) -> Result<(), StorageError> {
        let mut vault = self.0.ask(Operation::Remove)?;
        if vault.header.is_none() {
            return Ok(());
        }
        let numbers: Vec<u64> = vault.generations.keys().copied().collect();
        for number in numbers {
            if vault.is_leftover(number, self.0.number) {
                vault.generations.remove(&number);
            }
        }
        Ok(())
    }
}

/// Hosts up to this number get their number from the test.
const NUMBERED: u64 = 1_000;

#[cfg(test)]
mod tests;
