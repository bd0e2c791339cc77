//! When the parts of a journal were written.

use super::layout::{self, BLOCK, Slot};
use crate::local::PartOfFile;

/// Divides a journal at the beginnings of its entries, also of those that are in the engine already, and says when each
/// was written: after everything in the engine, or before it if a slot says that it is there already, in the order of the
/// numbers. (A later version of what such an entry holds may be in the engine alone.)
pub(crate) fn written(read: &mut dyn FnMut(u64, &mut [u8]), length: u64) -> Vec<PartOfFile> {
    let block = u64::try_from(BLOCK).unwrap_or(u64::MAX);
    let mut parts: Vec<PartOfFile> = Vec::new();
    let stored = [0, block].map(|offset| {
        let mut slot = [0; BLOCK];
        read(offset, &mut slot);
        Slot::decode(&slot).map_or(0, |slot| slot.stored.sequence)
    });
    let stored = stored.into_iter().max().unwrap_or_default();
    let mut offset = 0;
    while offset < length {
        let mut start = [0; layout::HEADER];
        read(offset, &mut start);
        let own = block.min(length - offset);
        match (layout::sequence_of(&start), parts.last_mut()) {
            (None, Some(last)) => last.length = last.length.saturating_add(own),
            (sequence, _) => {
                let written = match sequence {
                    Some(sequence) if sequence > stored => {
                        AFTER_THE_ENGINE.saturating_add(sequence)
                    }
                    sequence => sequence.unwrap_or_default(),
                };
                parts.push(PartOfFile { offset, length: own, written, is_ordered: true });
            }
        }
        offset = offset.saturating_add(block);
    }
    parts
}

/// More than any LSN of a log.
const AFTER_THE_ENGINE: u64 = 1 << 63;
