//! The file of a journal: created at its full length, so that writing an entry changes bytes and nothing else.
//!
//! Overwriting blocks that exist, then `fdatasync`, takes half the time of appending: the length, the block map and the
//! journal of the file system stay as they are.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::local_engine::Frontier;
use inmost_storage::{JournalMac, StorageError};

use super::layout::{BLOCK, JournalId, Place, Position, SLOTS_BYTES, Slot};
use crate::files;

/// Where a journal's bytes are. Tests use one in memory that loses unsynced writes.
pub(crate) trait Medium: Send + Sync {
    /// Returns all bytes.
    fn read(&self) -> io::Result<Vec<u8>>;

    /// Overwrites bytes in place.
    fn write_at(&self, offset: usize, bytes: &[u8]) -> io::Result<()>;

    /// Makes everything written so far durable.
    fn sync(&self) -> io::Result<()>;
}

impl Medium for File {
    fn read(&self) -> io::Result<Vec<u8>> {
        let length = usize::try_from(self.metadata()?.len()).unwrap_or(usize::MAX);
        let mut bytes = vec![0; length.min(LENGTH_MAX)];
        files::read_exact_at(self, &mut bytes, 0)?;
        Ok(bytes)
    }

    fn write_at(&self, offset: usize, bytes: &[u8]) -> io::Result<()> {
        files::write_all_at(self, bytes, u64::try_from(offset).unwrap_or(u64::MAX))
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_data().inspect_err(|_| files::forget_cached(self))
    }
}

/// The bytes of a new journal: zeros behind two slots that say that nothing is in it. Of the two, the first one counts.
pub(super) fn blank(
    id: JournalId,
    half_blocks: u32,
    stored: Position,
    mac: &dyn JournalMac,
) -> Vec<u8> {
    let slot = Slot { id, revision: 0, half_blocks, stored, frontier: Frontier::default() };
    let half = usize::try_from(half_blocks).unwrap_or(usize::MAX).saturating_mul(BLOCK);
    let mut bytes = [Place::First, Place::Second].map(|place| slot.encode(place, mac)).concat();
    bytes.resize(SLOTS_BYTES.saturating_add(half.saturating_mul(2)), 0);
    bytes
}

/// Creates the file with these bytes, durably. Does not sync the folder.
pub(super) fn create(folder: &Path, bytes: &[u8]) -> io::Result<File> {
    let file = files::create_private_file(&path(folder))?;
    file.write_at(0, bytes)?;
    file.sync_all()?;
    Ok(file)
}

/// Opens the file of an existing generation. Writes nothing.
pub(super) fn open(folder: &Path) -> Result<File, StorageError> {
    let path = path(folder);
    let file = match files::open_to_write(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(StorageError::Corrupt("the journal is missing".into()));
        }
        file => file?,
    };
    let metadata = file.metadata()?;
    if metadata.len() > u64::try_from(LENGTH_MAX).unwrap_or(u64::MAX) {
        return Err(StorageError::Corrupt("the journal is longer than any journal".into()));
    }
    Ok(file)
}

/// Prepares a file that was read for writing: removes a draft that a crash left, and writes a file anew that has fewer
/// allocated bytes than its length, which is what a sparse copy leaves.
pub(super) fn prepare(folder: &Path, file: File) -> io::Result<File> {
    let _ = fs::remove_file(folder.join(DRAFT));
    if files::is_sparse(&file.metadata()?) { replace(folder, &file.read()?) } else { Ok(file) }
}

/// Replaces the file by one with these bytes, and returns it.
pub(super) fn replace(folder: &Path, bytes: &[u8]) -> io::Result<File> {
    files::replace(&path(folder), bytes)?;
    files::open_to_write(&path(folder))
}

fn path(folder: &Path) -> PathBuf {
    folder.join(NAME)
}

pub(crate) const NAME: &str = "journal";
/// The name under which [`files::replace`] writes the file.
const DRAFT: &str = ".journal.new";
/// The longest journal that is read, in bytes: two halves of 16 MiB.
const LENGTH_MAX: usize = SLOTS_BYTES + (32 << 20);
