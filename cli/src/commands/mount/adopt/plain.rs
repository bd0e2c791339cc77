//! Plain folders: what is in one, and how files are written to and deleted from one.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use inmost::{FileError, Wiped};
use inmost_keyd::OpenStore;
use inmost_mount::{MountError, ScratchNames};

use super::super::failure;
use crate::exit::{Exit, Failure};
use crate::host_files::{self, MAX_FILE_BYTES, why_no_text};
use crate::{display, streams};

/// What is in a folder.
#[derive(Default)]
pub(super) struct Found {
    /// Path below the folder, text and time of each file that the memory can keep.
    pub(super) files: Vec<(String, Wiped<String>, SystemTime)>,
    /// What it cannot keep, and why.
    pub(super) refused: Vec<String>,
    /// Temporary files, which stay out.
    pub(super) scratch: usize,
}

/// Reads what is in a folder, and changes nothing.
pub(super) fn look(store: &OpenStore, folder: &Path, root: &str) -> Result<Found, Failure> {
    let scratch = ScratchNames::new(&[]).map_err(|error| failure(MountError::Scratch(error)))?;
    let is_folder = fs::symlink_metadata(folder).map_err(|error| of_folder(folder, &error))?;
    if !is_folder.is_dir() {
        return Err(failure(MountError::NotAFolder(folder.to_owned())));
    }
    let mut found = Found::default();
    let mut folders = vec![(folder.to_owned(), String::new())];
    while let Some((at, below)) = folders.pop() {
        let entries = fs::read_dir(&at).map_err(|error| of_folder(&at, &error))?;
        for entry in entries {
            let entry = entry.map_err(|error| of_folder(&at, &error))?;
            let path = entry.path();
            let shown = display::path(&path.display().to_string());
            let Ok(name) = entry.file_name().into_string() else {
                found.refused.push(format!("The name {shown} is not UTF-8."));
                continue;
            };
            let below = format!("{below}/{name}");
            if scratch.has(&below) {
                found.scratch = found.scratch.saturating_add(1);
                continue;
            }
            let metadata = fs::symlink_metadata(&path).map_err(|error| of_folder(&path, &error))?;
            if metadata.is_dir() {
                folders.push((path, below));
                continue;
            }
            if let Err(FileError::InvalidPath(reason)) =
                store.files().metadata(&format!("{root}{below}"))
            {
                found.refused.push(format!("The memory refuses the name {shown}: {reason}."));
                continue;
            }
            if metadata.is_symlink() {
                found.refused.push(format!("{shown} cannot be taken: it is a link."));
                continue;
            }
            let file = match host_files::open(&path) {
                Ok(file) => file,
                Err(error) => {
                    found.refused.push(format!("{shown} cannot be taken: {error}."));
                    continue;
                }
            };
            let bytes =
                Wiped::read(file, MAX_FILE_BYTES).map_err(|error| of_folder(&path, &error))?;
            let Some(bytes) = bytes else {
                found.refused.push(format!("{shown} is too long."));
                continue;
            };
            if let Err(reason) = std::str::from_utf8(&bytes).map_err(|_| why_no_text(&bytes)) {
                found.refused.push(format!("{shown} cannot be taken: {reason}."));
                continue;
            }
            let time = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            if let Some(text) = bytes.into_text() {
                found.files.push((below, text, time));
            }
        }
    }
    Ok(found)
}

/// Deletes the plain files whose text was taken in, and the folders that are empty then. Returns what is left.
pub(super) fn delete_taken(plain: &Path, found: &Found) -> io::Result<Vec<PathBuf>> {
    for (below, text, _) in &found.files {
        let path = plain.join(below.trim_start_matches('/'));
        let bytes = host_files::open(&path).and_then(|file| Wiped::read(file, MAX_FILE_BYTES));
        if bytes.is_ok_and(|bytes| bytes.is_some_and(|it| it.as_slice() == text.as_bytes())) {
            fs::remove_file(&path)?;
        }
    }
    let mut left = Vec::new();
    delete_empty(plain, "", &mut left)?;
    host_files::sync_parent(plain)?;
    Ok(left)
}

fn delete_empty(folder: &Path, below: &str, left: &mut Vec<PathBuf>) -> io::Result<()> {
    let scratch = ScratchNames::new(&[]).map_err(io::Error::other)?;
    let before = left.len();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let below = format!("{below}/{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() && !scratch.has(&below) {
            delete_empty(&entry.path(), &below, left)?;
        } else {
            left.push(entry.path());
        }
    }
    if left.len() == before { fs::remove_dir(folder) } else { Ok(()) }
}

