//! The files `header.a` and `header.b`. Each is replaced as a whole, and its old bytes are overwritten.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use inmost_storage::FileProblem;
use inmost_storage::limits;
use inmost_storage::{HeaderCopy, StorageError};

use super::overwritten;
use crate::files;

pub(super) const COPIES: [HeaderCopy; 2] = [HeaderCopy::A, HeaderCopy::B];

pub(super) fn name(copy: HeaderCopy) -> &'static str {
    match copy {
        HeaderCopy::A => "header.a",
        HeaderCopy::B => "header.b",
    }
}

/// The temporary name under which a copy is written before the rename.
pub(super) fn draft_name(copy: HeaderCopy) -> &'static str {
    match copy {
        HeaderCopy::A => "header.a.new",
        HeaderCopy::B => "header.b.new",
    }
}

/// Returns the bytes of a copy, at most 64 KiB, or `None` if it does not exist.
///
/// A link, pipe or folder in its place reads as an empty copy, and so as a damaged one. It must not prevent
/// the use of the other copy.
pub(super) fn read(folder: &Path, copy: HeaderCopy) -> Result<Option<Vec<u8>>, StorageError> {
    let file = match files::open(&path(folder, copy)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => match opened.map_err(StorageError::from) {
            Err(StorageError::UntrustedFile(_)) => return Ok(Some(Vec::new())),
            opened => opened?,
        },
    };
    let mut bytes = Vec::new();
    file.take(limits::HEADER_READ_BYTES).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

/// Replaces a copy durably. A link or pipe in its place is removed; its target is not written to.
///
/// # Errors
/// [`StorageError::UntrustedFile`] if either copy is a folder, before anything is written. Otherwise one copy
/// would be new and the other could not be written, and the change would be half made.
pub(super) fn replace(folder: &Path, copy: HeaderCopy, bytes: &[u8]) -> Result<(), StorageError> {
    for copy in COPIES {
        refuse_folder(&path(folder, copy))?;
    }
    Ok(overwritten::replace(&path(folder, copy), &folder.join(draft_name(copy)), bytes)?)
}

/// Overwrites and removes an unfinished copy, best effort.
pub(super) fn discard_draft(folder: &Path, copy: HeaderCopy) {
    overwritten::discard(&folder.join(draft_name(copy)));
    overwritten::forget_old(&path(folder, copy));
}

/// Overwrites a copy in place. Anything but a regular file is skipped.
///
/// # Errors
/// [`StorageError::UntrustedFile`] if the copy has other hard links: it may be a file outside the store and
/// is not touched.
pub(super) fn overwrite(folder: &Path, copy: HeaderCopy) -> Result<(), StorageError> {
    match files::open_to_write(&path(folder, copy)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        opened => match opened.map_err(StorageError::from) {
            Err(StorageError::UntrustedFile(file)) if !file.is_hard_link() => Ok(()),
            opened => Ok(overwritten::fill_with_zeros(&opened?)?),
        },
    }
}

/// Refuses a folder. Only its creator may remove it.
///
/// # Errors
/// [`UntrustedFile`](inmost_storage::UntrustedFile) if the path is a folder.
pub(super) fn refuse_folder(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => Err(files::untrusted(path, FileProblem::Folder)),
        _ => Ok(()),
    }
}

/// Removes a file, if it exists.
///
/// # Errors
/// [`UntrustedFile`](inmost_storage::UntrustedFile) for a folder.
pub(super) fn remove_if_there(path: &Path) -> io::Result<()> {
    refuse_folder(path)?;
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

fn path(folder: &Path, copy: HeaderCopy) -> PathBuf {
    folder.join(name(copy))
}
