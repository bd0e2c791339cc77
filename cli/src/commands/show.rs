//! `inmost show`

use std::io::{self, IsTerminal};

use crate::args::StoreArgs;
use crate::exit::Failure;
use crate::output::print;
use crate::store::opening::OpenOptions;
use crate::{display, version};

/// Print the text of a version, as `inmost log` numbers it
///
/// On a terminal, control characters are escaped.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  inmost show --store notes.inmost 1216")]
pub(crate) struct Show {
    #[command(flatten)]
    store: StoreArgs,

    /// The number of the version
    version: u64,
}

impl Show {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let store = self.store.open(&OpenOptions::default())?;
        let text = store.history().text(self.version);
        let text = text.map_err(|error| version::failure(self.version, error))?;
        drop(store);
        let text = text.as_str();
        let escaped = io::stdout().is_terminal().then(|| display::text(text));
        print(escaped.as_ref().map_or(text.as_bytes(), |escaped| escaped.as_slice()))
    }
}
