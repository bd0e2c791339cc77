//! What a storage and its engines share: the vault, the leases of this host, and whether the server has vouched for its state.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use inmost_storage::limits::LEASE;
use inmost_storage::{Address, LEASE_LOST, StorageError};
use tokio_postgres::types::Type;

use super::connection::Parameter;
use super::failure::Failure;
use super::pool::Server;
use super::statements;
use super::vault_id::VaultId;

/// What a storage and its engines share.
pub(super) struct Place {
    pub(super) server: Server,
    vault: VaultId,
    /// The leases of this host, by generation.
    leases: Mutex<BTreeMap<i64, Held>>,
    /// Whether the database does not have the address of the root, which speeds the next opening up.
    lacks_root: AtomicBool,
    /// Batches of this host with an unknown outcome, counted.
    unknown: AtomicU64,
    /// How many of them were behind a commit that the server vouched for.
    vouched: AtomicU64,
}

/// A lease of this host on a generation that it writes.
pub(super) struct Held {
    pub(super) lease: Vec<u8>,
    /// `None` in tests, for a lease that is to be renewed.
    pub(super) renewed: Option<Instant>,
}

impl Place {
    pub(super) fn new(server: &Server, vault: VaultId, lacks_root: bool) -> Self {
        Self {
            server: server.clone(),
            vault,
            leases: Mutex::default(),
            lacks_root: AtomicBool::new(lacks_root),
            unknown: AtomicU64::new(0),
            vouched: AtomicU64::new(0),
        }
    }

    /// The name of the vault, as a parameter.
    pub(super) fn vault(&self) -> &[u8] {
        &self.vault.0
    }

    /// The lease of this host on a generation.
    pub(super) fn lease(&self, generation: i64) -> Option<Vec<u8>> {
        self.leases().get(&generation).map(|held| held.lease.clone())
    }

    pub(super) fn begin_lease(&self, generation: i64, lease: Vec<u8>) {
        self.leases().insert(generation, Held { lease, renewed: Some(Instant::now()) });
    }

    /// Renews the lease of this host on a generation, if it has one, and if a part of it is over. A generation that is in use
    /// keeps its lease so, in every phase of a rewrite.
    ///
    /// # Errors
    /// [`StorageError::Unavailable`] if the lease was over and another host removed the generation.
    pub(super) fn keep_lease(&self, generation: i64) -> Result<(), StorageError> {
        let is_over = |held: &Held| held.renewed.is_none_or(|at| at.elapsed() >= LEASE / 4);
        if !self.leases().get(&generation).is_some_and(is_over) {
            return Ok(());
        }
        self.renew_lease(generation).map_err(|error| match error {
            StorageError::Missing => StorageError::Unavailable(LEASE_LOST.into()),
            error => error,
        })
    }

    /// Renews the lease of this host on a generation.
    ///
    /// # Errors
    /// [`StorageError::Missing`] if this host has none, or another host removed the generation.
    pub(super) fn renew_lease(&self, generation: i64) -> Result<(), StorageError> {
        let lease = self.lease(generation).ok_or(StorageError::Missing)?;
        let seconds = LEASE.as_secs_f64();
        let renewed = self.query(
            statements::RENEW_LEASE,
            &[(&generation, Type::INT8), (&lease, Type::BYTEA), (&seconds, Type::FLOAT8)],
        )?;
        if renewed.is_empty() {
            return Err(StorageError::Missing);
        }
        if let Some(held) = self.leases().get_mut(&generation) {
            held.renewed = Some(Instant::now());
        }
        Ok(())
    }

    pub(super) fn end_lease(&self, generation: i64) {
        self.leases().remove(&generation);
    }

    /// Notes the address of the root if the database does not have it, best effort.
    pub(super) fn note_root(&self, number: i64, root: &Address) {
        if self.lacks_root.swap(false, Ordering::SeqCst) {
            let root = root.0.as_slice();
            let _ =
                self.query(statements::NOTE_ROOT, &[(&number, Type::INT8), (&root, Type::BYTEA)]);
        }
    }

    /// Passes the outcome of a batch on. A conflict after an unknown outcome is passed on once the server has vouched for
    /// what it shows.
    ///
    /// A server that restarted, or whose wait for a standby was cancelled, shows commits that no standby has. The session
    /// would find its batch there and report it as stored, and the next failover would lose it.
    pub(super) fn vouched(&self, outcome: Result<(), StorageError>) -> Result<(), StorageError> {
        match outcome {
            Err(StorageError::Unknown(why)) => {
                self.unknown.fetch_add(1, Ordering::SeqCst);
                Err(StorageError::Unknown(why))
            }
            Err(StorageError::Conflict) => self.vouch().and(Err(StorageError::Conflict)),
            outcome => outcome,
        }
    }

    /// Makes the server vouch for what it shows now.
    pub(super) fn vouch_anew(&self) -> Result<(), StorageError> {
        self.unknown.fetch_add(1, Ordering::SeqCst);
        self.vouch()
    }

    fn vouch(&self) -> Result<(), StorageError> {
        let unknown = self.unknown.load(Ordering::SeqCst);
        if self.vouched.load(Ordering::SeqCst) >= unknown {
            return Ok(());
        }
        let vault = self.vault();
        let mut lease = self.server.connection().map_err(Failure::of_commit)?;
        lease.commit(|connection| {
            let done = connection.query(statements::VOUCH, &[(&vault, Type::BYTEA)]);
            done.map(drop).map_err(Failure::of_commit)
        })?;
        self.vouched.fetch_max(unknown, Ordering::SeqCst);
        Ok(())
    }

    pub(super) fn leases(&self) -> MutexGuard<'_, BTreeMap<i64, Held>> {
        self.leases.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a statement that may be repeated. Its first parameter is the vault.
    pub(super) fn query(
        &self,
        statement: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<tokio_postgres::Row>, StorageError> {
        let vault = self.vault();
        let mut all: Vec<Parameter<'_>> = vec![(&vault, Type::BYTEA)];
        all.extend(parameters.iter().map(|(value, kind)| (*value, kind.clone())));
        self.server.read(|connection| connection.query(statement, &all))
    }
}
