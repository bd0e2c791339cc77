//! `inmost import`

mod folder;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use self::folder::Folder;
use crate::args::StoreArgs;
use crate::exit::{Exit, Failure};
use crate::host_files::{self, MOST_BYTES};
use crate::passphrase::Input;
use crate::store::OpenStore;
use crate::transfer::{Outcome, Report};
use crate::wiped::Wiped;
use crate::{confirm, tree};

/// Read a folder of plain files into the memory, such as the ./memory/memories of other backends of the memory tool
///
/// Texts are kept byte for byte. What the memory cannot hold is refused and listed, and the rest imported: links and
/// special files, which are never followed or read, what is not UTF-8 or too long, and names that no path can have.
/// It then ends with 1. Empty folders are left out.
///
/// It can be run again after an interruption: files that are there with the same bytes are skipped, and others are not
/// touched without --overwrite. The plain files stay as they are; remove them if nobody should read them.
///
/// With --json each refused file is a line (file, refused), and the last line has the counts.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    inmost import --store notes.inmost ./memory/memories\n  \
    inmost import --store notes.inmost --to /memories/old ~/notes")]
pub(crate) struct Import {
    #[command(flatten)]
    store: StoreArgs,

    /// Folder of the memory to import to
    #[arg(long, value_name = "PATH", default_value = "/memories")]
    to: String,

    /// Replace files of the memory that hold something else; asks first
    #[arg(long)]
    overwrite: bool,

    /// Do it without being asked
    #[arg(long, requires = "overwrite")]
    yes: bool,

    /// Print one JSON object a line
    #[arg(long)]
    json: bool,

    /// The folder to read
    #[arg(value_name = "DIR")]
    plain: PathBuf,
}

impl Import {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let folder = Folder::read(&self.plain)?;
        if self.overwrite {
            let question = "Files of the memory that hold something else are replaced, and nothing can bring them back.\n\
                            Type yes to go on: ";
            confirm::ask(self.yes, question, "yes")?;
        }
        let report = self.store.with_store(Input::Free, |store| self.copy(store, folder))?;
        let note =
            format!("The plain files in {} are still there, and readable.", self.plain.display());
        report.finish("Imported", &note)
    }

    fn copy(&self, store: &OpenStore, folder: Folder) -> Result<Report, Failure> {
        // Better heard once than for each file.
        store.find_entries(&self.to)?;
        let mut report = Report::new(self.json, folder.files.len(), "files read");
        for (file, reason) in folder.refused {
            report.add(&file, &Outcome::Refused(reason))?;
        }
        let mut seen = HashSet::new();
        for file in &folder.files {
            let path = tree::canonical(&format!("{}/{file}", self.to));
            let outcome = if seen.insert(path.clone()) {
                self.copy_file(store, &self.plain.join(file), &path)?
            } else {
                refused("another name here is the same in Unicode NFC")
            };
            report.add(file, &outcome)?;
        }
        Ok(report)
    }

    fn copy_file(&self, store: &OpenStore, file: &Path, path: &str) -> Result<Outcome, Failure> {
        let bytes = match host_files::open(file).and_then(|file| Wiped::read(file, MOST_BYTES)) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => return Ok(refused("it is too long for a file of the memory")),
            Err(error) => return Ok(refused(&format!("it cannot be read: {error}"))),
        };
        let Ok(text) = std::str::from_utf8(bytes.expose()) else {
            return Ok(refused("it is not UTF-8"));
        };
        let there = match store.find(path) {
            Err(failure) => return refusal(failure),
            Ok(there) => there,
        };
        match there {
            Some(there) if there.as_str() == text => return Ok(Outcome::Same),
            Some(_) if !self.overwrite => {
                return Ok(refused(
                    "the memory has a file there that differs; --overwrite replaces it",
                ));
            }
            _ => {}
        }
        match store.write(path, text) {
            Ok(()) => Ok(Outcome::Copied { bytes: text.len() }),
            Err(failure) => refusal(failure),
        }
    }
}

fn refused(reason: &str) -> Outcome {
    Outcome::Refused(reason.to_owned())
}

/// What concerns this file alone is no reason to leave out the others: what the memory cannot hold, or no path can be.
fn refusal(failure: Failure) -> Result<Outcome, Failure> {
    match failure {
        Failure::Error { exit: Exit::Usage | Exit::Other, message, .. } => {
            Ok(Outcome::Refused(message.into_owned()))
        }
        failure => Err(failure),
    }
}
