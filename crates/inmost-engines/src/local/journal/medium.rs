//! The file of a journal: created at its full length, so that writing an entry changes bytes and nothing else.
//!
//! Overwriting blocks that exist, then `fdatasync`, takes half the time of appending: the length, the block map and the
//! journal of the file system stay as they are. A longer journal is another file, which is renamed over this one.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, RwLock};

use inmost_storage::{JournalMac, StorageError};

use super::layout::{self, Place, SLOTS_BYTES, Slot};
use super::{read, write};
use crate::files;
use crate::local::watched::{By, Watched};

/// Where a journal's bytes are. Tests use one in memory that loses unsynced writes.
pub(crate) trait Medium: Send + Sync {
    /// Returns all bytes.
    fn read(&self) -> io::Result<Vec<u8>>;

    /// Overwrites bytes in place.
    fn write_at(&self, offset: usize, bytes: &[u8]) -> io::Result<()>;

    /// Makes everything written so far durable.
    fn sync(&self) -> io::Result<()>;

    /// Puts these bytes in the place of all bytes, atomically and durably.
    ///
    /// # Errors
    /// [`StorageError::Full`] only if nothing has changed.
    fn replace(&self, bytes: &[u8]) -> Result<(), StorageError>;

    /// Makes it durable which bytes are the journal's, if a process was killed in [`replace`](Self::replace).
    fn sync_name(&self) -> io::Result<()>;
}

/// The file `journal` of a generation.
pub(super) struct JournalFile {
    path: PathBuf,
    file: RwLock<File>,
    watched: Arc<Watched>,
}

impl JournalFile {
    /// Creates the file with these bytes, durably.
    pub(super) fn create(folder: &Path, bytes: &[u8], watched: Arc<Watched>) -> io::Result<Self> {
        let path = folder.join(NAME);
        let file = files::create_private_file(&path)?;
        files::write_all_at(&file, bytes, 0)?;
        file.sync_all()?;
        files::sync_folder(folder)?;
        watched.note(&path, By::Number)?;
        Ok(Self { path, file: RwLock::new(file), watched })
    }

    /// Opens the file of an existing generation. Writes nothing.
    pub(super) fn open(folder: &Path, watched: Arc<Watched>) -> Result<Self, StorageError> {
        let path = folder.join(NAME);
        watched.note(&path, By::Number)?;
        let file = match files::open_to_write(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(StorageError::Corrupt("the journal is missing".into()));
            }
            file => file?,
        };
        if file.metadata()?.len() > u64::try_from(LENGTH_MAX).unwrap_or(u64::MAX) {
            return Err(StorageError::Corrupt("the journal is longer than any journal".into()));
        }
        Ok(Self { path, file: RwLock::new(file), watched })
    }

    /// Prepares a file that was read for writing: removes a draft that a crash left, and writes a file anew that has fewer
    /// allocated bytes than its length, which is what a sparse copy leaves.
    pub(super) fn prepare(&self) -> Result<(), StorageError> {
        let _ = fs::remove_file(self.path.with_file_name(DRAFT));
        let is_sparse = files::is_sparse(&read(&self.file).metadata()?);
        if is_sparse { self.replace(&self.read()?) } else { Ok(()) }
    }
}

impl Medium for JournalFile {
    fn read(&self) -> io::Result<Vec<u8>> {
        let file = read(&self.file);
        let length = usize::try_from(file.metadata()?.len()).unwrap_or(usize::MAX);
        let mut bytes = vec![0; length.min(LENGTH_MAX)];
        files::read_exact_at(&file, &mut bytes, 0)?;
        Ok(bytes)
    }

    fn write_at(&self, offset: usize, bytes: &[u8]) -> io::Result<()> {
        files::write_all_at(&read(&self.file), bytes, u64::try_from(offset).unwrap_or(u64::MAX))
    }

    fn sync(&self) -> io::Result<()> {
        let file = read(&self.file);
        file.sync_data().inspect_err(|_| files::forget_cached(&file))
    }

    fn replace(&self, bytes: &[u8]) -> Result<(), StorageError> {
        let mut file = write(&self.file);
        self.watched.replacing(&self.path, By::Number, || {
            match files::replace(&self.path, bytes) {
                Err(error) if files::names(&self.path, &file)? => Err(error.into()),
                // Whether the new file has the name after a power cut is not known, so nothing may be written to it.
                Err(error) => Err(StorageError::Io(io::Error::other(error))),
                Ok(()) => {
                    *file = files::open_to_write(&self.path)?;
                    Ok(())
                }
            }
        })
    }

    fn sync_name(&self) -> io::Result<()> {
        files::sync_folder(self.path.parent().unwrap_or(&self.path))
    }
}

/// The bytes of a journal without entries: zeros behind two slots that are the same. Of the two, the first one counts.
pub(super) fn blank(slot: &Slot, mac: &dyn JournalMac) -> Vec<u8> {
    let mut bytes = [Place::First, Place::Second].map(|place| slot.encode(place, mac)).concat();
    let half = layout::blocks(slot.half_blocks);
    bytes.resize(SLOTS_BYTES.saturating_add(half.saturating_mul(2)), 0);
    bytes
}

pub(crate) const NAME: &str = "journal";
/// The name under which [`files::replace`] writes the file.
const DRAFT: &str = ".journal.new";
/// The longest journal that is read, in bytes: two halves of 16 MiB.
const LENGTH_MAX: usize = SLOTS_BYTES + (32 << 20);
