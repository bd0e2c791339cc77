//! What a store that several hosts use at once needs besides.

use crate::{Address, Batch, Engine, Storage, StorageError};

/// A generation that several hosts may have open at once.
///
/// Another host may change it at any time, so [`StorageError::Conflict`] is normal. [`apply`](Engine::apply) and
/// [`commit`](Self::commit) are durable when they return, and [`sync`](Engine::sync) does nothing. A failed call poisons nothing:
/// the next one reconnects.
pub trait SharedEngine: Engine {
    /// Applies the whole batch or nothing. [`apply`](Engine::apply) is a commit of revision 0, without trail and header.
    fn commit(&self, batch: &SharedBatch) -> Result<(), StorageError>;

    /// Returns what has changed since a session saw the generation, in one round trip and as one snapshot.
    ///
    /// # Errors
    /// [`StorageError::Unavailable`]. Never [`StorageError::Unknown`]: it changes nothing, so the engine retries on a fresh
    /// connection, once.
    fn pull(&self, known: &Known<'_>, limit: Limit) -> Result<Pull, StorageError>;

    /// Returns the trails of roots of the store, in the order of their commit numbers: the last one whose number is not above
    /// `since`, and those after it that are not above `until`.
    ///
    /// # Errors
    /// As [`pull`](Self::pull).
    fn trails(&self, since: u64, until: u64) -> Result<Vec<Vec<u8>>, StorageError>;

    /// Begins a transaction. What it returns is the generation as the transaction sees it; see [`Access`]. Only `get_many`,
    /// `scan`, `pull`, `trails` and, with [`Access::Locked`], one `apply` or `commit` work on it. That call ends the transaction,
    /// also if it is refused. `discard`, `close` and dropping roll back what was not applied.
    ///
    /// # Errors
    /// [`StorageError::Unavailable`], also in a transaction, which is the default.
    fn begin(
        &self,
        _access: Access,
        _root: &Address,
    ) -> Result<Box<dyn SharedEngine>, StorageError> {
        Err(StorageError::Unavailable("a transaction begins no other".into()))
    }
}

/// An atomic change to a shared generation, and to the header of its store.
#[derive(Clone, Default)]
pub struct SharedBatch {
    /// The changed records. A local engine takes these alone.
    pub records: Batch,
    /// The number of the commit. The engine keeps it with each record that is written, for [`pull`](SharedEngine::pull).
    pub revision: u64,
    /// How the root follows earlier ones: [`limits::TRAIL_BYTES`](crate::limits::TRAIL_BYTES) bytes, in the clear, for
    /// [`trails`](SharedEngine::trails). Only in a commit that makes a root the newest of the store.
    pub trail: Option<Vec<u8>>,
    /// The header to put in the place of the store's header in the same step.
    pub header: Option<HeaderChange>,
}

impl From<Batch> for SharedBatch {
    fn from(records: Batch) -> Self {
        Self { records, ..Self::default() }
    }
}

/// The place of a store that several hosts use at once, each with a value of this type. Then the methods of [`Storage`] differ
/// as follows.
///
/// - There is one header. It is copy A; copy B does not exist, and writing it does nothing. `write_header` creates the header,
///   which names the generation that this value created last, and whose lease then ends. It fails with
///   [`std::io::ErrorKind::AlreadyExists`] if there is another header. It changes by [`SharedBatch::header`] only.
/// - There is no anchor and no note of a rewrite: both read as `None`, and writing them does nothing.
/// - Nothing is set aside: `set_aside` fails with [`StorageError::Unavailable`].
/// - `create_generation` takes a lease on the generation, and replaces one that a dead host left: one that the header does not
///   name and whose lease is over.
/// - Engines are [`SharedEngine`]s. A generation is open at any number of hosts at once.
/// - Every method may return [`StorageError::Unavailable`].
pub trait SharedStorage: Storage {
    /// Returns how many calls this program can make at once, of which an open transaction is one. The default has no bound.
    fn most_connections(&self) -> usize {
        usize::MAX
    }

