//! The hidden folder in which a store is built, next to its final place.
//!
//! A crash can leave one behind, and the next creation of the same store reuses it. But any user who can
//! write to the parent can create a folder of that name, to own the store that is built in it, or by accident
//! with their own files in it. So the folder is reused and emptied only if it belongs to us and contains only
//! files of a store.

use std::ffi::OsString;
use std::fs::{self, FileType, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use super::folder::parse_generation;
use super::{anchor, ballast, header_file, lock};
use crate::files;
use inmost_storage::FileProblem;

/// Returns the hidden folder for a store at `target`, or `None` if `target` has no file name. Does no I/O.
pub(super) fn folder_for(target: &Path) -> Option<PathBuf> {
    let mut hidden = OsString::from(".");
    hidden.push(target.file_name()?);
    hidden.push(".creating");
    Some(target.with_file_name(hidden))
}

/// Creates the folder, or takes over the one that our own interrupted creation left.
///
/// # Errors
/// [`UntrustedFile`](inmost_storage::UntrustedFile) if it is anything else. Nothing in it has changed then.
pub(super) fn take(folder: &Path) -> io::Result<()> {
    match files::create_private_folder(folder) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            check_is_ours(folder)?;
            files::make_private(folder)
        }
        created => created,
    }
}

/// Removes the files of an interrupted or abandoned creation, except the lock.
pub(super) fn clear_except_lock(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name() == lock::NAME {
            continue;
        }
        if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        } else {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

fn check_is_ours(folder: &Path) -> io::Result<()> {
    let metadata = fs::symlink_metadata(folder)?;
    if !metadata.is_dir() {
        return Err(files::untrusted(folder, FileProblem::of(&metadata)));
    }
    if !only_we_can_write(&metadata) {
        return Err(files::untrusted(folder, FileProblem::Shared));
    }
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if !is_of_a_store(&entry.file_name().to_string_lossy(), entry.file_type()?) {
            return Err(files::untrusted(folder, FileProblem::Foreign));
        }
    }
    Ok(())
}

#[cfg(unix)]
fn only_we_can_write(folder: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    folder.uid() == rustix::process::geteuid().as_raw() && folder.mode() & 0o022 == 0
}

#[cfg(not(unix))]
fn only_we_can_write(_: &Metadata) -> bool {
    true
}

fn is_of_a_store(name: &str, kind: FileType) -> bool {
    let copies = header_file::COPIES;
    if kind.is_dir() {
        parse_generation(name).is_some()
    } else {
        kind.is_file()
            && ([anchor::NAME, ballast::NAME, lock::NAME].contains(&name)
                || copies.map(header_file::name).contains(&name)
                || copies.map(header_file::draft_name).contains(&name)
                || copies.map(header_file::name).iter().any(|copy| name == format!("{copy}.old")))
    }
}
