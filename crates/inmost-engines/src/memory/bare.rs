//! The values of a generation in memory, as bare bytes.

use std::iter;

use inmost_storage::{BareFiles, Extent, StorageError};

/// The values, one after the other.
pub(super) struct BareValues {
    bytes: Vec<u8>,
    whole: [Extent; 1],
}

impl BareValues {
    pub(super) fn new<'v>(values: impl Iterator<Item = &'v Vec<u8>>) -> Self {
        let bytes: Vec<u8> = values.flatten().copied().collect();
        let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        Self {
            bytes,
            whole: [Extent { file: 0, offset: 0, length, written: 0, is_ordered: false }],
        }
    }
}

impl BareFiles for BareValues {
    fn extents(&self) -> &[Extent] {
        &self.whole
    }

    fn read(&self, _file: u32, offset: u64, buffer: &mut [u8]) -> Result<(), StorageError> {
        let offset = usize::try_from(offset).unwrap_or(usize::MAX);
        let bytes = self.bytes.get(offset..).unwrap_or_default().iter().chain(iter::repeat(&0));
        buffer.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
        Ok(())
    }
}
