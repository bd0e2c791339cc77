//! `inmost cat`

use crate::args::StoreArgs;
use crate::exit::Failure;
use crate::passphrase::Input;

/// Print a file of the memory, byte for byte
#[derive(clap::Args)]
#[command(after_help = "Example:\n  inmost cat --store notes.inmost /memories/todo.md")]
pub(crate) struct Cat {
    #[command(flatten)]
    store: StoreArgs,

    /// The file
    path: String,
}

impl Cat {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let text = self.store.with_store(Input::Free, |store| store.read(&self.path))?;
        super::print(text.as_str().as_bytes())
    }
}
