//! The connections of one host to the server.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use super::server::Server;
use super::{Network, Operation, Vault, Verdict, locked};
use inmost_storage::StorageError;

/// The connection of one host.
pub(super) struct Link {
    pub(super) server: Arc<Server>,
    pub(super) number: u64,
    pub(super) network: Arc<dyn Network>,
    dead: AtomicBool,
    /// Open transactions.
    pub(super) transactions: AtomicUsize,
    /// The leases that this host has taken, by generation.
    leases: Mutex<BTreeMap<u64, u64>>,
}

impl Link {
    pub(super) fn new(server: &Arc<Server>, number: u64, network: Arc<dyn Network>) -> Arc<Self> {
        Arc::new(Self {
            server: Arc::clone(server),
            number,
            network,
            dead: AtomicBool::new(false),
            transactions: AtomicUsize::new(0),
            leases: Mutex::default(),
        })
    }

    pub(super) fn lease(&self, generation: u64) -> Option<u64> {
        locked(&self.leases).get(&generation).copied()
    }

    pub(super) fn keep_lease(&self, generation: u64, lease: u64) {
        locked(&self.leases).insert(generation, lease);
    }

    /// As [`before_within`](Self::before_within), outside of every transaction.
    pub(super) fn before(&self, operation: Operation) -> Result<Verdict, StorageError> {
        if self.transactions.load(Ordering::SeqCst) >= self.network.most_connections() {
            return Err(StorageError::Unavailable("all connections are in use".into()));
        }
        self.before_within(operation)
    }

    /// Asks the network about an operation. Returns whether its reply is lost.
    pub(super) fn before_within(&self, operation: Operation) -> Result<Verdict, StorageError> {
        if self.dead.load(Ordering::SeqCst) {
            return Err(StorageError::Unavailable("the host is dead".into()));
        }
        let verdict = self.network.before(self.number, operation);
        match verdict {
            Verdict::Refuse => Err(StorageError::Unavailable("injected fault".into())),
            Verdict::Die => {
                self.dead.store(true, Ordering::SeqCst);
                Err(StorageError::Unavailable("the host is dead".into()))
            }
            verdict => Ok(verdict),
        }
    }

    /// As [`before`](Self::before), for an operation whose lost reply is harmless.
    pub(super) fn ask(&self, operation: Operation) -> Result<MutexGuard<'_, Vault>, StorageError> {
        self.perform(self.before(operation)?)
    }

    /// As [`ask`](Self::ask), in a transaction.
    pub(super) fn ask_within(
        &self,
        operation: Operation,
    ) -> Result<MutexGuard<'_, Vault>, StorageError> {
        self.perform(self.before_within(operation)?)
    }

    fn perform(&self, verdict: Verdict) -> Result<MutexGuard<'_, Vault>, StorageError> {
        match verdict {
            Verdict::Perform => Ok(self.server.vault()),
            _ => Err(StorageError::Unavailable("injected fault".into())),
        }
    }

    /// Waits until nobody else holds the lock on a root.
    pub(super) fn wait_for_root(
        &self,
        generation: u64,
    ) -> Result<MutexGuard<'_, Vault>, StorageError> {
        loop {
            let vault = self.server.vault();
            let is_locked =
                vault.generations.get(&generation).is_some_and(|it| it.locked_by.is_some());
            if !is_locked {
                return Ok(vault);
            }
            if self.network.is_scheduled() {
                drop(vault);
                self.before(Operation::Wait)?;
            } else {
                let woken = self.server.unlocked.wait_timeout(vault, LOCK_TIMEOUT);
                if woken.is_ok_and(|(_, waited)| waited.timed_out()) {
                    return Err(StorageError::Unavailable("a lock was not released".into()));
                }
            }
        }
    }
}

/// A lock is held for one transaction of a session, which waits for nothing. So this long means a deadlock.
const LOCK_TIMEOUT: Duration = Duration::from_secs(60);
