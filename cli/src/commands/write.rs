//! `inmost write`

use std::io::{self, IsTerminal};

use serde::Serialize;

use crate::args::{ActorArgs, StoreArgs};
use crate::completion;
use crate::exit::{Exit, Failure};
use crate::host_files::{MAX_FILE_BYTES, why_no_text};
use crate::json_line;
use crate::memory_path;
use crate::passphrase::Input;
use crate::store::opening::OpenOptions;
use crate::streams;
use inmost_console::Wiped;

/// Write a file of the memory from standard input
///
/// An existing file is replaced. The text is stored unchanged and must be UTF-8.
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  echo 'Ada prefers tea.' | inmost write --store notes.inmost /memories/ada.md"
)]
pub(crate) struct Write {
    #[command(flatten)]
    store: StoreArgs,

    #[command(flatten)]
    actor: ActorArgs,

    /// Print one JSON object: path and bytes
    #[arg(long)]
    json: bool,

    /// The file
    #[arg(value_parser = memory_path::of_file, add = completion::memory_path())]
    path: String,
}

impl Write {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        if streams::is_input_closed() {
            return Err(Failure::new(
                Exit::Io,
                "Standard input is closed, so there is no text to write.",
                "Nothing was written. Give the text in a pipe or from a file; for an empty file, from /dev/null.",
            ));
        }
        let options = OpenOptions { input: Input::Taken, ..OpenOptions::changing(&self.actor) };
        // Opened first, so that an error is reported before standard input is read.
        let store = self.store.open(&options)?;
        if io::stdin().is_terminal() {
            streams::hint(
                "Type the text. Ctrl-D on a line of its own ends it; Ctrl-C writes nothing.",
            );
        }
        let read = streams::input().and_then(|input| Wiped::read(input, MAX_FILE_BYTES));
        let text = read.map_err(|error| Failure::input(&error))?.ok_or_else(|| {
            Failure::new(
                Exit::Other,
                "The text on standard input is too long for a memory file.",
                "Split it into several files.",
            )
        })?;
        let bytes = text.as_slice();
        let text = std::str::from_utf8(bytes).map_err(|_| {
            let message = format!("Standard input was refused: {}.", why_no_text(bytes));
            Failure::new(Exit::Other, message, "Nothing was written.")
        })?;
        let written = store.files().write(&self.path, text);
        written.map_err(|error| Failure::writing(&self.path, error))?;
        if !self.json {
            return Ok(());
        }
        json_line::print(&Object { path: &self.path, bytes: bytes.len() })
    }
}

/// The file as JSON.
#[derive(Serialize)]
struct Object<'a> {
    path: &'a str,
    bytes: usize,
}
