//! `inmost diff`

use std::io::{self, IsTerminal};

use serde::Serialize;

use crate::args::StoreArgs;
use crate::exit::Failure;
use crate::json_line;
use crate::output::print;
use crate::pager;
use crate::store::opening::OpenOptions;
use crate::style::{Style, painted_diff};
use crate::version_diff::{Side, unified};
use inmost_console::Wiped;

/// Show what a version changed, or the differences between two versions, as a unified diff
///
/// On a terminal the diff has colours and goes through $PAGER, else through `less`. The text goes through a pipe and is
/// written to no file.
///
/// With --json one object is printed: from and to, the numbers of the two versions (null where there is no text), and diff.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    inmost diff --store notes.inmost 1216\n  \
    inmost diff --store notes.inmost 1216 1984")]
pub(crate) struct Diff {
    #[command(flatten)]
    store: StoreArgs,

    /// Print one JSON object
    #[arg(long)]
    json: bool,

    /// The number of the version. Without another, it is compared with the file's version before it
    version: u64,

    /// The newer version to compare it with
    other: Option<u64>,
}

impl Diff {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let store = self.store.open(&OpenOptions::default())?;
        let history = store.history();
        let first = Side::of(history, self.version)?;
        let (old, new) = match self.other {
            Some(other) => (first, Side::of(history, other)?),
            None => (first.before(history)?, first),
        };
        drop(store);
        let diff = unified(&old, &new)?;
        if self.json {
            let mut line = Wiped::default();
            // The diff of two texts in UTF-8 is UTF-8.
            let diff = std::str::from_utf8(diff.as_slice()).unwrap_or_default();
            json_line::append(&Object { from: old.number, to: new.number, diff }, &mut line)?;
            return print(line.as_slice());
        }
        if diff.as_slice().is_empty() {
            return print(b"The texts are the same.\n");
        }
        if !io::stdout().is_terminal() {
            return print(diff.as_slice());
        }
        pager::page(&[painted_diff(diff.as_slice(), Style::of_output()).as_slice()])
    }
}

/// The differences as a line of JSON.
#[derive(Serialize)]
struct Object<'a> {
    from: Option<u64>,
    to: Option<u64>,
    diff: &'a str,
}