/// Whether there is no plain file at a folder, or no folder.
pub(super) fn is_without_files(folder: &Path) -> bool {
    fs::read_dir(folder).map_or_else(
        // Not connected: the process of its mount has ended.
        |error| matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotConnected),
        |mut entries| entries.next().is_none(),
    )
}

/// Writes a folder of the memory to plain files.
pub(super) fn export(store: &OpenStore, root: &str, out: &Path) -> Result<(), Failure> {
    if !store.files().exists(root).map_err(|error| Failure::at(root, error))? {
        return Ok(());
    }
    let mut folders = BTreeSet::from([out.to_owned()]);
    for entry in store.files().walk(root) {
        let entry = entry.map_err(|error| Failure::at(root, error))?;
        if entry.metadata.is_folder() {
            continue;
        }
        let path = entry.path.as_str();
        let below = path.strip_prefix(root).unwrap_or(path).trim_start_matches('/');
        let Some(relative) = host_files::relative(below) else {
            streams::warn(&format!("{} cannot be a plain file.", display::path(path)));
            continue;
        };
        let (text, metadata) =
            store.files().read_with_metadata(path).map_err(|error| Failure::at(path, error))?;
        let place = out.join(relative);
        write_plain(&place, text.as_str(), &metadata).map_err(|error| of_folder(&place, &error))?;
        let above = place.ancestors().skip(1).take_while(|folder| folder.starts_with(out));
        folders.extend(above.map(Path::to_owned));
    }
    for folder in folders {
        let synced = File::open(&folder).and_then(|it| it.sync_all());
        synced.map_err(|error| of_folder(&folder, &error))?;
    }
    Ok(())
}

fn write_plain(path: &Path, text: &str, metadata: &inmost::Metadata) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        host_files::make_folder(parent)?;
    }
    let mut file = host_files::create(path)?;
    file.write_all(text.as_bytes())?;
    if let inmost::EntryKind::File { modified, .. } = metadata.kind {
        file.set_modified(modified)?;
    }
    file.sync_all()
}

/// Checks that no process uses a folder.
pub(super) fn unused(folder: &Path) -> Result<(), Failure> {
    let Some(process) = user_of(folder) else { return Ok(()) };
    let shown = display::path(&folder.display().to_string());
    Err(Failure::new(
        Exit::InUse,
        format!("Process {process} has files in {shown} open."),
        "End it first, so that nothing is written to the plain files any more.",
    ))
}

/// A process that has a file in a folder open, or works there.
fn user_of(folder: &Path) -> Option<u32> {
    // The links there are canonical.
    let folder = &folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let own = std::process::id();
    let processes = fs::read_dir("/proc").ok()?.flatten();
    let numbers = processes.filter_map(|it| it.file_name().to_str()?.parse::<u32>().ok());
    numbers.filter(|number| *number != own).find(|number| {
        let at = PathBuf::from(format!("/proc/{number}"));
        let is_inside = |link: PathBuf| fs::read_link(link).is_ok_and(|to| to.starts_with(folder));
        let open = fs::read_dir(at.join("fd")).ok().into_iter().flatten().flatten();
        is_inside(at.join("cwd")) || open.map(|it| it.path()).any(is_inside)
    })
}

/// A path beside a folder.
pub(super) fn beside(folder: &Path, ending: &str) -> PathBuf {
    let mut name = folder.file_name().unwrap_or_default().to_owned();
    name.push(".");
    name.push(ending);
    folder.with_file_name(name)
}

/// Part of the names of new folders.
pub(super) fn date() -> String {
    jiff::Zoned::now().strftime("%Y%m%d-%H%M%S").to_string()
}

/// The plain folder that was adopted last.
pub(super) fn newest_plain(folder: &Path) -> Option<PathBuf> {
    let prefix = beside(folder, "plain-");
    let prefix = prefix.file_name()?.to_str()?.to_owned();
    let entries = fs::read_dir(folder.parent()?).ok()?.flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let newest = names.filter(|name| name.starts_with(&prefix)).max()?;
    Some(folder.with_file_name(newest))
}

pub(super) fn of_folder(folder: &Path, error: &io::Error) -> Failure {
    let shown = display::path(&folder.display().to_string());
    Failure::new(
        Exit::Io,
        format!("{shown} cannot be read or written: {error}."),
        "Run the command again when that is mended; it goes on where it was.",
    )
}
