//! The file `anchor`: one block, which a disk writes as a whole.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use inmost_storage::StorageError;

use super::watched::Watched;
use crate::files;

/// The anchor of one store. Its file is opened once, because every commit writes to it.
#[derive(Default)]
pub(super) struct AnchorFile(Mutex<Option<File>>);

impl AnchorFile {
    /// Returns the block, or as much of it as there is; `None` if the file does not exist.
    pub(super) fn read(folder: &Path) -> Result<Option<Vec<u8>>, StorageError> {
        let file = match files::open(&folder.join(NAME)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        let mut bytes = Vec::new();
        file.take(BLOCK).read_to_end(&mut bytes)?;
        Ok(Some(bytes))
    }

    /// Refuses an anchor with other hard links. It would never be written, and so never show a rollback again.
    ///
    /// # Errors
    /// [`StorageError::UntrustedFile`].
    pub(super) fn refuse_other_names(folder: &Path) -> Result<(), StorageError> {
        let path = folder.join(NAME);
        match fs::symlink_metadata(&path) {
            Ok(metadata) => Ok(files::refuse_other_names(&path, &metadata)?),
            Err(_) => Ok(()),
        }
    }

    /// Writes the block. The first write of a session, and the first after a failed one, is synced in any case.
    ///
    /// The block is the first sector of the file, so a power cut leaves it as some write made it. Without the one sync,
    /// a power cut within the roughly 30 seconds that a system may delay a write would leave the block of an earlier
    /// session. A later write is synced if something durable follows that means nothing without it.
    pub(super) fn write(
        &self,
        folder: &Path,
        watched: &Watched,
        bytes: &[u8],
        durability: Durability,
    ) -> Result<(), StorageError> {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_synced = held.is_none() || durability == Durability::OfThisWrite;
        let file = match &mut *held {
            Some(file) => file,
            empty => {
                let file = empty.insert(open(folder)?);
                watched.note_open(&folder.join(NAME))?;
                file
            }
        };
        let written = (|| {
            // One call within one page of the system's cache: a killed process leaves all of it or nothing.
            files::write_all_at(file, bytes, 0)?;
            if is_synced { file.sync_data() } else { Ok(()) }
        })();
        if written.is_err() {
            files::forget_cached(file);
            *held = None;
        }
        Ok(written?)
    }
}

/// Which writes of the anchor are synced.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Durability {
    /// The first one of a session.
    OfFirstWrite,
    /// This one too.
    OfThisWrite,
}

/// Opens the file. A new file is created at its full size, so that later writes never have to allocate.
fn open(folder: &Path) -> io::Result<File> {
    let path = folder.join(NAME);
    match files::open_to_write(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let mut file = files::create_private_file(&path)?;
            io::copy(&mut io::repeat(0).take(FILE), &mut file)?;
            file.sync_all()?;
            files::sync_folder(folder)?;
            Ok(file)
        }
        opened => opened,
    }
}

pub(super) const NAME: &str = "anchor";
/// One sector.
const BLOCK: u64 = 512;
/// One block of the file system.
const FILE: u64 = 4_096;
