//! The records of a generation as bare bytes, a part at a time.

use std::iter;
use std::sync::{Mutex, PoisonError};

use inmost_storage::{Address, BareFiles, Extent, StorageError};
use tokio_postgres::types::Type;

use super::failure::Failure;
use super::generation::Generation;
use super::{rows, statements};

/// The values in the order of their addresses. Each part is a file of its own.
pub(super) struct BareRecords {
    generation: Generation,
    extents: Vec<Extent>,
    /// The last address of each part.
    ends: Vec<Address>,
    /// The part that was read last.
    read: Mutex<Option<(u32, Vec<u8>)>>,
}

impl BareRecords {
    pub(super) fn find(generation: Generation) -> Result<Self, StorageError> {
        let (vault, number) = (generation.place.vault(), generation.number);
        let found = generation.place.server.read(|connection| {
            connection.read(statements::PARTS, &[(&vault, Type::BYTEA), (&number, Type::INT8)])
        })?;
        let (mut extents, mut ends) = (Vec::new(), Vec::new());
        for (file, row) in (0..).zip(&found) {
            let read = || Ok((rows::address(row, 0)?, rows::column::<i64>(row, 1)?));
            let (end, length) = read().map_err(Failure::of_read)?;
            let length = u64::try_from(length).unwrap_or_default();
            extents.push(Extent { file, offset: 0, length, written: 0, is_ordered: false });
            ends.push(end);
        }
        Ok(Self { generation, extents, ends, read: Mutex::new(None) })
    }

    fn part(&self, file: u32) -> Result<Vec<u8>, StorageError> {
        let index = usize::try_from(file).unwrap_or(usize::MAX);
        let end = self.ends.get(index).ok_or(StorageError::Missing)?;
        let before = index.checked_sub(1).and_then(|index| self.ends.get(index));
        let before = before.map_or([].as_slice(), |address| address.0.as_slice());
        let (vault, number, end) =
            (self.generation.place.vault(), self.generation.number, end.0.as_slice());
        let found = self.generation.place.server.read(|connection| {
            let found = connection.read(
                statements::PART,
                &[
                    (&vault, Type::BYTEA),
                    (&number, Type::INT8),
                    (&before, Type::BYTEA),
                    (&end, Type::BYTEA),
                ],
            )?;
            found.iter().map(|row| rows::value(row, 0)).collect::<Result<Vec<_>, _>>()
        })?;
        Ok(found.concat())
    }
}

impl BareFiles for BareRecords {
    fn extents(&self) -> &[Extent] {
        &self.extents
    }

    fn read(&self, file: u32, offset: u64, buffer: &mut [u8]) -> Result<(), StorageError> {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = match read.take() {
            Some((last, bytes)) if last == file => bytes,
            _ => self.part(file)?,
        };
        let offset = usize::try_from(offset).unwrap_or(usize::MAX);
        let from = bytes.get(offset..).unwrap_or_default().iter().chain(iter::repeat(&0));
        buffer.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
        *read = Some((file, bytes));
        Ok(())
    }
}
