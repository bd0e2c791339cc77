//! `inmost backup check`

use inmost::StoreError;

use super::super::check::{as_text, print_json};
use super::chosen::Chosen;
use crate::exit::{Exit, Failure};
use crate::output::{print, though_unread};
use crate::progress::Progress;
use crate::store::naming;

/// Read a whole backup and authenticate every record
///
/// Prints each file that is damaged, and exits with 12 if there is one. The next `inmost backup` writes again what is damaged in the
/// newest backup.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  inmost backup check /media/usb/notes-backups\n  \
        inmost backup check --number 3 /media/usb/notes-backups")]
pub(super) struct Check {
    #[command(flatten)]
    chosen: Chosen,

    /// Print one JSON object, as `inmost check` does
    #[arg(long)]
    json: bool,
}

impl Check {
    pub(super) fn run(&self) -> Result<(), Failure> {
        let (backups, number, secret) = self.chosen.open()?;
        let mut progress = Progress::new("records read");
        let mut update = |records| progress.update(records);
        let report = backups.check(number, secret.credential(), &mut update);
        let report = report.map_err(|error| match error {
            StoreError::UnknownFormat { .. } => self.chosen.of_another_version(number),
            error => naming::at(&self.chosen.from, error),
        })?;
        though_unread(if self.json {
            print_json(&report, None)
        } else {
            print(as_text(&report, false).as_bytes())
        })?;
        if report.problems.is_empty() {
            return Ok(());
        }
        Err(Failure::new(
            Exit::Damaged,
            format!("Backup {number} in {} is damaged.", self.chosen.from.display()),
            "Use another backup. The next one writes again what is damaged in the newest.",
        ))
    }
}
