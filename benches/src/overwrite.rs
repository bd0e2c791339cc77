//! The reference for durable changes: 4 KiB of a preallocated file are overwritten and synced. A change that
//! must reach the disk cannot cost less, because no metadata of the file system changes.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::random::Random;

/// A file that was filled with zeros and synced.
pub struct Overwrite {
    file: File,
    block: Vec<u8>,
    offset: u64,
}

impl Overwrite {
    /// Creates the file.
    ///
    /// # Errors
    /// The errors of the file system.
    pub fn begin(path: &Path) -> io::Result<Self> {
        let file = File::create_new(path)?;
        file.write_all_at(&vec![0; LENGTH], 0)?;
        file.sync_all()?;
        Ok(Self { file, block: Random::new(1).bytes(BLOCK), offset: 0 })
    }

    /// Overwrites the next block, starting again at the end of the file, and syncs.
    ///
    /// # Errors
    /// The errors of the file system.
    pub fn write_next(&mut self) -> io::Result<()> {
        self.file.write_all_at(&self.block, self.offset)?;
        self.file.sync_data()?;
        self.offset = (self.offset + BLOCK as u64) % LENGTH as u64;
        Ok(())
    }
}

const BLOCK: usize = 4 << 10;
const LENGTH: usize = 1 << 20;
