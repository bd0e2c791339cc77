//! Files with keyslots: each is replaced as a whole, and its old bytes are overwritten.

use std::fs::{self, File};
use std::io::Write;
use std::io::{self, Read};
use std::path::Path;

use inmost_storage::limits;

use crate::files;

/// Replaces a file durably by way of a draft in the same folder. A link or pipe in its place is removed; its target is
/// not written to. The old bytes are overwritten, best effort.
pub(super) fn replace(path: &Path, draft: &Path, bytes: &[u8]) -> io::Result<()> {
    discard(draft);
    // Opened before the rename, because afterwards the old inode has no name.
    let replaced = files::open_to_write(path);
    let written = files::create_private_file(draft).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(draft, path)
    });
    if let Err(error) = written {
        discard(draft);
        return Err(error);
    }
    files::sync_folder(path.parent().unwrap_or(path))?;
    if let Ok(replaced) = replaced {
        let _ = fill_with_zeros(&replaced);
    }
    Ok(())
}

/// Overwrites and removes a file, best effort.
pub(super) fn discard(path: &Path) {
    overwrite(path);
    let _ = fs::remove_file(path);
}

/// Overwrites a regular file with one name in place, best effort.
pub(super) fn overwrite(path: &Path) {
    if let Ok(file) = files::open_to_write(path) {
        let _ = fill_with_zeros(&file);
    }
}

/// Overwrites the file with zeros, so that old keyslots do not remain readable in free blocks.
///
/// Best effort: a copy-on-write file system keeps the old block, and so may an SSD.
pub(super) fn fill_with_zeros(mut file: &File) -> io::Result<()> {
    let length = file.metadata()?.len().min(limits::HEADER_READ_BYTES);
    io::copy(&mut io::repeat(0).take(length), &mut file)?;
    file.sync_data()
}
