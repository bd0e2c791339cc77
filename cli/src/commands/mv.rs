//! `inmost mv`

use crate::args::StoreArgs;
use crate::exit::Failure;
use crate::passphrase::Input;

/// Move or rename a file of the memory, or a whole folder
///
/// Nothing is ever overwritten. Folders on the way to the new path are made.
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  inmost mv --store notes.inmost /memories/todo.md /memories/done.md"
)]
pub(crate) struct Mv {
    #[command(flatten)]
    store: StoreArgs,

    /// The file or folder
    old: String,

    /// Its new path
    new: String,
}

impl Mv {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        self.store.with_store(Input::Free, |store| store.rename(&self.old, &self.new))
    }
}
