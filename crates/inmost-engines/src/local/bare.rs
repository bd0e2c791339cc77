//! The files of a generation on disk as bare bytes: the journal, and the engine's log or database.
//!
//! Nothing here depends on an intact file. What the files say about the time at which a part was written only orders the
//! versions of a record that are found in them.

use std::fs::{File, Metadata};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use inmost_storage::{BareFiles, Extent, StorageError};

use super::journal;
use crate::files;
use crate::local_engine::{LocalKind, ReadAt, undated};

/// The files of one generation, open for reading.
pub(super) struct BareFolder {
    files: Vec<Mutex<File>>,
    extents: Vec<Extent>,
}

impl BareFolder {
    /// Opens the files that exist.
    ///
    /// # Errors
    /// An error of the operating system, or [`StorageError::UntrustedFile`] for anything but a regular file.
    pub(super) fn open(folder: &Path, engines: &[LocalKind]) -> Result<Self, StorageError> {
        let mut bare = Self { files: Vec::new(), extents: Vec::new() };
        for engine in engines {
            bare.add(&folder.join(engine.file), engine.written)?;
        }
        if bare.files.is_empty() {
            // An engine that this build lacks, or a folder that is gone.
            let entries = match std::fs::read_dir(folder) {
                Err(error) if error.kind() == ErrorKind::NotFound => None,
                entries => Some(entries?),
            };
            for entry in entries.into_iter().flatten() {
                let entry = entry?;
                if entry.file_type()?.is_file() && entry.file_name() != journal::NAME {
                    bare.add(&entry.path(), |_, length| undated(length))?;
                }
            }
        }
        bare.add(&folder.join(journal::NAME), journal::written)?;
        Ok(bare)
    }

    /// Adds a file, if it exists. `written` divides it into parts.
    fn add(
        &mut self,
        path: &Path,
        written: impl FnOnce(&mut ReadAt<'_>, u64) -> Vec<Extent>,
    ) -> Result<(), StorageError> {
        let mut file = match files::open(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            file => file?,
        };
        let length = believable(&file.metadata()?);
        let extents = written(&mut |offset, buffer| read_lossy(&mut file, offset, buffer), length);
        let number = u32::try_from(self.files.len()).unwrap_or(u32::MAX);
        self.extents.extend(extents.into_iter().map(|part| Extent { file: number, ..part }));
        self.files.push(Mutex::new(file));
        Ok(())
    }
}

impl BareFiles for BareFolder {
    fn extents(&self) -> &[Extent] {
        &self.extents
    }

    fn read(&self, file: u32, offset: u64, buffer: &mut [u8]) -> Result<(), StorageError> {
        let index = usize::try_from(file).unwrap_or(usize::MAX);
        let file = self.files.get(index).ok_or(StorageError::Missing)?;
        let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
        read_lossy(&mut file, offset, buffer);
        Ok(())
    }
}

/// How much of a file is looked at. A hole costs its maker nothing and its reader time, so there may be 16 bytes of holes for each byte
/// that the disk holds, and 256 MiB more. An engine opens no log with more.
fn believable(metadata: &Metadata) -> u64 {
    #[cfg(unix)]
    let held = std::os::unix::fs::MetadataExt::blocks(metadata).saturating_mul(512);
    #[cfg(not(unix))]
    let held = metadata.len();
    metadata.len().min(held.saturating_mul(17).saturating_add(256 << 20))
}

/// Reads bytes. Blocks that the disk cannot read are zeros, like everything behind the end of the file.
fn read_lossy(file: &mut File, offset: u64, buffer: &mut [u8]) {
    if read(file, offset, buffer).is_ok() {
        return;
    }
    let mut at = offset;
    for block in buffer.chunks_mut(BLOCK) {
        if read(file, at, block).is_err() {
            block.fill(0);
        }
        at = at.saturating_add(u64::try_from(block.len()).unwrap_or(u64::MAX));
    }
}

fn read(file: &mut File, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
    file.seek(SeekFrom::Start(offset))?;
    let mut rest = buffer;
    loop {
        match file.read(rest) {
            Ok(0) => break,
            Ok(read) => rest = rest.get_mut(read..).unwrap_or_default(),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    rest.fill(0);
    Ok(())
}

/// The unit in which a disk fails.
const BLOCK: usize = 4 << 10;

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_holes_is_not_searched_to_its_end() {
        let folder = tempfile::tempdir().unwrap();
        let file = File::create(folder.path().join(journal::NAME)).unwrap();
        file.set_len(1 << 42).unwrap();
        let bare = BareFolder::open(folder.path(), &[]).unwrap();
        let looked_at: u64 = bare.extents().iter().map(|part| part.length).sum();
        assert_eq!(looked_at, 256 << 20);
    }
}
