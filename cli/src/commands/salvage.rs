//! `inmost salvage`

mod plain_folder;
mod renamed;

use std::path::{Path, PathBuf};

use inmost::{Credential, FileError, SalvageReport, Session, SessionOptions, VaultOptions};

use self::plain_folder::PlainFolder;
use self::renamed::Renamed;
use crate::args::{KdfArgs, StoreArgs};
use crate::display;
use crate::exit::{Exit, Failure};
use crate::output::print;
use crate::passphrase::Input;
use crate::progress::Progress;
use crate::store::place;

/// Get out of a damaged store whatever can still be read
///
/// Needs the passphrase, or the recovery key, and one intact copy of the header. What is saved goes into a new store that the same
/// opens; files whose folder is lost come to lie in /memories/salvaged. The damaged store stays as it is.
///
/// If the root record, or a part of the store's list of what was deleted, cannot be read, deleted text that no purge
/// has removed yet can come back in /memories/salvaged: nothing tells it from the rest. Look through it, and remove what is not
/// to be there.
///
/// Ends with 12 if anything is missing; each thing missing is a line with its path.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    inmost salvage --store notes.inmost --to rescued.inmost\n  \
    inmost salvage --store notes.inmost --to rescued --plain")]
pub(crate) struct Salvage {
    #[command(flatten)]
    store: StoreArgs,

    /// Folder to save to, which must not be there
    #[arg(long, value_name = "DIR")]
    to: PathBuf,

    /// Write plain files, readable by anyone who can read your files, instead of a store
    #[arg(long, conflicts_with_all = ["kdf_memory_mib", "kdf_passes", "calibrate"])]
    plain: bool,

    #[command(flatten)]
    kdf: KdfArgs,
}

impl Salvage {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        place::check_vacant(&self.to)?;
        place::check_parent(&self.to)?;
        if place::is_inside(&self.to, &self.store.place()?) {
            return Err(Failure::usage(
                "What is saved would be in the folder of the damaged store itself.",
                "Choose a place elsewhere.",
            ));
        }
        let (vault, secret) = self.store.open(Input::Free)?;
        let mut progress = Progress::new("files saved");
        let mut count = 0_u64..;
        let mut tell = move || progress.update(count.next().unwrap_or_default());
        let (report, renamed) = if self.plain {
            print(b"What is saved is not encrypted: whoever can read the files can read it.\n")?;
            let mut folder = PlainFolder::new(&self.to);
            let report = vault.salvage(secret.credential(), |path, text| {
                tell();
                folder.save(path, text)
            })?;
            (report, folder.into_renamed())
        } else {
            let mut target = NewStore::new(&self.to, secret.credential(), &self.kdf);
            let report = vault.salvage(secret.credential(), |path, text| {
                tell();
                target.save(path, text)
            });
            let renamed = target.close();
            (report?, renamed)
        };
        drop(tell);
        print(told(&report, &renamed, &self.to).as_bytes())?;
        if report.lost.is_empty() { Ok(()) } else { Err(missing(&report)) }
    }
}

/// The store that what is saved goes into; made with the first file, so that a wrong passphrase leaves none.
struct NewStore<'a> {
    place: &'a Path,
    credential: Credential<'a>,
    kdf: &'a KdfArgs,
    session: Option<Session>,
    renamed: Vec<Renamed>,
}

impl<'a> NewStore<'a> {
    fn new(place: &'a Path, credential: Credential<'a>, kdf: &'a KdfArgs) -> Self {
        Self { place, credential, kdf, session: None, renamed: Vec::new() }
    }

    fn save(&mut self, path: &str, text: &str) -> Result<(), Failure> {
        let session = match &self.session {
            Some(session) => session,
            None => self.session.insert(create(self.place, self.credential, self.kdf)?),
        };
        match session.files().write(path, text) {
            // A folder that nothing leads to lies deeper now than it did, so its paths can be too long; and
            // damage can make a file and a folder of one name.
            Err(
                FileError::InvalidPath(_)
                | FileError::PathBelow(_)
                | FileError::NotAFolder(_)
                | FileError::AlreadyExists,
            ) => {
                let to = format!("/memories/salvaged/renamed-{}", self.renamed.len());
                session.files().write(&to, text)?;
                self.renamed.push(Renamed { from: path.to_owned(), to });
                Ok(())
            }
            written => Ok(written?),
        }
    }

    fn close(self) -> Vec<Renamed> {
        if let Some(session) = self.session {
            session.lock();
        }
        self.renamed
    }
}

fn create(place: &Path, credential: Credential<'_>, kdf: &KdfArgs) -> Result<Session, Failure> {
    // The application may have allowed the damaged store more than the usual.
    let most = u64::MAX;
    let quotas = SessionOptions::new().file_bytes(most).store_files(most).store_bytes(most);
    let options = VaultOptions::new().kdf_cost(kdf.cost()).session(quotas);
    Ok(options.create_with(place, credential)?)
}

fn told(report: &SalvageReport, renamed: &[Renamed], to: &Path) -> String {
    let mut lines = Vec::new();
    for lost in &report.lost {
        let path = if lost.path.is_empty() { "/memories" } else { &lost.path };
        lines.push(format!("missing {}: {} {}\n", display::path(path), lost.what, lost.how));
    }
    lines.push(display::unlisted(report.unlisted));
    for Renamed { from, to } in renamed {
        lines.push(format!("renamed {} to {}\n", display::path(from), display::path(to)));
    }
    let (files, to) = (display::count(report.files, "file", "files"), to.display());
    lines.push(if report.files == 0 {
        "No file could be saved, so nothing was made.\n".to_owned()
    } else {
        format!("Saved {files} with {} bytes of text to {to}\n", report.bytes)
    });
    lines.concat()
}

fn missing(report: &SalvageReport) -> Failure {
    let listed = u64::try_from(report.lost.len()).unwrap_or(u64::MAX);
    let what = display::count(listed.saturating_add(report.unlisted), "thing is", "things are");
    Failure::new(
        Exit::Damaged,
        format!("{what} missing from what was saved."),
        "Look for it in a backup; the damaged store is as it was.",
    )
}
