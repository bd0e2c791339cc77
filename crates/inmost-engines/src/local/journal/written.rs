//! When the parts of a journal were written.

use super::layout::{self, BLOCK, Slot};
use crate::local_engine::{PartOfFile, ReadAt};

/// Divides a journal into its entries, and orders them by when they were written. Entries that a slot names as stored come before
/// everything in the engine (a later version of what they hold may be in the engine alone), the others after it. Blocks outside of
/// entries are of unknown age: they may be the rest of an entry of an earlier epoch, whose beginning was overwritten.
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
        match layout::sequence_of(&start) {
            Some((sequence, bytes)) => {
                end = offset.saturating_add(u64::try_from(bytes).unwrap_or(u64::MAX));
                let is_stored = sequence <= stored;
                parts.push(part(if is_stored {
                    sequence
                } else {
                    AFTER_THE_ENGINE.saturating_add(sequence)
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
