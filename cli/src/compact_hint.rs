//! The hint that a store uses much more disk space than it needs.

use crate::store::OpenStore;
use crate::{display, streams};

/// Prints one line to a person at the terminal. Asks nothing, and does nothing without a terminal.
pub(crate) fn print(store: &OpenStore) {
    // If the size cannot be determined, the command must still run.
    if !streams::is_attended() || !store.compaction_due().unwrap_or(false) {
        return;
    }
    if let Ok(status) = store.status() {
        streams::hint(&format!(
            "The store uses {} on disk, much more than its content needs: `inmost compact` frees the rest.",
            display::size(status.disk_bytes)
        ));
    }
}
