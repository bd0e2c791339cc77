//! The server itself: what it stores, behind a lock.

use std::sync::{Condvar, Mutex, MutexGuard};

use super::super::locked;
use super::vault::Vault;

#[derive(Default)]
pub(super) struct Server {
    vault: Mutex<Vault>,
    /// Notified whenever a lock on a root ends.
    pub(super) unlocked: Condvar,
}

impl Server {
    pub(super) fn vault(&self) -> MutexGuard<'_, Vault> {
        locked(&self.vault)
    }
}
