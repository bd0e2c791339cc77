//! The hidden folder beside its place in which a store is built.
//!
//! A crash can leave one behind, and the next creation of the same store uses it again. But anybody who can write
//! to the parent can make a folder of that name: to own the store that is built in it, or by chance, for files of
//! their own. So it is used again, and emptied, only if it belongs to us and holds nothing but what we left.

use std::ffi::OsString;
use std::fs::{self, FileType, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use super::{anchor, ballast, header_file, lock, parse_generation};
use crate::files;
use inmost_storage::FileProblem;

/// Where a store is built that is to appear at `target`; `None` if that has no name. Does no I/O.
pub(super) fn folder_for(target: &Path) -> Option<PathBuf> {
    let mut hidden = OsString::from(".");
    hidden.push(target.file_name()?);
    hidden.push(".creating");
    Some(target.with_file_name(hidden))
}

/// Makes the folder, or takes over what an interrupted creation of ours left.
///
/// # Errors
/// [`UntrustedFile`](inmost_storage::UntrustedFile) if it is no such thing; then nothing in it has changed.
pub(super) fn take(folder: &Path) -> io::Result<()> {
    match files::create_private_folder(folder) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            check_is_ours(folder)?;
            files::make_private(folder)
        }
        created => created,
    }
}

/// Removes what an interrupted or abandoned creation left.
pub(super) fn clear_but_lock(folder: &Path) -> io::Result<()> {
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
        return Err(files::odd(folder, FileProblem::of(&metadata)));
    }
    if !only_we_can_write(&metadata) {
        return Err(files::odd(folder, FileProblem::Shared));
    }
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if !is_of_a_store(&entry.file_name().to_string_lossy(), entry.file_type()?) {
            return Err(files::odd(folder, FileProblem::Foreign));
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
                || copies.map(header_file::draft_name).contains(&name))
    }
}
