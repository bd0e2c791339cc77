//! What a store that several hosts use at once needs besides.

use crate::Address;

/// A new header for the store, as part of a [`Batch`](crate::Batch) of a shared engine.
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

/// Bounds of one [`pull`](crate::Engine::pull). The root does not count.
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

/// The kinds of transaction that [`begin`](crate::Engine::begin) offers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// All reads see one state, which is at least as new as every change that was acknowledged before the transaction began.
    Snapshot,
    /// The root's row is locked first: no other host changes the generation until the transaction ends. Waits for the lock,
    /// and for a batch that a lost connection may still commit, within the engine's time limit.
    Locked,
}
