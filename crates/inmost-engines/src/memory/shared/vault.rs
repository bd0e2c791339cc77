//! What the model of a server stores.

use std::collections::BTreeMap;
use std::time::Duration;

use super::super::length;
use inmost_storage::limits::{LEASE, TRAILS_KEPT};
use inmost_storage::{Address, HeaderChange, SharedBatch, StorageError};

/// The records of a generation, each with the revision of the commit that wrote it.
pub type Rows = BTreeMap<Address, (u64, Vec<u8>)>;

/// What the server stores.
#[derive(Clone, Default)]
pub struct Vault {
    /// The header, if the store is complete.
    pub header: Option<Vec<u8>>,
    /// The generation that the header names.
    pub named: u64,
    /// The generations.
    pub generations: BTreeMap<u64, Generation>,
    /// The trails of roots, by the numbers of their commits.
    pub trails: BTreeMap<u64, Vec<u8>>,
    /// The time by the server's clock.
    pub now: Duration,
    pub(super) hosts: u64,
    /// Batches whose senders have given up, and which the server has not read yet.
    pub(super) delayed: Vec<Delayed>,
    /// The leases so far.
    pub(super) leases: u64,
}

/// A batch on its way to a generation, with the lease of its sender.
#[derive(Clone)]
pub(super) struct Delayed {
    pub(super) generation: u64,
    pub(super) lease: Option<u64>,
    pub(super) batch: SharedBatch,
}

/// One generation on the server.
#[derive(Clone, Default)]
pub struct Generation {
    /// The records.
    pub rows: Rows,
    /// Present while it is written and no header names it.
    pub(super) lease: Option<Lease>,
    /// The transaction that holds the lock on the root.
    pub(super) locked_by: Option<u64>,
}

/// The right of a host to write a generation and to remove it.
#[derive(Clone, Copy)]
pub(super) struct Lease {
    pub(super) host: u64,
    /// Differs from that of every other lease.
    pub(super) number: u64,
    /// From then on any host may remove the generation.
    pub(super) until: Duration,
}

impl Vault {
    /// Applies a batch as a whole, or not at all. To a generation under a lease only its holder may write. When it has no
    /// lease any more, a host that had one may only replace the root. So a late batch of an earlier writer does not mix with
    /// the records of the last one.
    pub(super) fn apply(
        &mut self,
        number: u64,
        lease: Option<u64>,
        batch: &SharedBatch,
    ) -> Result<(), StorageError> {
        batch.records.check_bounds()?;
        let named = self.named;
        let next = switched_to(number, batch);
        let held = |number| self.generations.get(&number).and_then(|it| it.lease);
        let is_lost =
            next.is_some_and(|next| held(next).is_none_or(|held| lease != Some(held.number)));
        // The lease is then on the generation that the header is to name.
        let lease = lease.filter(|_| next.is_none());
        let generation = self.generations.get_mut(&number).ok_or(StorageError::Missing)?;
        let replaces = matches!(batch.records.expect, Some((_, Some(_))));
        let may_write = match (&generation.lease, lease) {
            (Some(held), lease) => lease == Some(held.number),
            (None, Some(_)) => replaces,
            (None, None) => true,
        };
        if !may_write {
            return Err(StorageError::Missing);
        }
        if let Some((root, expected)) = &batch.records.expect
            && generation.rows.get(root).map(|(_, value)| value) != expected.as_ref()
        {
            return Err(StorageError::Conflict);
        }
        if let Some(change) = &batch.header
            && (self.header.as_ref() != Some(&change.expect) || named != number || is_lost)
        {
            return Err(StorageError::Conflict);
        }
        for (address, value) in &batch.records.puts {
            generation.rows.insert(*address, (batch.revision, value.clone()));
        }
        for address in &batch.records.deletes {
            generation.rows.remove(address);
        }
        if let Some(trail) = &batch.trail {
            self.trails.insert(batch.revision, trail.clone());
            let oldest = batch.revision.saturating_sub(TRAILS_KEPT);
            self.trails = self.trails.split_off(&oldest);
        }
        if let Some(HeaderChange { next, generation, .. }) = &batch.header {
            self.header = Some(next.clone());
            self.named = *generation;
            if let Some(named) = self.generations.get_mut(generation) {
                named.lease = None;
            }
        }
        Ok(())
    }

    /// The trails that [`SharedEngine::trails`](inmost_storage::SharedEngine::trails) returns.
    pub(super) fn trails(&self, since: u64, until: u64) -> Vec<Vec<u8>> {
        let first = self.trails.range(..=since).next_back().map_or(0, |(number, _)| *number);
        let asked = self.trails.iter().filter(|(number, _)| (first..=until).contains(*number));
        asked.map(|(_, trail)| trail.clone()).collect()
    }

    /// A generation that its writer uses keeps its lease.
    pub(super) fn keep_lease(&mut self, number: u64, host: u64) {
        let until = self.now.saturating_add(LEASE);
        match self.generations.get_mut(&number).and_then(|it| it.lease.as_mut()) {
            Some(lease) if lease.host == host => lease.until = until,
            _ => {}
        }
    }

    pub(super) fn is_leftover(&self, number: u64, host: u64) -> bool {
        let lease = self.generations.get(&number).and_then(|it| it.lease);
        let is_held = lease.is_some_and(|lease| lease.host != host && lease.until > self.now);
        number != self.named && !is_held
    }
}

/// The generation that a batch makes the header name instead of this one.
pub(super) fn switched_to(number: u64, batch: &SharedBatch) -> Option<u64> {
    batch.header.as_ref().map(|change| change.generation).filter(|next| *next != number)
}

pub(super) fn rows_size(rows: &Rows) -> u64 {
    let address = u64::try_from(size_of::<Address>()).unwrap_or(u64::MAX);
    rows.values().map(|(_, value)| address + length(value)).sum()
}
