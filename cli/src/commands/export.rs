//! `inmost export`

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use inmost::{EntryKind, FileError, StoreError, Vault, WalkEntry};
use inmost_keyd::Secret;

use super::repair::is_damage;
use crate::args::StoreArgs;
use crate::completion;
use crate::confirm;
use crate::display;
use crate::exit::{Exit, Failure};
use crate::host_files::{self, MAX_FILE_BYTES};
use crate::memory_path::{self, ROOT};
use crate::output::{print, though_unread};
use crate::recovered;
use crate::store::naming;
use crate::store::opening::Held;
use crate::store::{OpenStore, place};
use crate::transfer::{Outcome, TransferReport};
use inmost_console::Wiped;

/// Write the memory to a folder of unencrypted files
///
/// Texts are written unchanged, and each file has the time of its last change in the memory. Only their owner can read the new files and folders. Each file is written completely or not at
/// all, and existing files are never overwritten. Files whose names the file system does not accept are refused and
/// listed; the exit code is then 1. From a damaged store, everything that is found intact is exported; the exit code is then 12.
///
/// With --json each refused file is a line (file, refused), and the last line has the counts.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    inmost export --store notes.inmost ~/notes\n  \
    inmost export --store notes.inmost --from /memories/projects --yes projects")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct Export {
    #[command(flatten)]
    store: StoreArgs,

    /// File or folder of the memory to export
    #[arg(long, value_name = "PATH", default_value = ROOT, value_parser = memory_path::parse, add = completion::memory_path())]
    from: String,

    /// Continue an export in a folder that is not empty; identical files are skipped
    #[arg(long)]
    resume: bool,

    /// Give the files the time of the export, not that of their last change
    #[arg(long)]
    no_times: bool,

    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,

    /// Print one JSON object per line
    #[arg(long)]
    json: bool,

    /// The folder to write to; it must be empty or not exist
    #[arg(value_name = "DIR")]
    plain: PathBuf,
}

