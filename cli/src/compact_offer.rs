//! The offer to compact a store, made when it is opened by a person and takes far more room than it needs.

use crate::exit::Failure;
use crate::progress::Progress;
use crate::store::OpenStore;
use crate::streams;
use crate::terminal::Terminal;

/// Asks, and does it if that is what they want. Nobody is asked where nobody is.
pub(crate) fn make(store: &OpenStore) -> Result<(), Failure> {
    // What keeps the size from being known must not keep a person from the rest of the store.
    if !streams::is_attended() || !store.compaction_due().unwrap_or(false) {
        return Ok(());
    }
    let Ok(mut terminal) = Terminal::open() else { return Ok(()) };
    let bytes = store.status()?.disk_bytes;
    terminal.say(&format!(
        "The store takes {bytes} bytes on disk, over three times of what it holds.\n\
         Compacting it writes it anew; what was deleted is gone from its files then.\n"
    ))?;
    let answer = terminal.ask_openly("Compact it now? [y/N] ")?;
    if !matches!(answer.as_deref(), Some("y" | "Y" | "yes")) {
        return Ok(());
    }
    let mut progress = Progress::new("records written");
    store.purge(|records| progress.update(records))?;
    drop(progress);
    terminal.say(&format!("It takes {} bytes now.\n", store.status()?.disk_bytes))
}
