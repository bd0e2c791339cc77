//! One generation as one host sees it, and its transactions.

use std::ops::Bound;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, MutexGuard};

use super::vault::rows_size;
use super::vault::switched_to;
use super::{Delayed, Link, Operation, Rows, Vault, Verdict};
use inmost_storage::{
    Access, Address, Batch, Delta, Engine, Known, Limit, Pull, SharedBatch, SharedEngine,
    StorageError,
};

/// A generation.
pub(super) struct HostEngine {
    link: Arc<Link>,
    number: u64,
}

impl HostEngine {
    pub(super) fn new(link: &Arc<Link>, number: u64) -> Self {
        Self { link: Arc::clone(link), number }
    }

    fn rows<'a>(&self, vault: &'a Vault) -> Result<&'a Rows, StorageError> {
        Ok(&vault.generations.get(&self.number).ok_or(StorageError::Missing)?.rows)
    }
}

impl Engine for HostEngine {
    fn get_many(&self, addresses: &[Address]) -> Result<Vec<Option<Vec<u8>>>, StorageError> {
        let mut vault = self.link.ask(Operation::Read)?;
        vault.keep_lease(self.number, self.link.number);
        // A generation that was removed is one without records.
        let rows = vault.generations.get(&self.number).map(|it| &it.rows);
        Ok(addresses.iter().map(|address| Some(rows?.get(address)?.1.clone())).collect())
    }

    fn scan(
        &self,
        after: Option<&Address>,
        limit: usize,
    ) -> Result<Vec<(Address, Vec<u8>)>, StorageError> {
        let mut vault = self.link.ask(Operation::Read)?;
        vault.keep_lease(self.number, self.link.number);
        Ok(page(self.rows(&vault)?, after, limit))
    }

    fn apply(&self, batch: &Batch) -> Result<(), StorageError> {
        self.commit(&batch.clone().into())
    }

    fn sync(&self) -> Result<(), StorageError> {
        Ok(())
    }

    fn shared(&self) -> Option<&dyn SharedEngine> {
        Some(self)
    }

    fn size(&self) -> Result<u64, StorageError> {
        let vault = self.link.ask(Operation::Read)?;
        Ok(rows_size(self.rows(&vault)?))
    }

    fn close(self: Box<Self>) -> Result<(), StorageError> {
        Ok(())
    }
}

impl SharedEngine for HostEngine {
    fn commit(&self, batch: &SharedBatch) -> Result<(), StorageError> {
        let verdict = self.link.before(Operation::Apply)?;
        let lost = || StorageError::Unknown("injected fault".into());
        match verdict {
            Verdict::LoseRequest => return Err(lost()),
            Verdict::Delay => {
                let (generation, batch) = (self.number, batch.clone());
                let lease = self.link.lease(switched_to(generation, &batch).unwrap_or(generation));
                self.link.server.vault().delayed.push(Delayed { generation, lease, batch });
                return Err(lost());
            }
            _ => {}
        }
        let mut vault: MutexGuard<'_, Vault> = self.link.wait_for_root(self.number)?;
        vault.keep_lease(self.number, self.link.number);
        // A host that writes a new generation owns it: nobody else may have removed it.
        let lease = self.link.lease(switched_to(self.number, batch).unwrap_or(self.number));
        if verdict == Verdict::Double {
            let _ = vault.apply(self.number, lease, batch);
        }
        let applied = vault.apply(self.number, lease, batch).map_err(|error| match error {
            StorageError::Missing => StorageError::Conflict,
            error => error,
        });
        if verdict == Verdict::LoseReply { Err(lost()) } else { applied }
    }

    fn pull(&self, known: &Known<'_>, limit: Limit) -> Result<Pull, StorageError> {
        Ok(pull(&*self.link.ask(Operation::Pull)?, self.number, known, limit))
    }

    fn trails(&self, since: u64, until: u64) -> Result<Vec<Vec<u8>>, StorageError> {
        Ok(self.link.ask(Operation::Read)?.trails(since, until))
    }

    fn begin(
        &self,
        access: Access,
        _root: &Address,
    ) -> Result<Box<dyn SharedEngine>, StorageError> {
        drop(self.link.ask(Operation::Begin)?);
        // The lock on a root is one of its generation, so the address tells nothing more.
        let link = Arc::clone(&self.link);
        let number = self.number;
        Ok(match access {
            Access::Snapshot => {
                let vault = link.server.vault().clone();
                Box::new(Transaction::new(link, number, Some(vault), 0))
            }
            Access::Locked => {
                let ticket = TICKETS.fetch_add(1, Ordering::Relaxed);
                let mut vault = link.wait_for_root(number)?;
                if let Some(generation) = vault.generations.get_mut(&number) {
                    generation.locked_by = Some(ticket);
                }
                drop(vault);
                Box::new(Transaction::new(link, number, None, ticket))
            }
        })
    }
}

/// A transaction: on a copy of everything, or on the generation whose root it has locked.
struct Transaction {
    link: Arc<Link>,
    number: u64,
    snapshot: Option<Vault>,
    ticket: u64,
    over: AtomicBool,
}

impl Transaction {
    fn new(link: Arc<Link>, number: u64, snapshot: Option<Vault>, ticket: u64) -> Self {
        link.transactions.fetch_add(1, Ordering::SeqCst);
        Self { link, number, snapshot, ticket, over: AtomicBool::new(false) }
    }

