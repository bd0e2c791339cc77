//! Why there is no store to work on.

use inmost::StoreError;

use crate::exit::{Exit, Failure};

/// The reason as an agent learns it.
#[derive(Clone, Copy)]
pub(crate) enum NoStore {
    /// It is locked, and the user can unlock it.
    Locked,
    Unavailable,
}

impl NoStore {
    /// The reason why the store could not be opened.
    pub(crate) fn of(failure: &Failure) -> Self {
        match failure {
            Failure::Error { exit: Exit::Locked, .. } => Self::Locked,
            _ => Self::Unavailable,
        }
    }
}

impl From<NoStore> for StoreError {
    fn from(no_store: NoStore) -> Self {
        match no_store {
            NoStore::Locked => Self::Locked,
            NoStore::Unavailable => Self::Halted,
        }
    }
}
