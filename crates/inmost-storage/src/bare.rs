//! The files of a generation as bare bytes, for reading a store that its engine cannot read.

use crate::StorageError;

/// The files of one generation. Nothing is written to them, and the engine need not be able to open them.
pub trait BareFiles: Send + Sync {
    /// Returns the extents in which sealed values may lie. Together they are all bytes of the files.
    fn extents(&self) -> &[Extent];

    /// Reads bytes of a file from this offset on. Bytes behind its end, and bytes that the disk cannot read, are zero.
    fn read(&self, file: u32, offset: u64, buffer: &mut [u8]) -> Result<(), StorageError>;
}

/// A part of a file. No value crosses its borders.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Extent {
    /// The number of the file.
    pub file: u32,
    /// Where the extent begins, in bytes.
    pub offset: u64,
    /// Its length in bytes.
    pub length: u64,
    /// When it was written, as a number that grows with time; 0 if that is not known.
    pub written: u64,
    /// Whether later bytes in it were written later.
    pub is_ordered: bool,
}
