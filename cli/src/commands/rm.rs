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
        Ok(self.store.open(&OpenOptions::default())?.files().remove(&self.path)?)
    }
}
