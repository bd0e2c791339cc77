//! The files of a generation on disk as bare bytes: the journal, and the engine's log or database.
//!
//! Nothing here depends on an intact file. What the files say about the time at which a part was written only orders the
//! versions of a record that are found in them.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use inmost_storage::{BareFiles, Extent, StorageError};

use super::journal;
use crate::files;

/// A part of a file that was written at one time.
pub(crate) struct PartOfFile {
    pub(crate) offset: u64,
    pub(crate) length: u64,
    /// A number that grows with time; 0 if it is not known.
    pub(crate) written: u64,
    /// Whether later bytes in it were written later.
    pub(crate) is_ordered: bool,
}

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
    pub(super) fn open(folder: &Path) -> Result<Self, StorageError> {
        let mut bare = Self { files: Vec::new(), extents: Vec::new() };
        bare.add(&folder.join(crate::sled::LOG), crate::sled::written)?;
        bare.add(&folder.join(REDB), |_, length| {
            // A database in pages of a tree does not say when a page was written.
            vec![PartOfFile { offset: 0, length, written: THE_ENGINE, is_ordered: false }]
        })?;
        bare.add(&folder.join(journal::NAME), journal::written)?;
        Ok(bare)
    }

    /// Adds a file, if it exists. `written` divides it into parts.
    fn add(
        &mut self,
        path: &Path,
        written: impl FnOnce(&mut dyn FnMut(u64, &mut [u8]), u64) -> Vec<PartOfFile>,
    ) -> Result<(), StorageError> {
        let mut file = match files::open(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            file => file?,
        };
        let length = file.metadata()?.len();
        let extents = written(&mut |offset, buffer| read_lossy(&mut file, offset, buffer), length);
        let number = u32::try_from(self.files.len()).unwrap_or(u32::MAX);
        self.extents.extend(extents.into_iter().map(
            |PartOfFile { offset, length, written, is_ordered }| Extent {
                file: number,
                offset,
                length,
                written,
                is_ordered,
            },
        ));
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

/// The file of redb, in builds without that engine too.
/// After everything that the journal says is in the engine, and before the rest of the journal.
const THE_ENGINE: u64 = 1 << 62;
const REDB: &str = "redb";
/// The unit in which a disk fails.
const BLOCK: usize = 4 << 10;

#[cfg(test)]
mod tests {
    use inmost_storage::{Address, Batch, EngineKind, Storage};

    use super::*;
    use crate::local::LocalStorage;

    fn value(byte: u8) -> Vec<u8> {
        vec![byte; 300]
    }

    /// Where the value lies: the extent's time and the offset in it.
    fn places(bare: &dyn BareFiles, value: &[u8]) -> Vec<(u64, u64)> {
        let mut found = Vec::new();
        for extent in bare.extents() {
            let mut bytes = vec![0; usize::try_from(extent.length).unwrap()];
            bare.read(extent.file, extent.offset, &mut bytes).unwrap();
            let at = bytes.windows(value.len()).position(|window| window == value);
            found.extend(at.map(|at| (extent.written, u64::try_from(at).unwrap())));
        }
        found
    }

    fn put(engine: &dyn inmost_storage::Engine, address: u8, byte: u8) {
        let puts = vec![(Address([address; 32]), value(byte))];
        engine.apply(&Batch { puts, ..Batch::default() }).unwrap();
        engine.sync().unwrap();
    }

    #[test]
    fn values_are_found_in_the_log_and_in_the_journal_in_the_order_of_their_writing() {
        let folder = tempfile::tempdir().unwrap();
        let storage = LocalStorage::create(&folder.path().join("store")).unwrap();
        let engine = storage.create_generation(1, EngineKind::Sled).unwrap();
        // Goes to the engine directly: no root has been replaced yet.
        put(&*engine, 1, 10);
        let expect = Some((Address([1; 32]), Some(value(10))));
        let puts = vec![(Address([1; 32]), value(20))];
        engine.apply(&Batch { expect, puts, ..Batch::default() }).unwrap();
        engine.sync().unwrap();
        put(&*engine, 2, 30);

        let bare = storage.bare_files(1, EngineKind::Sled).unwrap();
        let total: u64 = bare.extents().iter().map(|extent| extent.length).sum();
        let files = ["db", "journal"]
            .map(|name| storage.generation_path(1).join(name).metadata().unwrap().len());
        assert_eq!(total, files.iter().sum::<u64>());
        let order: Vec<_> = [10, 20, 30].map(|byte| places(&*bare, &value(byte))).concat();
        assert_eq!(order.len(), 3, "{order:?}");
        assert!(order.is_sorted() && order.iter().all(|(written, _)| *written > 0), "{order:?}");
        engine.close().unwrap();
    }

    #[test]
    fn missing_files_are_left_out_and_bytes_behind_the_end_are_zero() {
        let folder = tempfile::tempdir().unwrap();
        assert!(BareFolder::open(folder.path()).unwrap().extents().is_empty());
        std::fs::write(folder.path().join("db"), [7; 10]).unwrap();
        let bare = BareFolder::open(folder.path()).unwrap();
        let mut bytes = [1; 20];
        bare.read(0, 5, &mut bytes).unwrap();
        assert_eq!(bytes[..5], [7; 5]);
        assert_eq!(bytes[5..], [0; 15]);
    }
}
