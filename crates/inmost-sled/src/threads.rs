//! The process in which sled runs.
//!
//! sled has one pool of threads for the process and counts them. A forked child has the count without the threads, so
//! sled would wait there for ever, even for a store that the parent has closed or never had.

use std::sync::atomic::{AtomicU32, Ordering};

use inmost_storage::StorageError;

/// Claims the threads for this process, for good.
///
/// # Errors
/// [`StorageError::Forked`] if a parent of this process has claimed them.
pub(super) fn claim() -> Result<(), StorageError> {
    static OWNER: AtomicU32 = AtomicU32::new(0);
    claim_in(&OWNER, std::process::id())
}

fn claim_in(owner: &AtomicU32, process: u32) -> Result<(), StorageError> {
    match owner.compare_exchange(0, process, Ordering::Relaxed, Ordering::Relaxed) {
        Err(other) if other != process => Err(StorageError::Forked),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_process_keeps_them() {
        let owner = AtomicU32::new(0);
        assert!(claim_in(&owner, 7).is_ok());
        assert!(matches!(claim_in(&owner, 8), Err(StorageError::Forked)));
        assert!(claim_in(&owner, 7).is_ok());
    }
}
