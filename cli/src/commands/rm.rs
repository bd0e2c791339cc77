//! `inmost rm`

use crate::args::StoreArgs;
use crate::exit::Failure;
use crate::store::opening::OpenOptions;

/// Delete a file of the memory, or a folder with everything below it
#[derive(clap::Args)]
#[command(after_help = "Example:\n  inmost rm --store notes.inmost /memories/old")]
pub(crate) struct Rm {
    #[command(flatten)]
    store: StoreArgs,

    /// The file or folder
    path: String,
}

impl Rm {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let store = self.store.open(&OpenOptions::default())?;
        store.files().remove(&self.path).map_err(|error| Failure::at(&self.path, error))
    }
}
