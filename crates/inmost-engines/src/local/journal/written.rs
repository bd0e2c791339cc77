//! When the parts of a journal were written.

use super::layout::{self, BLOCK, Slot};
use crate::local_engine::{PartOfFile, ReadAt};

/// Divides a journal into its entries, and orders them by when they were written. Entries that a slot names as stored come before
/// everything in the engine (a later version of what they hold may be in the engine alone), the others after it. Other blocks, and
/// those of a torn entry, are of unknown age: they may be the rest of an entry of an earlier epoch.
pub(crate) fn written(read: &mut ReadAt<'_>, length: u64) -> Vec<PartOfFile> {
    let block = u64::try_from(BLOCK).unwrap_or(u64::MAX);
    let mut parts: Vec<PartOfFile> = Vec::new();
    let stored = [0, block].map(|offset| {
        let mut slot = [0; BLOCK];
        read(offset, &mut slot);
        Slot::decode(&slot).map_or(0, |slot| slot.stored.sequence)
    });
    let stored = stored.into_iter().max().unwrap_or_default();
    let (mut offset, mut end) = (0, 0);
    while offset < length {
        let mut start = [0; layout::HEADER];
        read(offset, &mut start);
        let own = block.min(length - offset);
        let part = |written| PartOfFile { offset, length: own, written, is_ordered: true };
        match layout::header_of(&start) {
            Some(header) => {
                let mut entry = vec![0; header.padded()];
                read(offset, &mut entry);
                end = offset.saturating_add(u64::try_from(entry.len()).unwrap_or(u64::MAX));
                parts.push(part(match header.sequence {
                    _ if !layout::is_framed(&header, &entry) => 0,
                    sequence if sequence <= stored => sequence,
                    sequence => AFTER_THE_ENGINE.saturating_add(sequence),
                }));
            }
            None => match parts.last_mut() {
                Some(last) if offset < end || last.written == 0 => {
                    last.length = last.length.saturating_add(own);
                }
                _ => parts.push(part(0)),
            },
        }
        offset = offset.saturating_add(block);
    }
    parts
}

/// More than any LSN of a log.
const AFTER_THE_ENGINE: u64 = 1 << 63;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::local::journal::layout::{Change, JournalId, Layer, Position, encode_entry};
    use inmost_storage::Address;

    /// Two slots that are damaged, then an entry of three blocks and one of one block.
    fn journal() -> Vec<u8> {
        let mut bytes = vec![0; layout::SLOTS_BYTES];
        for (sequence, length) in [(7, 2_400), (8, 100)] {
            let values = [1, 2, 3, 4].map(|number| -> (Address, Change) {
                (Address([number; 32]), Some(vec![number; length]))
            });
            let place = Position { epoch: 1, sequence, bypassed: 0 };
            let mut entry = Vec::new();
            encode_entry(&mut entry, &JournalId([1; 16]), &place, None, &Layer::from(values));
            bytes.extend_from_slice(&entry);
        }
        bytes
    }

    fn times(bytes: &[u8]) -> Vec<(u64, u64)> {
        let mut read = |offset: u64, buffer: &mut [u8]| {
            let bytes = bytes.iter().skip(offset.try_into().unwrap_or_default());
            buffer.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
        };
        let parts = written(&mut read, u64::try_from(bytes.len()).unwrap_or_default());
        parts.iter().map(|part| (part.length / 4096, part.written)).collect()
    }

    #[test]
    fn blocks_of_a_torn_entry_are_of_unknown_age() {
        let mut bytes = journal();
        let after = |sequence| AFTER_THE_ENGINE + sequence;
        assert_eq!(times(&bytes), [(2, 0), (3, after(7)), (1, after(8))]);
        // A byte of a value is damaged.
        bytes[layout::SLOTS_BYTES + BLOCK] ^= 1;
        assert_eq!(times(&bytes), [(2, 0), (3, after(7)), (1, after(8))]);
        // The second block of the first entry is that of an earlier epoch.
        bytes[layout::SLOTS_BYTES + BLOCK..][..BLOCK].fill(9);
        assert_eq!(times(&bytes), [(2, 0), (3, 0), (1, after(8))]);
    }
}
