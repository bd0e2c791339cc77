//! The handle on an unlocked store, which threads share.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, TryLockError};
use std::time::Duration;

use super::delay::CommitDelay;
use super::queue::{Progress, Queue};
use crate::session::anchor::{AnchorStatus, FreshnessMark};
use crate::session::error::StoreError;
use crate::session::idle::{self, Call, Idle};
use crate::session::open::Open;
use crate::session::open::state::{State, halt, halted};
use crate::session::options::Quotas;
use crate::session::options::{SessionOptions, StorageEngine};
use crate::session::shared;
use crate::session::sync::{Condvar, Mutex, MutexGuard, RwLock, lock, read, write};
use crate::session::transaction::caller::Caller;
use inmost_format::crypto::cost::KdfCost;
use inmost_format::record::Sealer;
use inmost_format::record::history::Channel;
use inmost_format::secret::{Process, Protections, protections};
use inmost_storage::{Engine, Storage};

/// An unlocked store: a cheap handle that clones and threads share.
///
/// Calls from many threads run in order. Each is one atomic step, durable before it returns. Calls that wait at the
/// same time share one sync: the first call waits for the expected others for up to half the time that storing the
/// last group took, and for 5 ms at most. [`lock`](Session::lock), or dropping the last handle, wipes the keys and
/// everything that was decrypted.
///
/// A session belongs to the process that opened it. In a child that `fork` makes, every call on it returns
/// [`StoreError::Forked`], and dropping it does nothing. The parent is not affected.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use inmost::{Session, StoreError};
///
/// let session = Session::in_memory()?;
/// session.files().write("/memories/notes.md", "Dig.\n")?;
/// assert_eq!(session.status()?.files, 1);
/// session.lock();
/// assert!(matches!(session.status(), Err(StoreError::Locked)));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Session {
    pub(super) inner: Arc<Inner>,
    /// On whose behalf the handle works.
    pub(super) caller: Caller,
}

/// State shared by the handles. Locks are taken in this order: leadership in `progress`, then `queue`, then `state`.
pub(crate) struct Inner {
    pub(super) state: RwLock<State>,
    pub(super) queue: Mutex<Queue>,
    pub(super) progress: Mutex<Progress>,
    pub(super) commit_delay: CommitDelay,
    pub(super) finished: Condvar,
    pub(super) idle: Idle,
    /// Whether the session was locked, for callers that must not wait for the state.
    is_ended: AtomicBool,
    /// Taken before every other lock. See [`Session::sync_turn`].
    syncing: Mutex<()>,
    /// The process that the session belongs to.
    process: Process,
}

impl Drop for Inner {
    /// In a forked child, drops nothing: the lock of the store, its engine and the locks of other threads are the
    /// parent's, and the keys are not there.
    fn drop(&mut self) {
        if !self.process.is_current() {
            let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
            std::mem::forget(std::mem::replace(state, State::Locked));
            let queue = self.queue.get_mut().unwrap_or_else(PoisonError::into_inner);
            std::mem::forget(std::mem::take(queue));
        }
    }
}

/// Counts and sizes of a session.
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
    /// Bytes that the engine's files occupy on disk. The journal, the headers and the space reserved for deleting on a full disk
    /// are not counted.
    pub disk_bytes: u64,
    /// Bytes of the records that were set aside; see [`Session::set_aside`].
    pub set_aside_bytes: u64,
    /// The engine that stores the records; `None` in memory.
    pub engine: Option<StorageEngine>,
    /// The protections that keep the keys of this session out of swap and core dumps.
    pub protections: Protections,
    /// The cost of one guess at a passphrase, for the cheapest keyslot; `None` in memory.
    pub kdf_cost: Option<KdfCost>,
    /// Whether the freshness of the store is known.
    pub anchor: AnchorStatus,
    /// The most bytes that a file may have.
    pub max_file_bytes: u64,
    /// The most files that the store may have.
    pub max_files: u64,
    /// The most bytes of text that the store may have.
    pub max_bytes: u64,
}

impl Session {
    fn new(open: Open, idle_lock: Option<Duration>) -> Self {
        let inner = Inner {
            state: RwLock::new(State::Open(Box::new(open))),
            queue: Mutex::new(Queue::default()),
            progress: Mutex::new(Progress::default()),
            commit_delay: CommitDelay::default(),
            finished: Condvar::new(),
            idle: Idle::new(idle_lock.unwrap_or(Duration::MAX)),
            is_ended: AtomicBool::new(false),
            syncing: Mutex::new(()),
            process: Process::current(),
        };
        Self { inner: Arc::new(inner), caller: Caller::default() }
    }

    /// The session of an open store, with an idle lock if the options set one. The thread for it ends with the session.
    pub(crate) fn with(open: Open, options: &SessionOptions) -> Result<Self, StoreError> {
        let session = Self::new(open, options.idle_lock);
        if let Some(limit) = options.idle_lock {
            let inner = Arc::downgrade(&session.inner);
            let is_in_use = move || {
                let Some(inner) = inner.upgrade() else { return false };
                let session = Self { inner, caller: Caller::default() };
                let is_over = session.inner.idle.is_over();
                if is_over {
                    session.lock();
                }
                !is_over && !session.is_locked()
            };
            idle::watch(limit, is_in_use).map_err(StoreError::Io)?;
        }
        Ok(session)
    }

