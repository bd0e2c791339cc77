//! The file `anchor`: two slots in separate blocks, so a torn write damages only one of them.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use inmost_storage::{AnchorSlot, StorageError};

use crate::files;

/// The anchor of one store. Its file is opened once, because every commit writes to it.
#[derive(Default)]
pub(super) struct AnchorFile(Mutex<Option<File>>);

impl AnchorFile {
    /// Returns the contents of the slots, or nothing if the file does not exist.
    pub(super) fn read(folder: &Path) -> Result<Vec<Vec<u8>>, StorageError> {
        let file = match files::open(&folder.join(NAME)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            file => file?,
        };
        let mut bytes = Vec::new();
        file.take(2 * SLOT).read_to_end(&mut bytes)?;
        let slot = usize::try_from(SLOT).unwrap_or(usize::MAX);
        Ok(bytes.chunks(slot).map(<[u8]>::to_vec).collect())
    }

    /// Writes a slot. Only the first write of a session, and the first after a failed one, is synced.
    ///
    /// Without that sync, a power cut within the roughly 30 seconds that a system may delay a write would
    /// leave a new store without an anchor.
    pub(super) fn write(
        &self,
        folder: &Path,
        slot: AnchorSlot,
        bytes: &[u8],
    ) -> Result<(), StorageError> {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_first = held.is_none();
        let file = match &mut *held {
            Some(file) => file,
            empty => empty.insert(open(folder)?),
        };
        let at = match slot {
            AnchorSlot::Even => 0,
            AnchorSlot::Odd => SLOT,
        };
        let written = (|| {
            file.seek(SeekFrom::Start(at))?;
            file.write_all(bytes)?;
            if is_first { file.sync_data() } else { Ok(()) }
        })();
        if written.is_err() {
            files::forget_cached(file);
            *held = None;
        }
        Ok(written?)
    }
}

/// Opens the file. A new file is created at its full size, so that later writes never have to allocate.
fn open(folder: &Path) -> io::Result<File> {
    let path = folder.join(NAME);
    match files::open_to_write(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let mut file = files::create_private_file(&path)?;
            io::copy(&mut io::repeat(0).take(2 * SLOT), &mut file)?;
            file.sync_all()?;
            files::sync_folder(folder)?;
            Ok(file)
        }
        opened => opened,
    }
}

pub(super) const NAME: &str = "anchor";
/// The distance between the slots, in bytes.
const SLOT: u64 = 4_096;
