//! A store that other hosts use at the same time.
//!
//! A session keeps the last root that it has seen, and everything it has read below it. Each reading call first asks the
//! engine what has changed since ([`refresh`]). A changing call runs on what is known and submits a batch that
//! expects this root: if another host was faster, the batch is refused, the session catches up and the call runs again, from
//! the third time on while the root is locked (`locked.rs`). What cannot be learned from a lost connection is
//! found out or reported, never guessed (`outcome.rs`).
//!
//! A local store goes the same way. Its engine has no other hosts, so nothing is ever new, and no batch is overtaken.
//!
//! Nodes are compared with the tags of their references. So a node of another state than the root's never counts: it is a
//! reason to catch up. Only if the root is still the same afterwards, the node was damaged or tampered with.

mod catching_up;
mod locked;
mod outcome;
mod switch;

use std::cell::Cell;

use crate::session::clock::now;
use crate::session::error::StoreError;
use crate::session::open::Open;
use crate::session::open::state::State;
use crate::session::sync::{RwLock, read};
use inmost_format::record::Tag;
use inmost_format::record::node::Writer;

pub(crate) use self::catching_up::{
    At, CATCHES, Confirmed, MOVING, Seen, check_order, confirm, on_version, pull_all, refresh,
};
pub(crate) use self::locked::{read_newest, read_snapshot, store_locked};
pub(crate) use self::outcome::{Applied, Stored, apply};
pub(crate) use self::switch::{WriteGeneration, renew_lease, switch};

/// Whether another host can be faster than a call of this session, so that the call has to run again.
pub(crate) fn can_be_overtaken(state: &RwLock<State>) -> bool {
    read(state).open().is_ok_and(|open| open.pulled.is_some())
}

/// Whether a session can go on after a commit has failed with this error. On a full disk nothing has changed. What a server did is
/// learned from the server. A local engine that failed otherwise tells nothing before it is opened again.
pub(crate) fn outlives(state: &RwLock<State>, error: &StoreError) -> bool {
    matches!(error, StoreError::DiskFull)
        || read(state).open().map_or(true, |open| open.pulled.is_some())
}

/// Whether a header is written before the root that names it, and not in one step with it.
pub(crate) fn header_goes_first(open: &Open) -> bool {
    open.storage().shared().is_none()
}

/// Whether the session of another host may still be writing what it has begun. On a local store it is gone.
pub(crate) fn is_being_written(open: &Open, writer: Writer) -> bool {
    open.pulled.is_some()
        && writer.session != open.number()
        && now().abs_diff(writer.time) < WRITER_GONE
}

/// How long, in milliseconds, another host may take between two steps of a long write, before its object is removed as that of
/// a host that is gone. The clocks of the hosts may differ by less than that.
const WRITER_GONE: u64 = 60 * 60 * 1_000;

/// The root that a step must find, and whether a step has found another one.
#[derive(Default)]
pub(crate) struct Pin {
    root: Cell<Option<Tag>>,
    is_disturbed: Cell<bool>,
}

impl Pin {
    /// Expects the newest root in the next step. Nobody disturbs the steps on a local store.
    pub(crate) fn set(&self, state: &RwLock<State>) -> Result<(), StoreError> {
        refresh(state)?;
        let state = read(state);
        let open = state.open()?;
        self.root.set(open.root_tag().filter(|_| open.pulled.is_some()));
        Ok(())
    }

    /// # Errors
    /// [`StoreError::Unavailable`] if another root is expected.
    pub(crate) fn check(&self, found: Option<Tag>) -> Result<(), StoreError> {
        if self.root.get().is_none() || self.root.get() == found {
            return Ok(());
        }
        self.is_disturbed.set(true);
        Err(StoreError::Unavailable("other hosts keep changing the store".to_owned()))
    }

    /// Expects the root of this session's own step from now on.
    pub(crate) fn advance(&self, root: Option<Tag>) {
        if self.root.get().is_some() {
            self.root.set(root);
        }
    }

    pub(crate) fn is_disturbed(&self) -> bool {
        self.is_disturbed.get()
    }
}
