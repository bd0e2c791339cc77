//! The hint that a store uses much more disk space than it needs.

use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use etcetera::BaseStrategy;

use crate::store::OpenStore;
use crate::{display, host_files, streams};

/// Prints one line to a person at the terminal, at most once a day for a store. Asks nothing, and does nothing without a
/// terminal.
pub(crate) fn print(store: &OpenStore, place: &Path) {
    // If the size cannot be determined, the command must still run.
    if !streams::is_attended() || !store.compaction_due().unwrap_or(false) {
        return;
    }
    let Ok(status) = store.status() else { return };
    // Without a state folder there is no hint, because it would come with every command.
    let Some(note) = note(place) else { return };
    if is_recent(&note) || write(&note).is_none() {
        return;
    }
    streams::hint(&format!(
        "The store uses {} on disk, much more than its content needs: `inmost compact` frees the rest.",
        display::size(status.disk_bytes)
    ));
}

/// The file that remembers when the hint was given. Its name does not tell where the store is. Reading a store must write
/// nothing to its own folder.
fn note(place: &Path) -> Option<PathBuf> {
    let folders = etcetera::choose_base_strategy().ok()?;
    // Windows has no folder for state.
    let state = folders.state_dir().unwrap_or_else(|| folders.cache_dir());
    let mut hash = DefaultHasher::new();
    place.canonicalize().ok()?.hash(&mut hash);
    Some(state.join("inmost").join(format!("compact-hint-{:016x}", hash.finish())))
}

fn is_recent(note: &Path) -> bool {
    let written = fs::metadata(note).and_then(|note| note.modified());
    written.is_ok_and(|at| SystemTime::now().duration_since(at).is_ok_and(|age| age < DAY))
}

/// `None` if the day cannot be remembered: then there is no hint, because it would come with every command.
fn write(note: &Path) -> Option<()> {
    host_files::make_folder(note.parent()?).ok()?;
    let _ = fs::remove_file(note);
    host_files::create(note).ok().map(drop)
}

const DAY: Duration = Duration::from_secs(86_400);