    /// Returns a handle whose changes carry this label in the history of the store: who asked for them, such as the name
    /// of an agent. A label is a claim, and no proof. Control characters are left out of it, and it is cut after 64 bytes.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let session = inmost::Session::in_memory()?.acting_as("night-agent");
    /// session.files().write("/memories/notes.md", "Dig.\n")?;
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn acting_as(&self, actor: &str) -> Self {
        Self { inner: Arc::clone(&self.inner), caller: self.caller.named(actor) }
    }

    /// A handle whose changes keep within these quotas too.
    pub(crate) fn within(&self, quotas: Quotas) -> Self {
        Self { inner: Arc::clone(&self.inner), caller: self.caller.within(quotas) }
    }

    /// A handle whose changes come from this part of the program.
    pub(crate) fn through(&self, channel: Channel) -> Self {
        Self { inner: Arc::clone(&self.inner), caller: self.caller.through(channel) }
    }

    /// A handle whose changes show in the history as those of the command-line program. Not for users: without any
    /// promise of semver.
    #[doc(hidden)]
    #[must_use]
    pub fn as_program(&self) -> Self {
        self.through(Channel::Program)
    }

    /// Returns a handle whose readings do not count as use of a file: for an export or an index, which read everything.
    /// See [`Expiry`](crate::Expiry).
    #[must_use]
    pub fn without_recording(&self) -> Self {
        Self { inner: Arc::clone(&self.inner), caller: self.caller.without_readings() }
    }

    /// A handle whose changes leave no text in the history.
    pub(crate) fn without_texts(&self) -> Self {
        Self { inner: Arc::clone(&self.inner), caller: self.caller.without_texts() }
    }

    /// Whether the history keeps the texts that the changes of this handle end.
    pub(crate) fn keeps_texts(&self) -> bool {
        self.caller.keeps_texts()
    }

    /// Whether the readings of this handle count as use of a file.
    pub(crate) fn counts_readings(&self) -> bool {
        self.caller.counts_readings()
    }

    /// A session on a complete generation without its header, only to read it.
    pub(crate) fn of_copy(
        storage: Arc<dyn Storage>,
        engine: Box<dyn Engine>,
        sealer: Sealer,
    ) -> Result<Self, StoreError> {
        // Every read must reach the engine.
        let options = SessionOptions::new().max_cache_bytes(0);
        Open::new(storage, engine, sealer, None, &options).map(|open| Self::new(open, None))
    }

    pub(crate) fn check_process(&self) -> Result<(), StoreError> {
        StoreError::check_process(self.inner.process.is_current())
    }

