//! `inmost backup list`

use std::path::{Path, PathBuf};

use inmost::{BackupInfo, Backups, StoreError};
use serde::Serialize;

use crate::display;
use crate::exit::{Exit, Failure};
use crate::json_line::{self, milliseconds};
use crate::output::print;
use crate::times::local;
use inmost_console::Wiped;

/// List the backups in a folder
///
/// Prints number, time, and the room that the backup added, the oldest first. Needs no passphrase, so nothing of it is
/// authenticated.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  inmost backup list /media/usb/notes-backups")]
pub(super) struct List {
    /// Folder of the backups
    #[arg(value_name = "DEST")]
    from: PathBuf,

    /// Print one JSON object per line: backup, time (in milliseconds since 1970; absent if it cannot be read), `added_bytes`, store
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Object {
    backup: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    time: Option<u64>,
    added_bytes: u64,
    store: String,
}

impl List {
    pub(super) fn run(&self) -> Result<(), Failure> {
        let backups = open(&self.from)?;
        let mut lines = Wiped::default();
        let first = backups.list().first().map(|info| info.store);
        let is_mixed = backups.list().iter().any(|info| Some(info.store) != first);
        for info in backups.list() {
            if self.json {
                json_line::append(&Object::of(info), &mut lines)?;
            } else {
                lines.append(line(info, is_mixed).as_bytes());
            }
        }
        print(lines.as_slice())
    }
}

impl Object {
    fn of(info: &BackupInfo) -> Self {
        Self {
            backup: info.number,
            time: info.time.map(milliseconds),
            added_bytes: info.own_bytes,
            store: store(info),
        }
    }
}

fn line(info: &BackupInfo, is_mixed: bool) -> String {
    let time = info.time.map_or_else(|| "unreadable         ".to_owned(), local);
    let store = if is_mixed { format!("  store {}", store(info)) } else { String::new() };
    format!("{:>4}  {time}  {:>6}{store}\n", info.number, display::size(info.own_bytes))
}

/// The beginning of the id of its store.
fn store(info: &BackupInfo) -> String {
    format!("{:08x}", info.store.first_chunk().map_or(0, |first| u32::from_be_bytes(*first)))
}

/// The backups in a folder.
pub(super) fn open(folder: &Path) -> Result<Backups, Failure> {
    Backups::open(folder).map_err(|error| match error {
        StoreError::NotAStore => Failure::new(
            Exit::NotAStore,
            format!("There are no backups in {}.", folder.display()),
            "Check the path; the first backup makes the folder.",
        ),
        error => error.into(),
    })
}
