//! `inmost backup`

mod check;
mod chosen;
mod list;
mod restore;

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Subcommand;
use inmost::{BackupOptions, BackupReport, StoreError};
use serde::Serialize;

use self::check::Check;
use self::list::List;
use self::restore::Restore;
use crate::args::{StoreArgs, parse_length_or_0};
use crate::display;
use crate::exit::{Exit, Failure};
use crate::interrupt::DaemonWork;
use crate::output::print;
use crate::progress::Progress;
use crate::store::opening::OpenOptions;
use crate::store::{naming, place};
use crate::{json_line, streams};

/// Make a backup of a store; list, check or restore backups
///
/// DEST is a folder of backups, made if it is missing. Each backup is a whole state of the store, encrypted, and opens with
/// the passphrase that the store has now. Backups share what did not change, so another one into the same folder takes about as
/// much room as was changed. Each is read back from the disk and compared with the store.
///
/// Afterwards, older backups of this store are removed, unless --keep or --keep-within keeps them.
///
/// A backup has no history, so no earlier texts, unless you ask for it with `--with-versions`.
#[derive(clap::Args)]
#[command(
    subcommand_negates_reqs = true,
    after_help = "Examples:\n  inmost backup --store notes.inmost /media/usb/notes-backups\n  \
        inmost backup --store notes.inmost --keep 30 --keep-within 365d /media/usb/notes-backups\n  \
        inmost backup list /media/usb/notes-backups\n  \
        inmost backup restore /media/usb/notes-backups restored.inmost"
)]
pub(crate) struct Backup {
    #[command(subcommand)]
    action: Option<Action>,

    #[command(flatten)]
    store: StoreArgs,

    /// Folder of the backups; one named list, check or restore is ./list, ./check, ./restore
    #[arg(value_name = "DEST", required = true)]
    to: Option<PathBuf>,

    /// How many of the newest backups to keep
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), default_value_t = 10)]
    keep: u32,

    /// Keep younger backups too: a number with s, m, h or d; 0 keeps by --keep alone
    #[arg(long, value_name = "TIME", value_parser = parse_length_or_0, default_value = "30d")]
    keep_within: Duration,

    /// Copy the versions that the history keeps too
    #[arg(long)]
    with_versions: bool,

    /// Print one JSON object: backup, files, bytes, `added_bytes` and removed
    #[arg(long)]
    json: bool,
}

#[derive(Subcommand)]
enum Action {
    List(List),
    Check(Check),
    Restore(Restore),
}

/// The result as JSON.
#[derive(Serialize)]
struct Object<'a> {
    backup: u64,
    files: u64,
    bytes: u64,
    added_bytes: u64,
    removed: &'a [u64],
}

impl Backup {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        match (&self.action, &self.to) {
            (Some(Action::List(list)), _) => list.run(),
            (Some(Action::Check(check)), _) => check.run(),
            (Some(Action::Restore(restore)), _) => restore.run(),
            (None, Some(to)) => self.make(to),
            (None, None) => Ok(()),
        }
    }

    fn make(&self, to: &Path) -> Result<(), Failure> {
        place::check_parent(to)?;
        if place::is_inside(to, &self.store.place()?) {
            return Err(Failure::usage(
                format!("The folder {} is inside the store.", to.display()),
                "Choose a folder outside it, best on another disk.",
            ));
        }
        let report = self.back_up(to)?;
        if !report.is_cleared {
            streams::warn(&format!(
                "What removed backups had alone is still in {}, because a file there is damaged, of another version, or cannot be removed.",
                to.display()
            ));
        }
        let copy = &report.verified;
        if self.json {
            return json_line::print(&Object {
                backup: report.number,
                files: copy.files,
                bytes: copy.bytes,
                added_bytes: report.added_bytes,
                removed: &report.removed,
            });
        }
        let removed = match u64::try_from(report.removed.len()).unwrap_or(u64::MAX) {
            0 => String::new(),
            number => {
                format!("Removed {}.\n", display::count(number, "older backup", "older backups"))
            }
        };
        let text = format!(
            "Made backup {} in {}: {} with {} of text, read back and compared. It added {}.\n{removed}\
             It opens with the current passphrase of the store.\n",
            report.number,
            to.display(),
            display::count(copy.files, "file", "files"),
            display::size(copy.bytes),
            display::size(report.added_bytes),
        );
        print(text.as_bytes())
    }

    fn back_up(&self, to: &Path) -> Result<BackupReport, Failure> {
        let mut options = BackupOptions::default();
        options.keep = usize::try_from(self.keep).unwrap_or(usize::MAX);
        options.keep_within = self.keep_within;
        options.with_versions = self.with_versions;
        let store = self.store.open(&OpenOptions::reading())?;
        let _daemon_work = DaemonWork::begin(&store);
        let mut progress = Progress::new("records copied, then read");
        let made = store.backup_into(to, &options, |records| progress.update(records));
        made.map_err(|error| match error {
            StoreError::AlreadyExists => Failure::new(
                Exit::Other,
                format!("{} already exists, and is no folder of backups.", to.display()),
                "Choose a new folder, or one that has backups already.",
            ),
            StoreError::InUse(_) => Failure::new(
                Exit::InUse,
                format!("Another process uses the backups in {}.", to.display()),
                "Wait until it is done, then try again.",
            ),
            error => naming::creating(to, error),
        })
    }
}
