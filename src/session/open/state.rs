//! Whether a session can be used.

use std::sync::RwLock;

use super::Open;
use crate::session::error::StoreError;
use crate::session::sync::write;

/// Whether the session is unlocked, locked or halted.
pub(crate) enum State {
    /// Unlocked.
    Open(Box<Open>),
    /// Locked by a call or by the idle lock.
    Locked,
    /// A commit failed. The state on disk is unknown, so nothing is returned from memory either.
    Halted,
}

impl State {
    pub(crate) fn open(&self) -> Result<&Open, StoreError> {
        match self {
            Self::Open(open) => Ok(open),
            Self::Locked => Err(StoreError::Locked),
            Self::Halted => Err(StoreError::Halted),
        }
    }

    pub(crate) fn open_mut(&mut self) -> Result<&mut Open, StoreError> {
        match self {
            Self::Open(open) => Ok(open),
            Self::Locked => Err(StoreError::Locked),
            Self::Halted => Err(StoreError::Halted),
        }
    }
}

/// Halts a session after a failed commit, for reads too.
pub(crate) fn halt(state: &RwLock<State>) {
    let mut state = write(state);
    if matches!(*state, State::Open(_)) {
        *state = State::Halted;
    }
}
