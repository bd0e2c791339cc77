//! `inmost discard`

use std::fmt::Write;

use inmost::SetAside;
use serde::Serialize;

use crate::args::StoreArgs;
use crate::exit::Failure;
use crate::output::{print, though_unread};
use crate::store::opening::OpenOptions;
use crate::{confirm, display, json_line};
use inmost_console::Wiped;

/// Remove records that were set aside
///
/// A repair sets the damaged records aside. Opening a store does the same with records that do not belong to its present
/// state, for example if an older copy of the folder was copied over a newer store. `inmost status` shows how much there
/// is.
///
/// Lists what is there, asks for confirmation, and removes it. It cannot be restored. docs/OPERATIONS.md says how to look
/// into it first. With --json the lines are objects, with name, bytes and removed: each is printed before the question, and
/// again once it was removed.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  inmost discard --store notes.inmost")]
pub(crate) struct Discard {
    #[command(flatten)]
    store: StoreArgs,

    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,

    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

impl Discard {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let store = self.store.open(&OpenOptions::default())?;
        let found = store.set_aside()?;
        if found.is_empty() {
            return if self.json { Ok(()) } else { print(b"Nothing is set aside.\n") };
        }
        though_unread(self.print(&found, false))?;
        confirm::ask(self.yes, "Type yes to remove this: ", "yes")?;
        for it in &found {
            store.discard_set_aside(it.number)?;
        }
        if self.json { self.print(&found, true) } else { print(b"Removed.\n") }
    }

    fn print(&self, found: &[SetAside], removed: bool) -> Result<(), Failure> {
        if !self.json {
            return print(list(found).as_bytes());
        }
        let mut lines = Wiped::default();
        for it in found {
            let object = Object { name: it.name(), bytes: it.bytes, removed };
            json_line::append(&object, &mut lines)?;
        }
        print(lines.as_slice())
    }
}

#[derive(Serialize)]
struct Object {
    name: String,
    bytes: u64,
    removed: bool,
}

/// One line for each.
fn list(found: &[SetAside]) -> String {
    let mut text = String::new();
    for it in found {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}  {}", it.name(), display::size(it.bytes));
    }
    text
}
