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
    /// A commit failed. The state on disk is unknown, so nothing is returned from memory either.
    Halted(Halt),
}

/// Why a session is halted.
#[derive(Clone)]
pub(crate) enum Halt {
    /// A commit failed.
    Failed,
    /// Another program has changed the store's files. The text says which.
    Replaced(String),
}

impl Halt {
    fn of(error: &StoreError) -> Self {
        match error {
            StoreError::FilesReplaced(what) => Self::Replaced(what.clone()),
            _ => Self::Failed,
        }
    }

    pub(crate) fn error(&self) -> StoreError {
        match self {
            Self::Failed => StoreError::Halted,
            Self::Replaced(what) => StoreError::FilesReplaced(what.clone()),
        }
    }
}

impl State {
    pub(crate) fn open(&self) -> Result<&Open, StoreError> {
        match self {
            Self::Open(open) => Ok(open),
            Self::Locked => Err(StoreError::Locked),
            Self::Halted(why) => Err(why.error()),
        }
    }

    pub(crate) fn open_mut(&mut self) -> Result<&mut Open, StoreError> {
        match self {
            Self::Open(open) => Ok(open),
            Self::Locked => Err(StoreError::Locked),
            Self::Halted(why) => Err(why.error()),
        }
    }
}

/// Halts a session after a commit that failed with this error, for reads too.
pub(crate) fn halt(state: &RwLock<State>, error: &StoreError) {
    let mut state = write(state);
    if matches!(*state, State::Open(_)) {
        *state = State::Halted(Halt::of(error));
    }
}
