//! `inmost import`

mod folder;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use inmost::FileError;
use unicode_normalization::UnicodeNormalization;

use self::folder::Folder;
use crate::args::StoreArgs;
use crate::confirm;
use crate::display;
use crate::exit::{Exit, Failure};
use crate::host_files::{self, MAX_FILE_BYTES};
use crate::store::OpenStore;
use crate::store::opening::OpenOptions;
use crate::transfer::{Outcome, TransferReport};
use crate::wiped::Wiped;

/// Import a folder of plain files, such as the ./memory/memories of another backend of the memory tool
///
/// Texts are stored unchanged. Files that the memory cannot store are refused and listed, and the rest is imported. Refused
/// are links and special files, which are never followed or read, files that are too long or not UTF-8, and names that are
/// invalid in a path. The exit code is then 1. Empty folders are skipped.
///
/// After an interruption, run it again: identical files are skipped, and different files are not changed without
/// --overwrite. The plain files are not removed; remove them if nobody should read them.
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

    /// Replace memory files that differ; asks for confirmation
    #[arg(long)]
    overwrite: bool,

    /// Do not ask for confirmation
    #[arg(long, requires = "overwrite")]
    yes: bool,

    /// Print one JSON object per line
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
            let question = "Memory files that differ will be replaced. It cannot be undone.\n\
                            Type yes to continue: ";
            confirm::ask(self.yes, question, "yes")?;
        }
        let store = self.store.open(&OpenOptions::default())?;
        let report = self.copy(&store, folder)?;
        drop(store);
        let plain = self.plain.display();
        let note = format!("The plain files in {plain} were not removed.");
        report.finish("Imported", &note, &format!("There are no files to import in {plain}."))
    }

    fn copy(&self, store: &OpenStore, folder: Folder) -> Result<TransferReport, Failure> {
        // Reports an error of the store or the path once, not for each file.
        match store.files().metadata(&self.to) {
            Ok(found) if !found.is_folder() => {
                return Err(Failure::new(
                    Exit::Other,
                    format!("{} is a file, not a folder.", display::path(&self.to)),
                    "Choose another folder with --to, or remove that file first.",
                ));
            }
            Ok(_) | Err(FileError::NotFound) => {}
            Err(error) => return Err(Failure::at(&self.to, error)),
        }
        let mut report = TransferReport::new(self.json, folder.files.len(), "files read");
        for (file, reason) in folder.refused {
            report.add(&file, &Outcome::Refused(reason))?;
        }
        let mut seen = HashSet::new();
        for file in &folder.files {
            // The store writes names in NFC.
            let outcome = if seen.insert(file.nfc().collect::<String>()) {
                let path = format!("{}/{file}", self.to);
                self.copy_file(store, &self.plain.join(file), &path)?
            } else {
                refused("another file has the same name in Unicode NFC; rename one of them")
            };
            report.add(file, &outcome)?;
        }
        Ok(report)
    }

    fn copy_file(&self, store: &OpenStore, file: &Path, path: &str) -> Result<Outcome, Failure> {
        let bytes = match host_files::open(file).and_then(|file| Wiped::read(file, MAX_FILE_BYTES))
        {
            Ok(Some(bytes)) => bytes,
            Ok(None) => return Ok(refused("it is too long for a memory file")),
            Err(error) => return Ok(refused(&format!("it cannot be read: {error}"))),
        };
        let Ok(text) = std::str::from_utf8(bytes.as_slice()) else {
            return Ok(refused("its text is not UTF-8; convert it first, for example with iconv"));
        };
        let existing = match store.find(path) {
            Err(error) => return refusal(error),
            Ok(existing) => existing,
        };
        match existing {
            Some(existing) if existing.as_str() == text => return Ok(Outcome::Same),
            Some(_) if !self.overwrite => {
                return Ok(refused(
                    "the memory has a different file at its path; --overwrite replaces it",
                ));
            }
            _ => {}
        }
        match store.files().write(path, text) {
            Ok(()) => Ok(Outcome::Copied { bytes: text.len() }),
            Err(error) => refusal(error),
        }
    }
}

fn refused(reason: &str) -> Outcome {
    Outcome::Refused(reason.to_owned())
}

/// Refuses one file, and continues, if the error concerns only this file: its path is invalid, or its text does not fit.
fn refusal(error: FileError) -> Result<Outcome, Failure> {
    let reason = match error {
        FileError::AlreadyExists => {
            "the memory has a folder at its path; choose another folder with --to".to_owned()
        }
        FileError::FileTooLarge(bytes) => {
            format!("it is too long: a memory file may have at most {bytes} bytes")
        }
        FileError::InvalidPath(reason) => {
            format!("its path is not valid in the memory: {reason}; rename it")
        }
        FileError::NotAFolder(file) => {
            let file = display::path(file.as_str());
            format!("{file} is a file, not a folder; choose another folder with --to")
        }
        error => match error.into() {
            Failure::Error { exit: Exit::Other, message, .. } => message.into_owned(),
            failure => return Err(failure),
        },
    };
    Ok(Outcome::Refused(reason))
}
