//! `inmost backup restore`

use std::path::PathBuf;

use inmost::StoreError;
use serde::Serialize;

use super::chosen::Chosen;
use crate::display;
use crate::exit::{Exit, Failure};
use crate::json_line;
use crate::output::print;
use crate::progress::Progress;
use crate::store::{naming, place};

/// Restore a backup to a new store
///
/// The new store opens with the passphrase, or the recovery key, that you give here, and with no other: add the others again with
/// `inmost slot add`. It is another store than the one that was backed up, with new keys, so an anchor of the old store
/// refuses it.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  inmost backup restore /media/usb/notes-backups restored.inmost\n  \
        inmost backup restore --number 3 /media/usb/notes-backups restored.inmost"
)]
pub(super) struct Restore {
    #[command(flatten)]
    chosen: Chosen,

    /// Print one JSON object: backup, store, files, bytes
    #[arg(long)]
    json: bool,

    /// Folder of the new store; it must not exist
    #[arg(value_name = "STORE")]
    to: PathBuf,
}

#[derive(Serialize)]
struct Object {
    backup: u64,
    store: String,
    files: u64,
    bytes: u64,
}

impl Restore {
    pub(super) fn run(&self) -> Result<(), Failure> {
        place::check_vacant(&self.to)?;
        place::check_parent(&self.to)?;
        let (backups, number, secret) = self.chosen.open()?;
        let from = &self.chosen.from;
        let mut progress = Progress::new("records written");
        let mut update = |records| progress.update(records);
        let restored = backups.restore(number, &self.to, secret.credential(), &mut update);
        let copy = restored.map_err(|error| match error {
            StoreError::Tampered { .. } | StoreError::HeaderDamaged => Failure::new(
                Exit::Damaged,
                format!("Backup {number} in {} is damaged: {error}", from.display()),
                "Restore another one with --number; the next backup writes what is damaged again.",
            ),
            StoreError::UnknownFormat { .. } => self.chosen.of_another_version(number),
            StoreError::WrongPassphrase | StoreError::WrongKey(_) => naming::at(from, error),
            error => naming::creating(&self.to, error),
        })?;
        let store = self.to.display().to_string();
        if self.json {
            let object = Object { backup: number, store, files: copy.files, bytes: copy.bytes };
            return json_line::print(&object);
        }
        let text = format!(
            "Restored backup {number} to {store}: {} with {} of text.\n\
             It opens with what you gave here only; `inmost slot add --store {} --recovery-key` adds a recovery key.\n",
            display::count(copy.files, "file", "files"),
            display::size(copy.bytes),
            display::quoted(&store)
        );
        print(text.as_bytes())
    }
}
