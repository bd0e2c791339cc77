//! The offer to compact a store that uses much more disk space than it needs.

use crate::confirm;
use crate::exit::Failure;
use crate::progress::Progress;
use crate::store::OpenStore;
use crate::streams;
use crate::terminal::Terminal;

/// Asks a person at the terminal, and compacts the store if they agree. Does nothing without a terminal.
pub(crate) fn make(store: &OpenStore) -> Result<(), Failure> {
    // If the size cannot be determined, the command must still run.
    if !streams::is_attended() || !store.compaction_due().unwrap_or(false) {
        return Ok(());
    }
    let Ok(mut terminal) = Terminal::open() else { return Ok(()) };
    let bytes = store.status()?.disk_bytes;
    terminal.print(&format!(
        "The store uses {bytes} bytes on disk, more than three times the size of its content.\n\
         Compacting rewrites it, and removes deleted text from its files.\n"
    ))?;
    if !confirm::yes_or_no(&mut terminal, "Compact it now? [y/N] ")? {
        return Ok(());
    }
    let mut progress = Progress::new("records written");
    store.purge(|records| progress.update(records))?;
    drop(progress);
    terminal.print(&format!("The store uses {} bytes now.\n", store.status()?.disk_bytes))
}
