//! `inmost backup`

use std::path::PathBuf;

use crate::args::StoreArgs;
use crate::display;
use crate::exit::Failure;
use crate::output::print;
use crate::progress::Progress;
use crate::store::opening::OpenOptions;
use crate::store::place;

/// Write a consistent copy of a store to a new folder
///
/// The copy is a store of its own and opens with the passphrase that this store has now. Later changes of the
/// passphrase and later purges do not affect the copy.
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  inmost backup --store notes.inmost backups/notes-monday.inmost"
)]
pub(crate) struct Backup {
    #[command(flatten)]
    store: StoreArgs,

    /// Folder of the copy; it must not exist
    #[arg(value_name = "DEST")]
    to: PathBuf,
}

impl Backup {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        place::check_vacant(&self.to)?;
        place::check_parent(&self.to)?;
        if place::is_inside(&self.to, &self.store.place()?) {
            return Err(Failure::usage(
                format!("The folder {} is inside the store.", self.to.display()),
                "Choose a folder outside it, best on another disk.",
            ));
        }
        let files = self.write_copy()?;
        let files = display::count(files, "file", "files");
        let text = format!(
            "Copied {files} to {}\nThe copy opens with the current passphrase of the store.\n",
            self.to.display()
        );
        print(text.as_bytes())
    }

    fn write_copy(&self) -> Result<u64, Failure> {
        let store = self.store.open(&OpenOptions::default())?;
        let mut progress = Progress::new("records written");
        store.backup(&self.to, |records| progress.update(records))?;
        Ok(store.status()?.files)
    }
}
