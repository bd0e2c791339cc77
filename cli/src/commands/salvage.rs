//! `inmost salvage`

mod new_store;
mod plain_folder;

use std::path::{Path, PathBuf};

use inmost::RecoveryReport;
use serde::Serialize;

use self::new_store::{NewStore, Renamed};
use self::plain_folder::PlainFolder;
use crate::args::{KdfArgs, StoreArgs};
use crate::exit::{Exit, Failure};
use crate::output::{print, though_unread};
use crate::passphrase::Input;
use crate::progress::Progress;
use crate::store::place;
use crate::{display, json_line, recovered};

/// Save the readable files of a damaged store
///
/// Needs the passphrase or the recovery key, and one intact copy of the header. The files are saved to a new store that
/// opens with the same credential and keeps no versions; `inmost history` turns that on. The storage engine is not used, and the
/// damaged store is not changed.
///
/// A file whose newest version is damaged is saved in the newest one that is not. Files whose names were lost are saved below
/// /memories/lost-and-found. Deleted text that was not purged yet may reappear there if the list of deleted files was lost too:
/// look through that folder, and remove what should stay deleted.
///
/// Exits with 12 if anything is lost or older. Each such file or folder is a line with its path. With --json everything is one
/// object: to, files, bytes, the lists lost, older and found with path, what and how, and the list renamed.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    inmost salvage --store notes.inmost --to rescued.inmost\n  \
    inmost salvage --store notes.inmost --to rescued --plain")]
pub(crate) struct Salvage {
    #[command(flatten)]
    store: StoreArgs,

    /// Folder to save to; it must not exist
    #[arg(long, value_name = "DIR")]
    to: PathBuf,

    /// Write unencrypted files instead of a store
    #[arg(long, conflicts_with_all = ["kdf_memory_mib", "kdf_passes", "calibrate"])]
    plain: bool,

    #[command(flatten)]
    kdf: KdfArgs,

    /// Print the report as one line of JSON
    #[arg(long)]
    json: bool,
}

impl Salvage {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        self.kdf.check()?;
        self.check_target()?;
        let (report, renamed) = self.salvage()?;
        though_unread(if self.json {
            let to = self.to.display().to_string();
            let report = recovered::Object::of(&report);
            json_line::print(&Object { to, report, renamed: &renamed })
        } else {
            print(as_text(&report, &renamed, &self.to).as_bytes())
        })?;
        if report.is_complete() { Ok(()) } else { Err(incomplete(&report)) }
    }

    fn check_target(&self) -> Result<(), Failure> {
        place::check_vacant(&self.to)?;
        place::check_parent(&self.to)?;
        if place::is_inside(&self.to, &self.store.place()?) {
            return Err(Failure::usage(
                format!("The folder {} is inside the damaged store.", self.to.display()),
                "Choose a folder outside it.",
            ));
        }
        Ok(())
    }

    fn salvage(&self) -> Result<(RecoveryReport, Vec<Renamed>), Failure> {
        let vault = self.store.vault()?;
        let secret = self.store.secret(Input::Free)?;
        let mut progress = Progress::new("files saved");
        let mut count = 0_u64..;
        let mut update = move || progress.update(count.next().unwrap_or_default());
        if self.plain {
            if !self.json {
                let note = b"The saved files are not encrypted. Anyone who can read your files can read them.\n";
                though_unread(print(note))?;
            }
            let mut folder = PlainFolder::new(&self.to);
            let report = vault.salvage(secret.credential(), |path, text| {
                update();
                folder.save(path, text)
            })?;
            Ok((report, folder.into_renamed()))
        } else {
            let mut target = NewStore::new(&self.to, secret.credential(), &self.kdf);
            let report = vault.salvage(secret.credential(), |path, text| {
                update();
                target.save(path, text)
            });
            let renamed = target.close();
            Ok((report?, renamed))
        }
    }
}

/// The result of a salvage as JSON.
#[derive(Serialize)]
struct Object<'a> {
    to: String,
    #[serde(flatten)]
    report: recovered::Object<'a>,
    renamed: &'a [Renamed],
}

fn as_text(report: &RecoveryReport, renamed: &[Renamed], to: &Path) -> String {
    let mut lines = vec![recovered::lines(report)];
    for Renamed { from, to } in renamed {
        lines.push(format!("renamed {} to {}\n", display::path(from), display::path(to)));
    }
    let (files, to) = (display::count(report.files, "file", "files"), to.display());
    lines.push(if report.files == 0 {
        "No file could be saved. Nothing was created.\n".to_owned()
    } else {
        format!("Saved {files} with {} of text to {to}\n", display::size(report.bytes))
    });
    lines.concat()
}

fn incomplete(report: &RecoveryReport) -> Failure {
    let listed = report.lost.len() + report.older.len() + report.found.len();
    let items = u64::try_from(listed).unwrap_or(u64::MAX).saturating_add(report.unlisted);
    Failure::new(
        Exit::Damaged,
        format!(
            "{} could not be saved in the newest version at the old path.",
            display::count(items, "file or folder", "files or folders")
        ),
        "Look for them in a backup. The damaged store was not changed.",
    )
}