    /// Waits until nobody else changes the state of synchronisation, through any handle of this session. For the crate
    /// `inmost-sync`: without any promise of semver.
    ///
    /// # Errors
    /// [`StoreError::Forked`].
    #[doc(hidden)]
    pub fn sync_turn(&self) -> Result<MutexGuard<'_, ()>, StoreError> {
        self.check_process()?;
        Ok(lock(&self.inner.syncing))
    }

    /// Locks the store. Calls in progress finish; then keys and caches are wiped and the engine is closed. From then on
    /// every handle of this session returns [`StoreError::Locked`]. In a forked child this does nothing.
    pub fn lock(&self) {
        if self.check_process().is_err() {
            return;
        }
        let _ = self.end();
    }

    /// As [`lock`](Session::lock), and returns whether the files that this session has written are those of the store.
    ///
    /// # Errors
    /// [`StoreError::FilesReplaced`] if not; the session is locked all the same. [`StoreError::Forked`], and then it is not.
    pub fn lock_checking_files(&self) -> Result<(), StoreError> {
        self.check_process()?;
        self.end()
    }

    /// Begins a call. Locks the session instead if it has been unused for too long.
    pub(crate) fn begin_call(&self) -> Result<Call<'_>, StoreError> {
        self.check_process()?;
        self.inner.idle.begin().ok_or_else(|| {
            self.lock();
            StoreError::Locked
        })
    }

    /// As if the machine had been suspended since the last call.
    #[cfg(test)]
    pub(crate) fn suspend(&self, time: Duration) {
        self.inner.idle.suspend(time);
    }

    fn end(&self) -> Result<(), StoreError> {
        // What follows is not refused, even if the session has been unused for too long.
        let _call = self.inner.idle.begin();
        let end = || {
            let mut state = write(&self.inner.state);
            self.inner.is_ended.store(true, Ordering::Release);
            std::mem::replace(&mut *state, State::Locked)
        };
        // Waiting commits finish first, and no call runs in between.
        let before = self.exclusive::<_, StoreError>(|_| Ok(end())).unwrap_or_else(|_| end());
        let closed = match before {
            State::Open(open) => open.close(),
            State::Halted(why) => Err(halted(why.as_deref())),
            State::Locked => Ok(()),
        };
        match closed {
            Err(error @ StoreError::FilesReplaced(_)) => Err(error),
            // Every acknowledged change is already synced, so a failed close loses nothing.
            _ => Ok(()),
        }
    }

    /// Whether the session is locked, or halted after a failed commit, or belongs to the process that this one was forked
    /// from. Does not wait for a call in progress.
    #[must_use]
    pub fn is_locked(&self) -> bool {
        // A rewrite of a vault in a database holds the state while it reports its progress. An interpreter that waited here
        // with its own lock would wait for ever.
        let is_open = match self.inner.state.try_read() {
            Ok(state) => matches!(*state, State::Open(_)),
            Err(TryLockError::Poisoned(state)) => matches!(**state.get_ref(), State::Open(_)),
            Err(TryLockError::WouldBlock) => true,
        };
        self.check_process().is_err() || self.inner.is_ended.load(Ordering::Acquire) || !is_open
    }

    /// Returns counts and sizes. This does not count as use of the session for
    /// [`idle_lock`](crate::SessionOptions::idle_lock).
    ///
    /// # Errors
    /// [`StoreError::Locked`], [`StoreError::Halted`], [`StoreError::FilesReplaced`], [`StoreError::Forked`], or an error when
    /// listing the files of the store.
    pub fn status(&self) -> Result<SessionStatus, StoreError> {
        self.check_process()?;
        let checked = {
            let state = read(&self.inner.state);
            state.open()?.storage().check_files().map_err(StoreError::from)
        };
        checked.inspect_err(|error| halt(&self.inner.state, error))?;
        let state = read(&self.inner.state);
        let open = state.open()?;
        let root = open.root();
        let quotas = self.caller.quotas(*open.quotas());
        Ok(SessionStatus {
            files: root.files,
            bytes: root.bytes,
            commit: root.commit,
            disk_bytes: open.engine().size()?,
            set_aside_bytes: open
                .storage()
                .set_aside_generations()?
                .iter()
                .map(|it| it.bytes)
                .sum(),
            engine: open.keys().and_then(|keys| StorageEngine::of(keys.header().engine())),
            protections: protections().of_keys(open.keys_granted()),
            kdf_cost: open.kdf_cost(),
            anchor: open.anchor_status(),
            max_file_bytes: quotas.file_bytes,
            max_files: quotas.store_files,
            max_bytes: quotas.store_bytes,
        })
    }

    /// Returns the mark of the newest state that this session knows: at least that of its own last change. See
    /// [`VaultOptions::at_least`](crate::VaultOptions::at_least).
    ///
    /// # Errors
    /// [`StoreError::InMemory`] for a store without a header; [`StoreError::Locked`], [`StoreError::Halted`],
    /// [`StoreError::Forked`], [`StoreError::RandomnessFailed`].
    pub fn mark(&self) -> Result<FreshnessMark, StoreError> {
        self.check_process()?;
        let state = read(&self.inner.state);
        let open = state.open()?;
        let (keys, mark) = open.keys().zip(open.mark()).ok_or(StoreError::InMemory)?;
        FreshnessMark::seal(mark, keys)
    }

    /// Runs `work` once, on the state that this session knows. Other hosts may have changed the store meanwhile.
    pub(crate) fn read_once<T, E: From<StoreError>>(
        &self,
        work: impl FnOnce(&Open) -> Result<T, E>,
    ) -> Result<T, E> {
        let _call = self.begin_call()?;
        let state = read(&self.inner.state);
        work(state.open()?)
    }

    /// Runs `work`, which reads every record, on a state that nobody changes meanwhile.
    pub(crate) fn read_everything<T, E: From<StoreError>>(
        &self,
        mut work: impl FnMut(&Open) -> Result<T, E>,
    ) -> Result<T, E> {
        let _call = self.begin_call()?;
        shared::read_snapshot(&self.inner.state, &mut work)
    }

    /// Runs `work` on the committed state, which does not change meanwhile. If other hosts use the store, `work` may run more
    /// than once, and only the last run counts.
    pub(crate) fn read<T, E: From<StoreError>>(
        &self,
        mut work: impl FnMut(&Open) -> Result<T, E>,
    ) -> Result<T, E> {
        let _call = self.begin_call()?;
        shared::read_newest(&self.inner.state, &mut work)
    }

    /// Whether what this session knows is the newest state at any time. If not, a call that only looks at what it knows can be
    /// wrong.
    pub(crate) fn knows_newest(&self) -> bool {
        !shared::can_be_overtaken(&self.inner.state)
    }

    /// Changes what is kept of the state in memory, without a commit.
    pub(crate) fn adjust(&self, change: impl FnOnce(&mut Open)) -> Result<(), StoreError> {
        change(write(&self.inner.state).open_mut()?);
        Ok(())
    }
}
