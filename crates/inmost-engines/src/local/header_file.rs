//! The files `header.a` and `header.b`. Each is replaced as a whole, and its old bytes are overwritten.

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
    let (path, draft) = (path(folder, copy), folder.join(draft_name(copy)));
    discard_draft(folder, copy);
    // Opened before the rename, because afterwards the old inode has no name.
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
            opened => Ok(fill_with_zeros(&opened?)?),
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

fn path(folder: &Path, copy: HeaderCopy) -> PathBuf {
    folder.join(name(copy))
}

/// Overwrites the file with zeros, so that old keyslots do not remain readable in free blocks.
///
/// Best effort: a copy-on-write file system keeps the old block, and so may an SSD.
fn fill_with_zeros(mut file: &File) -> io::Result<()> {
    let length = file.metadata()?.len().min(limits::HEADER_READ_BYTES);
    io::copy(&mut io::repeat(0).take(length), &mut file)?;
    file.sync_data()
}