impl Export {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        self.check_place()?;
        let question = format!(
            "The files in {} will not be encrypted. Anyone who can read your files can read them.\n\
             Type yes to continue: ",
            self.plain.display()
        );
        confirm::ask(self.yes, &question, "yes")?;
        let mut vault = match self.store.hold_to_read()? {
            Held::Daemon(client) => return self.finish(self.copy(&OpenStore::Daemon(client))?),
            Held::Here(vault) => vault,
        };
        let (opened, secret) = self
            .store
            .attempt(&mut vault, |vault, secret| vault.unlock_with(secret.credential()))?;
        match opened {
            Ok(session) => {
                self.store.open.warn_of_anchor(session.status()?.anchor);
                let store = OpenStore::Here(session.without_recording());
                let copied = self.copy(&store);
                // It has only read, so nothing can be lost.
                let _ = store.close();
                self.finish(copied?)
            }
            Err(error) if is_damage(&error) => self.export_found(&vault, &secret, &error),
            Err(error) => Err(naming::at(&self.store.place()?, error)),
        }
    }

    fn finish(&self, report: TransferReport) -> Result<(), Failure> {
        let note = format!("The files in {} are not encrypted.", self.plain.display());
        let no_files = format!("There are no files to export in {}.", display::path(&self.from));
        report.finish("Exported", &note, &no_files)
    }

    /// Exports what is found in the bare files of a store that cannot be opened.
    fn export_found(
        &self,
        vault: &Vault,
        secret: &Secret,
        error: &StoreError,
    ) -> Result<(), Failure> {
        prepare(&self.plain).map_err(|error| self.unwritable(&error))?;
        let mut report = TransferReport::new(self.json, 0, "files written");
        let from = self.from.trim_end_matches('/');
        let found = vault.salvage(secret.credential(), |path, text| {
            let Some(below) = path.strip_prefix(from) else { return Ok(()) };
            match below.strip_prefix('/') {
                Some(below) => report.add(path, &self.write(below, text, None)?),
                // The file itself was named.
                None if below.is_empty() => {
                    let name = path.rsplit('/').next().unwrap_or(path);
                    report.add(path, &self.write(name, text, None)?)
                }
                None => Ok(()),
            }
        })?;
        if !self.json {
            though_unread(print(recovered::lines(&found).as_bytes()))?;
        }
        self.finish(report)?;
        Err(Failure::new(
            Exit::Damaged,
            format!("{error} What was found in its files was exported."),
            error.advice(),
        ))
    }

    fn check_place(&self) -> Result<(), Failure> {
        place::check_parent(&self.plain)?;
        if place::is_inside(&self.plain, &self.store.place()?) {
            return Err(Failure::usage(
                format!("The folder {} is inside the store.", self.plain.display()),
                "Choose a folder outside it.",
            ));
        }
        let plain = self.plain.display();
        let (message, advice) = match self.plain.symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(self.unwritable(&error)),
            Ok(data) if !data.is_dir() => {
                (format!("{plain} is not a folder but a file or a link."), "Choose another path.")
            }
            Ok(_) if self.resume => return Ok(()),
            Ok(_) => {
                let mut entries =
                    fs::read_dir(&self.plain).map_err(|error| self.unwritable(&error))?;
                if entries.next().is_none() {
                    return Ok(());
                }
                (
                    format!("The folder {plain} is not empty."),
                    "Choose another folder, or add --resume to continue an export.",
                )
            }
        };
        Err(Failure::new(Exit::Other, message, advice))
    }

    fn copy(&self, store: &OpenStore) -> Result<TransferReport, Failure> {
        let mut files = Vec::new();
        let mut is_whole = true;
        for entry in store.files().walk(&self.from) {
            match entry.map_err(|error| Failure::at(&self.from, error)) {
                Ok(entry) if entry.metadata.is_folder() => {}
                Ok(entry) => files.push(entry),
                Err(Failure::Error { exit: Exit::Damaged, .. }) => is_whole = false,
                Err(error) => return Err(error),
            }
        }
        if !files.is_empty() {
            prepare(&self.plain).map_err(|error| self.unwritable(&error))?;
        }
        let mut report = TransferReport::new(self.json, files.len(), "files written");
        for part in parts(&files) {
            let paths: Vec<&str> = part.iter().map(|file| file.path.as_str()).collect();
            let texts = store.files().read_many(&paths)?;
            for (file, text) in part.iter().zip(texts) {
                let path = file.path.as_str();
                let text = match text {
                    // Another process deleted the file in the meantime.
                    Err(FileError::NotFound | FileError::IsAFolder(_)) => continue,
                    text => text.map_err(Failure::from),
                };
                match text {
                    Ok(text) => {
                        let time = self.time_of(file);
                        report.add(path, &self.write(below(file), text.as_str(), time)?)?;
                    }
                    Err(Failure::Error { exit: Exit::Damaged, .. }) => {
                        let reason = "it is damaged; `inmost repair` looks for an intact version";
                        report.add(path, &refused(reason))?;
                    }
                    Err(error) => return Err(error),
                }
            }
        }
        if !is_whole {
            let reason =
                "a list of names in it is damaged; `inmost repair` looks for what it named";
            report.add(&self.from, &refused(reason))?;
        }
        Ok(report)
    }

    /// The time that the plain file gets, unless it keeps that of its writing.
    fn time_of(&self, file: &WalkEntry) -> Option<SystemTime> {
        match file.metadata.kind {
            EntryKind::File { modified, .. } if !self.no_times => Some(modified),
            _ => None,
        }
    }

    /// Writes one file to its path below `--from`.
    fn write(&self, below: &str, text: &str, time: Option<SystemTime>) -> Result<Outcome, Failure> {
        let Some(place) = host_files::relative(below) else {
            return Ok(refused(
                "its path could lead outside the folder; rename it with `inmost mv`",
            ));
        };
        if !host_files::keeps_names(below) {
            return Ok(refused(BAD_NAME));
        }
        match write(&self.plain, &place, text, time) {
            // File systems accept fewer names than the memory.
            Err(error) if is_about_name(&error) => Ok(refused(BAD_NAME)),
            Err(error) => Err(self.unwritable(&error)),
            Ok(outcome) => Ok(outcome),
        }
    }

    fn unwritable(&self, error: &io::Error) -> Failure {
        Failure::io(
            &format!("The files cannot be written to {}", self.plain.display()),
            error,
            "Check the permissions of the folder and the free space of the disk, then run the command again with --resume.",
        )
    }
}

/// The files, in parts that are read together: their texts are in memory at the same time.
fn parts(files: &[WalkEntry]) -> impl Iterator<Item = &[WalkEntry]> {
    let mut rest = files;
    std::iter::from_fn(move || {
        let mut bytes = 0_u64;
        let fits = |file: &&WalkEntry| {
            bytes = bytes.saturating_add(file.metadata.bytes);
            bytes <= PART_BYTES
        };
        let count = rest.iter().take(PART_FILES).take_while(fits).count().max(1);
        let (part, others) = rest.split_at_checked(count)?;
        rest = others;
        Some(part)
    })
}

/// The most files of a part.
const PART_FILES: usize = 512;
/// The most bytes of text in a part, unless a single file has more.
const PART_BYTES: u64 = 8 << 20;

