//! `inmost rm`

use inmost::{VersionKind, VersionQuery};

use crate::args::{ActorArgs, StoreArgs};
use crate::exit::Failure;
use crate::output::print;
use crate::store::OpenStore;
use crate::store::opening::OpenOptions;
use crate::{display, times};

/// Delete a file of the memory, or a folder with everything below it
///
/// While the history is on, the text can come back for its time; then a line says until when, and how to end that.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  inmost rm --store notes.inmost /memories/old")]
pub(crate) struct Rm {
    #[command(flatten)]
    store: StoreArgs,

    #[command(flatten)]
    actor: ActorArgs,

    /// The file or folder
    path: String,
}

impl Rm {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let store = self
            .store
            .open(&OpenOptions { actor: self.actor.actor(), ..OpenOptions::default() })?;
        store.files().remove(&self.path).map_err(|error| Failure::at(&self.path, error))?;
        // The deletion is done: a history that cannot be read must not make it look as if it had failed.
        let note = self.note(&store).unwrap_or_default();
        drop(store);
        print(note.as_bytes())
    }

    /// Says until when the text can come back; `None` if the store keeps no versions.
    fn note(&self, store: &OpenStore) -> Option<String> {
        let history = store.history();
        let time = history.status().ok()?.settings.time()?;
        let query = VersionQuery::all().path(&self.path).kind(VersionKind::Deleted);
        let version = history.page(&query, None, 1).ok()?.items.pop()?;
        let until = version.time.checked_add(time).unwrap_or(version.time);
        Some(format!(
            "`inmost restore {}` brings it back until {}. `inmost forget {}` ends that.\n",
            version.number,
            times::local_minute(until),
            display::path(&self.path)
        ))
    }
}
