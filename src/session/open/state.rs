//! Whether a session can be used.

use super::Open;
use crate::session::error::StoreError;
use crate::session::sync::{RwLock, write};

/// Whether the session is unlocked, locked or halted.
pub(crate) enum State {
    /// Unlocked.
    Open(Box<Open>),
    /// Locked by a call or by the idle lock.
    Locked,
    /// A commit failed. The state on disk is unknown, so nothing is returned from memory either. If another program has changed
    /// the store's files, the text says which.
    Halted(Option<String>),
}

impl State {
    pub(crate) fn open(&self) -> Result<&Open, StoreError> {
        match self {
            Self::Open(open) => Ok(open),
            Self::Locked => Err(StoreError::Locked),
            Self::Halted(why) => Err(halted(why.as_deref())),
        }
    }

    pub(crate) fn open_mut(&mut self) -> Result<&mut Open, StoreError> {
        match self {
            Self::Open(open) => Ok(open),
            Self::Locked => Err(StoreError::Locked),
            Self::Halted(why) => Err(halted(why.as_deref())),
        }
    }
}

/// The error of a call on a session that is halted.
pub(crate) fn halted(replaced: Option<&str>) -> StoreError {
    replaced.map_or(StoreError::Halted, |what| StoreError::FilesReplaced(what.to_owned()))
}

/// Halts a session after a commit that failed with this error, for reads too.
pub(crate) fn halt(state: &RwLock<State>, error: &StoreError) {
    let mut state = write(state);
    if matches!(*state, State::Open(_)) {
        *state = State::Halted(match error {
            StoreError::FilesReplaced(what) => Some(what.clone()),
            _ => None,
        });
    }
}
