//! The files `header.a` and `header.b`: each is replaced as a whole, and what it held before is overwritten.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use inmost_storage::FileProblem;
use inmost_storage::limits;
use inmost_storage::{HeaderCopy, StorageError};

use crate::files;

pub(super) const COPIES: [HeaderCopy; 2] = [HeaderCopy::A, HeaderCopy::B];

pub(super) fn name(copy: HeaderCopy) -> &'static str {
    match copy {
        HeaderCopy::A => "header.a",
        HeaderCopy::B => "header.b",
    }
}

/// The name under which a copy is written before it takes its place.
pub(super) fn draft_name(copy: HeaderCopy) -> &'static str {
    match copy {
        HeaderCopy::A => "header.a.new",
        HeaderCopy::B => "header.b.new",
    }
}

/// The bytes of a copy, at most 64 KiB; `None` if there is none.
///
/// A link, pipe or folder in its place reads as an empty copy, so as a damaged one: it must not keep the other copy
/// from being used.
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

/// Replaces a copy durably. A link or pipe in its place goes, and nothing is written to what it leads to.
///
/// # Errors
/// [`StorageError::Odd`] if either copy is a folder, before anything is written: with one copy new and the other
/// impossible, a change would be neither made nor not made.
pub(super) fn replace(folder: &Path, copy: HeaderCopy, bytes: &[u8]) -> Result<(), StorageError> {
    for copy in COPIES {
        refuse_folder(&path(folder, copy))?;
    }
    let (path, draft) = (path(folder, copy), folder.join(draft_name(copy)));
    discard_draft(folder, copy);
    // Opened before the rename: afterwards the old inode has no name to reach it by.
    let replaced = files::open_to_write(&path);
    let written = files::create_private_file(&draft).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&draft, &path)
    });
    if let Err(error) = written {
        discard_draft(folder, copy);
        return Err(error.into());
    }
    files::sync_folder(folder)?;
    if let Ok(replaced) = replaced {
        let _ = fill_with_zeros(&replaced);
    }
    Ok(())
}

/// Overwrites and removes an unfinished copy, best effort.
pub(super) fn discard_draft(folder: &Path, copy: HeaderCopy) {
    let draft = folder.join(draft_name(copy));
    if let Ok(file) = files::open_to_write(&draft) {
        let _ = fill_with_zeros(&file);
    }
    let _ = fs::remove_file(draft);
}

/// Overwrites a copy where it is. What is no file at all has nothing to overwrite.
///
/// # Errors
/// [`StorageError::Odd`] if it has other names: it may be somebody's own file, and is not touched.
pub(super) fn overwrite(folder: &Path, copy: HeaderCopy) -> Result<(), StorageError> {
    match files::open_to_write(&path(folder, copy)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        opened => match opened.map_err(StorageError::from) {
            Err(StorageError::UntrustedFile(odd)) if !odd.is_hard_link() => Ok(()),
            opened => Ok(fill_with_zeros(&opened?)?),
        },
    }
}

/// # Errors
/// [`UntrustedFile`](inmost_storage::UntrustedFile) for a folder, which is nobody's to remove but who made it.
pub(super) fn refuse_folder(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => Err(files::odd(path, FileProblem::Folder)),
        _ => Ok(()),
    }
}

fn path(folder: &Path, copy: HeaderCopy) -> PathBuf {
    folder.join(name(copy))
}

/// Old key slots must not lie readable in free blocks. Best effort: a file system that writes elsewhere
/// keeps the old block, and SSDs keep what they like.
fn fill_with_zeros(mut file: &File) -> io::Result<()> {
    let length = file.metadata()?.len().min(limits::HEADER_READ_BYTES);
    io::copy(&mut io::repeat(0).take(length), &mut file)?;
    file.sync_data()
}
