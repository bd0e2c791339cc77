//! Files with keyslots: each is replaced as a whole, and its old bytes are overwritten.

use std::fs::{self, File};
use std::io::Write;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use inmost_storage::limits;

use crate::files;

/// Replaces a file durably by way of a draft in the same folder. A link or pipe in its place is removed; its target is
/// not written to. The old bytes are overwritten, best effort.
pub(super) fn replace(path: &Path, draft: &Path, bytes: &[u8]) -> io::Result<()> {
    discard(draft);
    let replaced = Replaced::keep(path);
    let written = files::create_private_file(draft).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()?;
        drop(file);
        files::rename(draft, path)
    });
    if let Err(error) = written {
        discard(draft);
        forget_old(path);
        return Err(error);
    }
    files::sync_folder(path.parent().unwrap_or(path))?;
    replaced.overwrite();
    Ok(())
}

/// The file that is about to be replaced, to overwrite it afterwards.
#[cfg(unix)]
struct Replaced(Option<File>);

#[cfg(unix)]
impl Replaced {
    /// Opens it before the rename, because afterwards it has no name.
    fn keep(path: &Path) -> Self {
        Self(files::open_to_write(path).ok())
    }

    fn overwrite(self) {
        if let Some(file) = self.0 {
            let _ = fill_with_zeros(&file);
        }
    }
}

/// The file that is about to be replaced, under a second name, to overwrite it afterwards. It is not open, because some file
/// systems of Windows do not replace an open file.
#[cfg(not(unix))]
struct Replaced(Option<PathBuf>);

#[cfg(not(unix))]
impl Replaced {
    fn keep(path: &Path) -> Self {
        let old = old_name(path);
        let _ = fs::remove_file(&old);
        let is_kept = files::open(path).is_ok() && fs::hard_link(path, &old).is_ok();
        Self(is_kept.then_some(old))
    }

    fn overwrite(self) {
        if let Some(old) = self.0 {
            discard(&old);
        }
    }
}

/// Removes the second name of a file that was not replaced, or that a crash has left. The file is not overwritten, because
/// it may be the present one.
pub(super) fn forget_old(path: &Path) {
    if cfg!(not(unix)) {
        let _ = fs::remove_file(old_name(path));
    }
}

/// The second name of a file while it is replaced.
pub(super) fn old_name(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".old");
    path.with_file_name(name)
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