/// The path of a file below the folder that is exported; a single exported file keeps its name.
fn below(file: &WalkEntry) -> &str {
    let path = file.path.as_str();
    let slash = path.rmatch_indices('/').nth(file.depth);
    slash.and_then(|(at, _)| path.get(at..)).map_or(path, |below| below.trim_start_matches('/'))
}

fn refused(reason: &str) -> Outcome {
    Outcome::Refused(reason.to_owned())
}

fn is_about_name(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::InvalidFilename | io::ErrorKind::InvalidInput)
}

/// The error for a name that could not be given, in a folder that is there. File systems in user space have errors of their own for a
/// name that they cannot hold: exfat says that nothing is there, others that the bytes are no text.
fn of_name(place: &Path, error: io::Error) -> io::Error {
    let is_name = error.kind() == io::ErrorKind::NotFound
        || error.raw_os_error().is_some_and(|code| NO_TEXT.contains(&code));
    if is_name && place.parent().is_some_and(Path::is_dir) {
        return io::ErrorKind::InvalidFilename.into();
    }
    error
}

/// Creates the folder, and removes the partial file of an interrupted export.
fn prepare(folder: &Path) -> io::Result<()> {
    host_files::make_folder(folder)?;
    match fs::remove_file(folder.join(PARTIAL)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Writes a file below a folder. Refuses if the file, or a folder on its path, is a link.
fn write(folder: &Path, place: &Path, text: &str, time: Option<SystemTime>) -> io::Result<Outcome> {
    if !make_ancestors(folder, place)? {
        return Ok(refused("there is a file or a link at the path of its folder; move that away"));
    }
    let place = folder.join(place);
    match place.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
        Ok(data) if !data.is_file() => {
            return Ok(refused(
                "there is a folder, a link or a special file at its path; move that away",
            ));
        }
        Ok(_) => {
            let existing = Wiped::read(host_files::open(&place)?, MAX_FILE_BYTES)?;
            let is_same = existing.is_some_and(|existing| existing.as_slice() == text.as_bytes());
            return Ok(if is_same {
                Outcome::Same
            } else {
                refused("there is a different file at its path; move that file away")
            });
        }
    }
    let partial = folder.join(PARTIAL);
    let mut file = host_files::create(&partial)?;
    let written = file.write_all(text.as_bytes()).and_then(|()| {
        // Best effort: not every file system can hold every time, and the text matters more.
        let _ = time.map(|time| file.set_modified(time));
        file.sync_all()
    });
    let renamed = || fs::rename(&partial, &place).map_err(|error| of_name(&place, error));
    if let Err(error) = written.and_then(|()| renamed()) {
        let _ = fs::remove_file(&partial);
        return Err(error);
    }
    Ok(Outcome::Copied { bytes: text.len() })
}

/// Creates the missing folders between `folder` and the file. Returns false if a file or a link is in the way.
fn make_ancestors(folder: &Path, place: &Path) -> io::Result<bool> {
    let mut ancestor = folder.to_owned();
    for name in place.parent().into_iter().flat_map(Path::components) {
        ancestor.push(name);
        match ancestor.symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let made = host_files::make_folder(&ancestor);
                made.map_err(|error| of_name(&ancestor, error))?;
            }
            Err(error) => return Err(error),
            Ok(data) if data.is_dir() => {}
            Ok(_) => return Ok(false),
        }
    }
    Ok(true)
}

/// EILSEQ on Linux, and on macOS and the BSDs. The standard library has no kind for it.
const NO_TEXT: [i32; 3] = [84, 92, 86];
const BAD_NAME: &str = "the file system does not accept its name; rename it with `inmost mv`";

/// The name of a file until it is complete. The next export removes it after an interruption. No memory file can have
/// this name, because it decodes to a name with a `/`.
const PARTIAL: &str = ".inmost%2Fpartial";

#[cfg(test)]
mod tests {
    use super::*;

    /// exfat-fuse has such errors for a name with a colon. They ended the whole export.
    #[test]
    fn a_name_that_a_file_system_cannot_hold_is_told_from_a_folder_that_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let not_found = || io::Error::from(io::ErrorKind::NotFound);
        assert!(is_about_name(&of_name(&folder.path().join("a:b"), not_found())));
        let no_text = io::Error::from_raw_os_error(if cfg!(target_os = "linux") { 84 } else { 92 });
        assert!(is_about_name(&of_name(&folder.path().join("a"), no_text)));
        let gone = folder.path().join("gone").join("a");
        assert!(!is_about_name(&of_name(&gone, not_found())));
        let full = io::Error::from(io::ErrorKind::StorageFull);
        assert!(!is_about_name(&of_name(&folder.path().join("a"), full)));
    }
}
