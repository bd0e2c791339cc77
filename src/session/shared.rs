//! A store that other hosts use at the same time.
//!
//! A session keeps the last root that it has seen, and everything it has read below it. Each reading call first asks the
//! engine what has changed since ([`refresh`](Session::refresh)). A changing call runs on what is known and submits a batch that
//! expects this root: if another host was faster, the batch is refused, the session catches up and the call runs again, from
//! the third time on while the root is locked (`calls.rs`, `transaction.rs`). What cannot be learned from a lost connection is
//! found out or reported, never guessed (`outcome.rs`).
//!
//! Nodes are compared with the tags of their references. So a node of another state than the root's never counts: it is a
//! reason to catch up. Only if the root is still the same afterwards, the node was damaged or tampered with.

mod adopt;
mod calls;
mod outcome;
mod runs;
mod sealed_cache;
mod store_group;
mod switch;
mod transaction;
mod unlock;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use self::adopt::Caught;
use self::sealed_cache::SealedCache;
use self::transaction::MOVING;
use crate::session::commit::handle::Session;
use crate::session::error::StoreError;
use crate::session::open::state::State;
use crate::session::open::{self, Open};
use crate::session::sync::{read, write};
use inmost_format::record::{Node, RecordError, RecordId, Tag};
use inmost_storage::Address;

pub(crate) use self::calls::Pin;
pub(crate) use self::store_group::Refusal;
pub(crate) use self::switch::{NewGeneration, is_taken, renew_lease};

/// What a session keeps because other hosts change the store too.
pub(super) struct Hosts {
    /// Grows with every new root, of this host or another. A group of changes is only good for the version it was made on.
    pub(super) version: u64,
    /// Commits of other hosts, or several at once, that the session has taken over.
    adopted: u64,
    /// Sealed records that came with a pull, as they were stored.
    sealed: SealedCache,
    /// Nodes that were not those that their references mean.
    mismatches: AtomicU64,
    /// How long to look for the server after a connection was lost.
    outcome_timeout: Duration,
}

impl Hosts {
    pub(super) fn new(outcome_timeout: Duration) -> Self {
        let sealed = SealedCache::default();
        Self { version: 0, adopted: 0, sealed, mismatches: AtomicU64::new(0), outcome_timeout }
    }

    /// A record that came with a pull, as it was stored.
    pub(super) fn pulled(&self, address: &Address) -> Option<Arc<[u8]>> {
        self.sealed.get(address)
    }

    pub(super) fn outcome_timeout(&self) -> Duration {
        self.outcome_timeout
    }
}

impl Open {
    /// The version of the state; always 0 if no other host can change it.
    pub(super) fn version(&self) -> u64 {
        self.hosts.as_ref().map_or(0, |hosts| hosts.version)
    }

    /// Reads a record of a shared store: what a pull has brought, or what the engine has. Also returns the length of its
    /// encoded node.
    pub(super) fn fetch_shared(
        &self,
        hosts: &Hosts,
        id: RecordId,
        tag: &Tag,
    ) -> Result<(Node, usize), RecordError> {
        let address = self.sealer.address(id);
        if let Some(value) = hosts.pulled(&address)
            && let Ok(opened) = self.sealer.open_at(&address, id, value.to_vec(), tag)
        {
            return Ok(opened);
        }
        let fetched = open::fetch(&*self.engine, &self.sealer, id, tag);
        if matches!(fetched, Err(RecordError::Damaged { .. })) {
            hosts.mismatches.fetch_add(1, Ordering::Relaxed);
        }
        fetched
    }
}

impl Session {
    /// Whether other hosts may use the store at the same time.
    pub(crate) fn is_shared(&self) -> bool {
        self.shared.has_hosts
    }

    /// Learns what other hosts have committed. From here on the session is at least at the state that the store had when this
    /// was called. Returns its version.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`]; [`StoreError::RolledBack`] if the store went back behind what this session saw;
    /// [`StoreError::Locked`] if the keys of the store were rotated.
    pub(super) fn refresh(&self) -> Result<u64, StoreError> {
        for _ in 0..CATCHES {
            let (pull, seen) = {
                let state = read(&self.shared.state);
                let open = state.open()?;
                let Some(pull) = open.pull()? else { return Ok(open.version()) };
                (pull, open.seen())
            };
            let mut state = write(&self.shared.state);
            match state.open_mut()?.catch_up(pull, &seen) {
                Ok(Caught::Up) => return Ok(state.open()?.version()),
                Ok(Caught::Moving) => {}
                Err(StoreError::Locked) => {
                    // The keys in hand open nothing any more.
                    *state = State::Locked;
                    return Err(StoreError::Locked);
                }
                Err(error) => return Err(error),
            }
        }
        Err(StoreError::Unavailable(MOVING.to_owned()))
    }

    /// Runs a call that only reads, on a state that is not older than the call.
    pub(super) fn read_shared<T, E: From<StoreError>>(
        &self,
        work: &mut impl FnMut(&Open) -> Result<T, E>,
    ) -> Result<T, E> {
        self.refresh()?;
        for _ in 0..READS {
            let (version, result, is_whole) = {
                let state = read(&self.shared.state);
                let open = state.open()?;
                let before = open.mismatches();
                let result = work(open);
                (open.version(), result, open.mismatches() == before)
            };
            if is_whole || self.refresh()? == version {
                return result;
            }
        }
        self.read_snapshot(work)
    }
}

impl Open {
    /// Forgets what pulls have brought, for a generation that is used no more.
    fn forget_sealed(&self) {
        if let Some(hosts) = &self.hosts {
            hosts.sealed.clear();
        }
    }

    fn mismatches(&self) -> u64 {
        self.hosts.as_ref().map_or(0, |hosts| hosts.mismatches.load(Ordering::Relaxed))
    }
}

/// Attempts of a read on a state that may change meanwhile. A writer that changes what it reads again and again makes it use a
/// snapshot.
const READS: usize = 3;
/// Attempts to get a header and the root that names it. Each failure needs another host that changes keyslots or keys just then.
const CATCHES: usize = 8;
