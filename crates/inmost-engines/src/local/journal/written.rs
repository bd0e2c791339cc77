//! When the parts of a journal were written.

use std::collections::BTreeMap;

use super::layout::{self, BLOCK, Slot};
use crate::local_engine::ReadAt;
use inmost_storage::Extent;

/// Divides a journal into its entries, and orders them by when they were written. Entries that a slot names as stored come before
/// everything in the engine (a later version of what they hold may be in the engine alone), the others after it. Other blocks, and
/// those of a torn entry that may be from before it, are of unknown age: they may be the rest of an entry of an earlier epoch.
pub(crate) fn written(read: &mut ReadAt<'_>, length: u64) -> Vec<Extent> {
    let block = u64::try_from(BLOCK).unwrap_or(u64::MAX);
    let mut parts: Vec<Extent> = Vec::new();
    let stored = [0, block].map(|offset| {
        let mut slot = [0; BLOCK];
        read(offset, &mut slot);
        Slot::decode(&slot).map_or(0, |slot| slot.stored.sequence)
    });
    let stored = stored.into_iter().max().unwrap_or_default();
    let mut offset = 0;
    // The times of the blocks that certainly belong to an entry, by their offsets.
    let mut times: BTreeMap<u64, u64> = BTreeMap::new();
    while offset < length {
        let mut start = [0; layout::HEADER];
        read(offset, &mut start);
        let header = layout::header_of(&start);
        if let Some(header) = &header {
            let mut entry = vec![0; header.padded()];
            read(offset, &mut entry);
            let time = match header.sequence {
                sequence if sequence <= stored => sequence,
                sequence => AFTER_THE_ENGINE.saturating_add(sequence),
            };
            for number in layout::own_blocks(header, &entry) {
                let number = u64::try_from(number).unwrap_or(u64::MAX);
                let at = offset.saturating_add(block.saturating_mul(number));
                times.entry(at).or_insert(time);
            }
        }
        let written = times.remove(&offset).unwrap_or_default();
        let length = block.min(length - offset);
        match parts.last_mut() {
            Some(last) if header.is_none() && last.written == written => {
                last.length = last.length.saturating_add(length);
            }
            _ => parts.push(Extent { file: 0, offset, length, written, is_ordered: true }),
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
    use crate::local::journal::layout::{Change, JournalId, Position, encode_entry};
    use inmost_storage::Address;

    /// Two slots that are damaged, then an entry of three blocks and one of one block.
    fn journal() -> Vec<u8> {
        entries(&[(7, &[2_400; 4]), (8, &[100; 4])])
    }

    /// Two slots that are damaged, and entries with values of these lengths.
    fn entries(entries: &[(u64, &[usize])]) -> Vec<u8> {
        let mut bytes = vec![0; layout::SLOTS_BYTES];
        for (sequence, lengths) in entries.iter().copied() {
            let values = (1..).zip(lengths).map(|(number, length)| -> (Address, Change) {
                (Address([number; 32]), Some(vec![number; *length]))
            });
            let place = Position { epoch: 1, sequence, bypassed: 0 };
            let mut entry = Vec::new();
            encode_entry(&mut entry, &JournalId([1; 16]), &place, None, &values.collect());
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
        // A byte of a value is damaged. The third block has only the rest of the last value.
        bytes[layout::SLOTS_BYTES + BLOCK] ^= 1;
        assert_eq!(times(&bytes), [(2, 0), (2, after(7)), (1, 0), (1, after(8))]);
        // The second block of the first entry is that of an earlier epoch.
        bytes[layout::SLOTS_BYTES + BLOCK..][..BLOCK].fill(9);
        assert_eq!(times(&bytes), [(2, 0), (3, 0), (1, after(8))]);

        // Only the rest of a value is in the second block.
        let mut bytes = entries(&[(7, &[4_100])]);
        assert_eq!(times(&bytes), [(2, 0), (2, after(7))]);
        bytes[layout::SLOTS_BYTES + BLOCK..].fill(9);
        assert_eq!(times(&bytes), [(2, 0), (1, after(7)), (1, 0)]);
    }
}
