//! `inmost backup`

use std::path::PathBuf;

use crate::args::StoreArgs;
use crate::exit::Failure;
use crate::output::print;
use crate::passphrase::Input;
use crate::progress::Progress;
use crate::store::place;

/// Write a consistent copy of a store to a new folder
///
/// The copy is a store itself and opens with the passphrase that this one has now. Later changes of the
/// passphrase and purges do not reach it.
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  inmost backup --store notes.inmost backups/notes-monday.inmost"
)]
pub(crate) struct Backup {
    #[command(flatten)]
    store: StoreArgs,

    /// Folder of the copy, which must not be there
    #[arg(value_name = "DEST")]
    to: PathBuf,
}

impl Backup {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        place::check_vacant(&self.to)?;
        place::check_parent(&self.to)?;
        if place::is_inside(&self.to, &self.store.place()?) {
            return Err(Failure::usage(
                "The copy would be in the folder of the store itself.",
                "Choose a place elsewhere, best on another disk.",
            ));
        }
        let files = self.store.with_store(Input::Free, |store| {
            let mut progress = Progress::new("records written");
            store.backup(&self.to, |records| progress.update(records))?;
            Ok(store.status()?.files)
        })?;
        let files = crate::display::count(files, "file", "files");
        let text = format!(
            "Copied {files} to {}\nThe copy opens with the passphrase that the store has now.\n",
            self.to.display()
        );
        print(text.as_bytes())
    }
}
