//! `inmost write`

use crate::args::StoreArgs;
use crate::exit::{Exit, Failure};
use crate::host_files::MOST_BYTES;
use crate::passphrase::Input;
use crate::streams;
use crate::wiped::Wiped;

/// Write a file of the memory from standard input
///
/// A file that is there is replaced. The text is kept byte for byte and has to be UTF-8.
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  echo 'Ada prefers tea.' | inmost write --store notes.inmost /memories/ada.md"
)]
pub(crate) struct Write {
    #[command(flatten)]
    store: StoreArgs,

    /// The file
    path: String,
}

impl Write {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        self.store.with_store(Input::Taken, |store| {
            let read = streams::input().and_then(|input| Wiped::read(input, MOST_BYTES));
            let text = read.map_err(|error| Failure::input(&error))?.ok_or_else(|| {
                Failure::new(
                    Exit::Other,
                    "The text on standard input is too long for a file of the memory.",
                    "Split the text over several files.",
                )
            })?;
            let text = std::str::from_utf8(text.expose()).map_err(|_| {
                Failure::new(
                    Exit::Other,
                    "The text on standard input is not UTF-8.",
                    "Convert it first, for example with iconv; nothing was written.",
                )
            })?;
            store.write(&self.path, text)
        })
    }
}
