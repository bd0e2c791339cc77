//! An unlocked store, shared by any number of threads.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock};

use super::anchor::AnchorStatus;
use super::error::StoreError;
use super::group_commit::CommitDelay;
use super::idle::Idle;
use super::open::Open;
use super::options::StorageEngine;
use super::queue::{Progress, Queue};
use inmost_format::crypto::cost::KdfCost;
use inmost_format::secret::{Protections, protections};

/// An unlocked store: a cheap handle that clones and threads share.
///
/// Calls from many threads are put in order; each is one atomic step, durable before it is acknowledged,
/// and several waiting ones share a sync: whoever leads them waits for those who are expected back, up to half as long as
/// the last group took to be stored, 5 ms at most. [`lock`](Session::lock), or dropping the last handle, wipes the
/// keys and everything that was decrypted.
#[derive(Clone)]
pub struct Session {
    pub(super) shared: Arc<Shared>,
}

/// The order in which locks are taken: leadership in `progress`, then `queue`, then `state`.
pub(super) struct Shared {
    pub(super) state: RwLock<State>,
    pub(super) queue: Mutex<Queue>,
    pub(super) progress: Mutex<Progress>,
    pub(super) commit_delay: CommitDelay,
    pub(super) finished: Condvar,
    pub(super) idle: Idle,
}

/// Whether keys are there to work with.
pub(super) enum State {
    /// Unlocked.
    Open(Box<Open>),
    /// Locked on purpose.
    Locked,
    /// A commit failed: what is on disk is not known, so nothing is answered from memory either.
    Halted,
}

impl State {
    pub(super) fn open(&self) -> Result<&Open, StoreError> {
        match self {
            Self::Open(open) => Ok(open),
            Self::Locked => Err(StoreError::Locked),
            Self::Halted => Err(StoreError::Halted),
        }
    }

    pub(super) fn open_mut(&mut self) -> Result<&mut Open, StoreError> {
        match self {
            Self::Open(open) => Ok(open),
            Self::Locked => Err(StoreError::Locked),
            Self::Halted => Err(StoreError::Halted),
        }
    }
}

/// What a session can say of itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SessionStatus {
    /// Files in the store.
    pub files: u64,
    /// Bytes of text in the store.
    pub bytes: u64,
    /// Commits since the store was made.
    pub commit: u64,
    /// Bytes that the engine takes on disk.
    pub disk_bytes: u64,
    /// What the records are kept in; none in memory.
    pub engine: Option<StorageEngine>,
    /// What keeps the keys from swap and dumps.
    pub protections: Protections,
    /// What one guess at a passphrase of the store costs, where it is cheapest; none in memory.
    pub kdf_cost: Option<KdfCost>,
    /// How far the freshness of the store is known.
    pub anchor: AnchorStatus,
}

impl Session {
    pub(super) fn new(open: Open) -> Self {
        let shared = Shared {
            state: RwLock::new(State::Open(Box::new(open))),
            queue: Mutex::new(Queue::default()),
            progress: Mutex::new(Progress::default()),
            commit_delay: CommitDelay::default(),
            finished: Condvar::new(),
            idle: Idle::new(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Locks the store: calls under way finish, then keys and caches are wiped and the engine is closed.
    /// Every handle of this session answers [`StoreError::Locked`] from then on.
    pub fn lock(&self) {
        let end = || std::mem::replace(&mut *write(&self.shared.state), State::Locked);
        // Whoever waits for a commit gets it first, and no call slips in between.
        let before = self.exclusive::<_, StoreError>(|_| Ok(end())).unwrap_or_else(|_| end());
        if let State::Open(open) = before {
            // What was acknowledged is synced already, so a close that fails loses nothing.
            let _ = open.close();
        }
    }

    /// Whether the session is locked, or halted after a failed commit.
    #[must_use]
    pub fn is_locked(&self) -> bool {
        !matches!(*read(&self.shared.state), State::Open(_))
    }

    /// Counts and sizes. Asking is no use of the session: [`idle_lock`](crate::SessionOptions::idle_lock) comes all the same.
    ///
    /// # Errors
    /// [`StoreError::Locked`], [`StoreError::Halted`], or the engine's failure to tell its size.
    pub fn status(&self) -> Result<SessionStatus, StoreError> {
        let state = read(&self.shared.state);
        let open = state.open()?;
        let root = open.root();
        Ok(SessionStatus {
            files: root.files,
            bytes: root.bytes,
            commit: root.commit,
            disk_bytes: open.engine().size()?,
            engine: open.keys().and_then(|keys| StorageEngine::of(keys.header().engine())),
            protections: protections(),
            kdf_cost: open.kdf_cost(),
            anchor: open.anchor_status(),
        })
    }

    /// Runs `work` on the committed state, which does not change meanwhile.
    pub(crate) fn read<T, E: From<StoreError>>(
        &self,
        work: impl FnOnce(&Open) -> Result<T, E>,
    ) -> Result<T, E> {
        let _call = self.shared.idle.begin();
        let state = read(&self.shared.state);
        work(state.open()?)
    }
}

// A thread that panicked inside a call left nothing half done: its overlay was dropped with it. So the locks it
// poisoned are as good as ever.

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) fn read<T>(lock: &RwLock<T>) -> std::sync::RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

pub(super) fn write<T>(lock: &RwLock<T>) -> std::sync::RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}
