//! `inmost import`

mod folder;
mod plain_file;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::mpsc::sync_channel;
use std::thread;

use inmost::{FileError, NewFile, WriteOutcome};
use unicode_normalization::UnicodeNormalization;

use self::folder::Folder;
use self::plain_file::{Batch, PlainFile};
use crate::args::{ActorArgs, StoreArgs};
use crate::completion;
use crate::confirm;
use crate::display;
use crate::exit::{Exit, Failure};
use crate::interrupt::Interrupt;
use crate::memory_path::{self, ROOT};
use crate::store::opening::OpenOptions;
use crate::store::{OpenStore, naming};
use crate::transfer::{Outcome, TransferReport};

/// Import a plain file, or a folder of them, such as the ./memory/memories of another backend of the memory tool
///
/// Texts are stored unchanged, and files keep their times. Files that the memory cannot store are refused and listed, and
/// the rest is imported. Refused
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

    #[command(flatten)]
    actor: ActorArgs,

    /// Folder of the memory to import to
    #[arg(long, value_name = "PATH", default_value = ROOT, value_parser = memory_path::parse, add = completion::memory_path())]
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

    /// The folder or file to read
    #[arg(value_name = "PATH")]
    plain: PathBuf,
}

impl Import {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let folder = Folder::read(&self.plain)?;
        if self.overwrite {
            let question = "Memory files that differ will be replaced. Without a history, it cannot be undone.\n\
                            Type yes to continue: ";
            confirm::ask(self.yes, question, "yes")?;
        }
        let store = self.store.open(&OpenOptions::changing(&self.actor))?;
        let report = self.copy(&store, folder)?;
        drop(store);
        let plain = self.plain.display();
        let note = if self.plain.is_file() {
            format!("The plain file {plain} was not removed.")
        } else {
            format!("The plain files in {plain} were not removed.")
        };
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
        let interrupt = Interrupt::watch();
        let (root, files) = (&folder.root, &folder.files);
        thread::scope(|scope| {
            // The next batch is read while one is written. No more than that: all of a batch is in memory.
            let (sender, batches) = sync_channel(0);
            scope.spawn(move || read(root, files, |batch| sender.send(batch).is_ok()));
            for batch in batches {
                self.write(store, batch, &mut report)?;
                if interrupt.is_set() {
                    return Err(report.interrupted());
                }
            }
            Ok(report)
        })
    }

    /// Writes the files of a batch, and reports each in its order.
    fn write(
        &self,
        store: &OpenStore,
        batch: Batch<'_>,
        report: &mut TransferReport,
    ) -> Result<(), Failure> {
        let files = batch.into_files();
        let paths: Vec<String> =
            files.iter().map(|(file, _)| format!("{}/{file}", self.to)).collect();
        let new: Vec<NewFile<'_>> = paths
            .iter()
            .zip(&files)
            .filter_map(|(path, (_, read))| Some(read.as_ref().ok()?.as_new(path, self.overwrite)))
            .collect();
        let written = store.files().write_many(&new);
        let mut results = match written {
            Ok(results) => results.into_iter(),
            Err(error) => return Err(naming::at(&self.store.place()?, error)),
        };
        for (path, (file, read)) in paths.iter().zip(&files) {
            let outcome = match read {
                Err(reason) => Outcome::Refused(reason.clone()),
                Ok(read) => match results.next() {
                    Some(result) => self.outcome(store, path, read, result)?,
                    None => break,
                },
            };
            report.add(file, &outcome)?;
        }
        Ok(())
    }

    /// The outcome for a file that was read and that the store has written or refused.
    fn outcome(
        &self,
        store: &OpenStore,
        path: &str,
        read: &PlainFile,
        result: Result<WriteOutcome, FileError>,
    ) -> Result<Outcome, Failure> {
        match result {
            Ok(WriteOutcome::Unchanged) => Ok(Outcome::Same),
            Ok(_) => Ok(Outcome::Copied { bytes: read.text().len() }),
            Err(FileError::AlreadyExists) if !self.overwrite && is_file(store, path) => {
                let reason = "the memory has a different file at its path; --overwrite replaces it";
                Ok(Outcome::Refused(reason.to_owned()))
            }
            Err(error) => refusal(path, error),
        }
    }
}

/// Reads files, and gives them to `take` in batches, until it returns `false`.
fn read<'f>(root: &Path, files: &'f [String], mut take: impl FnMut(Batch<'f>) -> bool) {
    let mut seen = HashSet::new();
    let mut batch = Batch::default();
    for file in files {
        // The store writes names in NFC.
        let read = if seen.insert(file.nfc().collect::<String>()) {
            PlainFile::read(&root.join(file))
        } else {
            Err("another file has the same name in Unicode NFC; rename one of them".to_owned())
        };
        batch.add(file, read);
        if batch.is_full() && !take(std::mem::take(&mut batch)) {
            return;
        }
    }
    take(batch);
}

fn is_file(store: &OpenStore, path: &str) -> bool {
    store.files().metadata(path).is_ok_and(|found| !found.is_folder())
}

/// Refuses one file, and continues, if the error concerns only this file: its path is invalid, or its text does not fit.
fn refusal(file: &str, error: FileError) -> Result<Outcome, Failure> {
    let reason = match error {
        FileError::AlreadyExists => {
            "the memory has a folder at its path; choose another folder with --to".to_owned()
        }
        FileError::FileTooLarge(bytes) => {
            format!("it is too long: a memory file may have at most {bytes} bytes")
        }
        FileError::InvalidPath(_) if file.contains('\\') => {
            "its name has a backslash, which no path of the memory can have; rename it".to_owned()
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