    fn read<T>(
        &self,
        operation: Operation,
        work: impl FnOnce(&Vault) -> T,
    ) -> Result<T, StorageError> {
        if self.over.load(Ordering::SeqCst) {
            return Err(StorageError::Unavailable("the transaction is over".into()));
        }
        let vault = self.link.ask_within(operation)?;
        Ok(work(self.snapshot.as_ref().unwrap_or(&vault)))
    }

    /// Ends the transaction.
    fn end(&self) {
        if self.over.swap(true, Ordering::SeqCst) {
            return;
        }
        self.link.transactions.fetch_sub(1, Ordering::SeqCst);
        if self.snapshot.is_some() {
            return;
        }
        let mut vault = self.link.server.vault();
        if let Some(generation) = vault.generations.get_mut(&self.number)
            && generation.locked_by == Some(self.ticket)
        {
            generation.locked_by = None;
            self.link.server.unlocked.notify_all();
        }
    }
}

impl Engine for Transaction {
    fn get_many(&self, addresses: &[Address]) -> Result<Vec<Option<Vec<u8>>>, StorageError> {
        self.read(Operation::Read, |vault| {
            let rows = vault.generations.get(&self.number).map(|it| &it.rows);
            addresses.iter().map(|address| Some(rows?.get(address)?.1.clone())).collect()
        })
    }

    fn scan(
        &self,
        after: Option<&Address>,
        limit: usize,
    ) -> Result<Vec<(Address, Vec<u8>)>, StorageError> {
        self.read(Operation::Read, |vault| {
            vault.generations.get(&self.number).map(|it| page(&it.rows, after, limit))
        })?
        .ok_or(StorageError::Missing)
    }

    fn apply(&self, batch: &Batch) -> Result<(), StorageError> {
        self.commit(&batch.clone().into())
    }

    fn sync(&self) -> Result<(), StorageError> {
        Ok(())
    }

    fn shared(&self) -> Option<&dyn SharedEngine> {
        Some(self)
    }

    fn size(&self) -> Result<u64, StorageError> {
        self.read(Operation::Read, |vault| {
            vault.generations.get(&self.number).map_or(0, |it| rows_size(&it.rows))
        })
    }

    fn close(self: Box<Self>) -> Result<(), StorageError> {
        Ok(())
    }
}

impl SharedEngine for Transaction {
    fn commit(&self, batch: &SharedBatch) -> Result<(), StorageError> {
        if self.snapshot.is_some() || self.over.load(Ordering::SeqCst) {
            return Err(StorageError::Unavailable("the transaction cannot write".into()));
        }
        let verdict = self.link.before_within(Operation::Apply);
        let lost = || StorageError::Unknown("injected fault".into());
        let applied = match verdict {
            Err(error) => Err(error),
            // The server rolls back what it was not told to commit. It cannot come later: the lock was its transaction's.
            Ok(Verdict::LoseRequest | Verdict::Delay) => Err(lost()),
            Ok(verdict) => {
                let lease = switched_to(self.number, batch).and_then(|next| self.link.lease(next));
                let applied = self.link.server.vault().apply(self.number, lease, batch);
                if verdict == Verdict::LoseReply { Err(lost()) } else { applied }
            }
        };
        self.end();
        applied
    }

    fn pull(&self, known: &Known<'_>, limit: Limit) -> Result<Pull, StorageError> {
        self.read(Operation::Pull, |vault| pull(vault, self.number, known, limit))
    }

    fn trails(&self, since: u64, until: u64) -> Result<Vec<Vec<u8>>, StorageError> {
        self.read(Operation::Read, |vault| vault.trails(since, until))
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        self.end();
    }
}

fn page(rows: &Rows, after: Option<&Address>, limit: usize) -> Vec<(Address, Vec<u8>)> {
    let from = after.map_or(Bound::Unbounded, |address| Bound::Excluded(*address));
    let page = rows.range((from, Bound::Unbounded)).take(limit);
    page.map(|(address, (_, value))| (*address, value.clone())).collect()
}

fn pull(vault: &Vault, number: u64, known: &Known<'_>, limit: Limit) -> Pull {
    let empty = Rows::new();
    let rows = vault.generations.get(&number).map_or(&empty, |it| &it.rows);
    let root = rows.get(&known.root).map(|(_, value)| value);
    if vault.named == number && root.is_some() && root.map(Vec::as_slice) == known.root_value {
        return Pull::Unchanged;
    }
    let is_new = |revision: u64| known.root_value.is_none() || revision > known.revision;
    let mut newest: Vec<_> = rows
        .iter()
        .filter(|(address, (revision, _))| **address != known.root && is_new(*revision))
        .collect();
    newest.sort_by_key(|(_, (revision, _))| std::cmp::Reverse(*revision));
    let mut left = limit.bytes;
    let mut kept = Vec::new();
    for (address, (_, value)) in &newest {
        if kept.len() >= limit.records || value.len() > left {
            break;
        }
        left -= value.len();
        kept.push((**address, value.clone()));
    }
    let is_complete = kept.len() == newest.len();
    Pull::Changed(Delta { generation: vault.named, root: root.cloned(), rows: kept, is_complete })
}

static TICKETS: AtomicU64 = AtomicU64::new(1);
