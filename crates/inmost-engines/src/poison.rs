//! Stops an engine at its first failed write: what is on disk is then unknown, and later writes could build on it.

use std::sync::atomic::{AtomicBool, Ordering};

use inmost_storage::StorageError;

/// Whether a write has failed.
#[derive(Default)]
pub struct Poison(AtomicBool);

impl Poison {
    /// Fails if a write has failed before.
    pub fn check(&self) -> Result<(), StorageError> {
        if self.0.load(Ordering::SeqCst) { Err(StorageError::Poisoned) } else { Ok(()) }
    }

    /// Passes the result of a write on, and remembers a failure.
    pub fn on_error<T>(&self, result: Result<T, StorageError>) -> Result<T, StorageError> {
        if result.is_err() {
            self.0.store(true, Ordering::SeqCst);
        }
        result
    }
}
