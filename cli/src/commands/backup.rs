//! `inmost backup`

use std::path::PathBuf;

use serde::Serialize;

use crate::args::StoreArgs;
use crate::display;
use crate::exit::Failure;
use crate::interrupt::DaemonWork;
use crate::output::print;
use crate::progress::Progress;
use crate::store::opening::OpenOptions;
use crate::store::{naming, place};
use crate::{disk_usage, json_line};
use inmost_console::Wiped;

/// Write a consistent copy of a store to a new folder
///
/// The copy is a store of its own and opens with the passphrase that this store has now. Later changes of the
/// passphrase and later purges do not affect the copy.
///
/// The copy has no history, so no earlier texts, unless you ask for it with `--with-versions`.
///
/// With `--verify`, a copy that does not read back is reported with exit code 12, and stays where it is.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  inmost backup --store notes.inmost backups/notes-monday.inmost\n  \
        inmost backup --store notes.inmost --verify /media/usb/notes.inmost"
)]
pub(crate) struct Backup {
    #[command(flatten)]
    store: StoreArgs,

    /// Folder of the copy; it must not exist
    #[arg(value_name = "DEST")]
    to: PathBuf,

    /// Read the copy back from the disk: authenticate every record, and compare its files with those of the store
    #[arg(long)]
    verify: bool,

    /// Copy the versions that the history keeps too. The copy is then read back, as with --verify
    #[arg(long)]
    with_versions: bool,

    /// Print one JSON object: copy, files, `disk_bytes` and verified
    #[arg(long)]
    json: bool,
}

/// The result as JSON.
#[derive(Serialize)]
struct Object {
    copy: String,
    files: u64,
    disk_bytes: u64,
    verified: bool,
}

impl Backup {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        place::check_vacant(&self.to)?;
        place::check_parent(&self.to)?;
        if place::is_inside(&self.to, &self.store.place()?) {
            return Err(Failure::usage(
                format!("The folder {} is inside the store.", self.to.display()),
                "Choose a folder outside it, best on another disk.",
            ));
        }
        let (files, verified) = self.write_copy()?;
        if self.json {
            let bytes = disk_usage::allocated(&self.to).unwrap_or_default();
            let copy = self.to.display().to_string();
            let is_verified = !verified.is_empty();
            let object = Object { copy, files, disk_bytes: bytes, verified: is_verified };
            let mut line = Wiped::default();
            json_line::append(&object, &mut line)?;
            return print(line.as_slice());
        }
        let files = display::count(files, "file", "files");
        let text = format!(
            "Copied {files} to {}\n{verified}The copy opens with the current passphrase of the store.\n",
            self.to.display()
        );
        print(text.as_bytes())
    }

    /// Returns the number of files, and the line about the verification.
    fn write_copy(&self) -> Result<(u64, String), Failure> {
        let store = self.store.open(&OpenOptions::default())?;
        let _daemon_work = DaemonWork::begin(&store);
        if !self.verify && !self.with_versions {
            let mut progress = Progress::new("records written");
            let copied = store.backup(&self.to, |records| progress.update(records));
            copied.map_err(|error| naming::creating(&self.to, error))?;
            return Ok((store.status()?.files, String::new()));
        }
        let mut progress = Progress::new("records written, then read");
        let mut update = |records| progress.update(records);
        let copy = if self.with_versions {
            store.backup_with_versions(&self.to, &mut update)
        } else {
            store.backup_verified(&self.to, &mut update)
        };
        let copy = copy.map_err(|error| naming::creating(&self.to, error))?;
        let records = display::count(copy.records, "record", "records");
        let files = display::count(copy.files, "file", "files");
        let line = format!(
            "Verified the copy: read {records} back, with {files} and {} of text, as in the store.\n",
            display::size(copy.bytes)
        );
        Ok((copy.files, line))
    }
}
