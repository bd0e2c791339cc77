//! The backup that a command reads, and the credential that opens it.

use std::path::PathBuf;

use inmost::Backups;
use inmost_keyd::Secret;

use super::list::open;
use crate::credential::CredentialArgs;
use crate::display;
use crate::exit::{Exit, Failure};
use crate::passphrase::{Asking, By, Input};

/// Selects a backup.
#[derive(clap::Args)]
pub(super) struct Chosen {
    #[command(flatten)]
    credential: CredentialArgs,

    /// Unlock with the recovery key of the store instead of the passphrase
    #[arg(long, conflicts_with = "keyfile")]
    recovery: bool,

    /// The backup, as `inmost backup list` numbers them [default: the newest, if all are of one store]
    #[arg(long, value_name = "N")]
    number: Option<u64>,

    /// Folder of the backups
    #[arg(value_name = "DEST")]
    pub(super) from: PathBuf,
}

impl Chosen {
    /// The backups, the number of the one that is meant, and what opens it.
    pub(super) fn open(&self) -> Result<(Backups, u64, Secret), Failure> {
        let backups = open(&self.from)?;
        let shown = display::quoted(&self.from.display().to_string());
        let mut stores = backups.list().iter().filter(|it| it.time.is_some()).map(|it| it.store);
        let first = stores.next();
        if self.number.is_none() && stores.any(|store| Some(store) != first) {
            return Err(Failure::usage(
                format!("{} has backups of several stores.", self.from.display()),
                format!(
                    "List them with `inmost backup list {shown}`, and choose one with --number."
                ),
            ));
        }
        let newest = backups.list().last().map(|info| info.number).unwrap_or_default();
        let number = self.number.unwrap_or(newest);
        if backups.list().iter().all(|info| info.number != number) {
            return Err(Failure::new(
                Exit::NotAStore,
                format!("There is no backup {number} in {}.", self.from.display()),
                format!("List them with `inmost backup list {shown}`."),
            ));
        }
        let by = By::recovery(self.recovery);
        let secret = self.credential.of_store(&self.from, Asking::first(Input::Free), by)?;
        Ok((backups, number, secret))
    }

    /// The failure of a backup whose format this program does not know.
    pub(super) fn of_another_version(&self, number: u64) -> Failure {
        Failure::new(
            Exit::UnknownFormat,
            format!(
                "Backup {number} in {} is of a version that this program does not know.",
                self.from.display()
            ),
            "Use the version that made it, or a newer one; or another backup with --number.",
        )
    }
}