    /// Extends the lease of this value on a generation that it creates, by [`limits::LEASE`](crate::limits::LEASE) from now on,
    /// by the clock of the server.
    ///
    /// # Errors
    /// [`StorageError::Missing`] if the lease was over and another host removed or replaced the generation: what was written
    /// is lost.
    fn renew_lease(&self, generation: u64) -> Result<(), StorageError>;

    /// Removes the generations that the header does not name and whose lease is over or was taken by this value, in steps if
    /// they are large. Without a header it removes nothing.
    fn remove_leftovers(&self) -> Result<(), StorageError>;

    /// Returns the newest records of a generation, if opening this value has read them along with the header, and forgets
    /// them. They may be out of date by now. `known` for such a delta is [`Known::nothing`]. The default has read none.
    fn take_prefetched(&self, _generation: u64) -> Option<Delta> {
        None
    }
}

/// A new header for the store, as part of a [`SharedBatch`].
///
/// The header and the records of the batch change together, or neither does. The engine refuses the whole batch with
/// [`StorageError::Conflict`](crate::StorageError::Conflict) if the store has another header than `expect`.
#[derive(Clone, PartialEq, Eq)]
pub struct HeaderChange {
    /// The header as the writer last saw it, all of its bytes.
    pub expect: Vec<u8>,
    /// The new header.
    pub next: Vec<u8>,
    /// The generation that the new header names. If it is another one than that of the batch, then this is the end of a
    /// rewrite: the batch deletes the root of the old generation, so that every other host's next batch is refused, and the
    /// lease on the new generation ends.
    pub generation: u64,
    /// The revision of the new header.
    pub revision: u64,
}

/// Why a host cannot go on with a generation that it writes: its lease was over, and another host removed the generation.
pub const LEASE_LOST: &str =
    "the new records stood still for a minute, so another host removed them";

/// What a session knows about a generation when it pulls.
#[derive(Clone, Copy)]
pub struct Known<'a> {
    /// The address of the root.
    pub root: Address,
    /// The root's value as the session last saw it; `None` if it has seen none.
    pub root_value: Option<&'a [u8]>,
    /// The revision of that root: the session wants the records that later commits wrote.
    pub revision: u64,
}

impl Known<'_> {
    /// Nothing: the pull returns the newest records, whatever their revision.
    #[must_use]
    pub const fn nothing(root: Address) -> Self {
        Self { root, root_value: None, revision: 0 }
    }
}

/// Bounds of one [`pull`](SharedEngine::pull). The root does not count.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    /// The most records.
    pub records: usize,
    /// The most bytes of values.
    pub bytes: usize,
}

/// What a session has missed.
#[derive(Debug)]
pub enum Pull {
    /// The store's header names this generation, and its root is the known one, byte for byte.
    Unchanged,
    /// Anything else. The root may be newer, older, or another one of the same revision: only the session, which has the keys,
    /// can tell. So the engine compares values and not revisions.
    Changed(Delta),
}

/// The present root, and records that were written since.
#[derive(Default, Debug)]
pub struct Delta {
    /// The generation that the store's header names now.
    pub generation: u64,
    /// The root of the generation that was asked; `None` if it has none any more, as after a rewrite.
    pub root: Option<Vec<u8>>,
    /// Records of a revision above the known one (all, if no root was known), the newest first, without the root. They and the
    /// root are of one snapshot. A commit rewrites everything that leads to what it changes, so the first rows are a connected
    /// top of the tree. Deleted records do not show: a session notices them because no reference names them.
    pub rows: Vec<(Address, Vec<u8>)>,
    /// Whether the limit has left no row out.
    pub is_complete: bool,
}

/// The kinds of transaction that [`begin`](SharedEngine::begin) offers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// All reads see one state, which is at least as new as every change that was acknowledged before the transaction began.
    Snapshot,
    /// The root's row is locked first: no other host changes the generation until the transaction ends. Waits for the lock,
    /// and for a batch that a lost connection may still commit, within the engine's time limit.
    Locked,
}
