//! When the parts of a journal were written.

use super::layout::{self, BLOCK, EntryHeader};
use crate::local::PartOfFile;

/// Divides a journal at the beginnings of its entries, and says when each was written: after everything in the engine, in the
/// order of the numbers. Entries of epochs before the last two are in the engine for long, and say nothing about the order.
pub(crate) fn written(read: &mut dyn FnMut(u64, &mut [u8]), length: u64) -> Vec<PartOfFile> {
    let block = u64::try_from(BLOCK).unwrap_or(u64::MAX);
    let mut parts: Vec<(PartOfFile, Option<EntryHeader>)> = Vec::new();
    let mut offset = 0;
    while offset < length {
        let mut start = [0; layout::HEADER];
        read(offset, &mut start);
        let own = block.min(length - offset);
        match (layout::header_of_any_journal(&start), parts.last_mut()) {
            (None, Some((last, _))) => last.length = last.length.saturating_add(own),
            (entry, _) => parts.push((PartOfFile { offset, length: own, written: 0 }, entry)),
        }
        offset = offset.saturating_add(block);
    }
    let epochs = parts.iter().filter_map(|(_, entry)| entry.as_ref());
    let last = epochs.map(|entry| entry.epoch).max().unwrap_or_default();
    let is_recent = |entry: &EntryHeader| entry.epoch.saturating_add(1) >= last;
    let dated = parts.into_iter().map(|(part, entry)| {
        let recent = entry.filter(is_recent);
        let written = recent.map_or(0, |entry| AFTER_THE_ENGINE.saturating_add(entry.sequence));
        PartOfFile { written, ..part }
    });
    dated.collect()
}

/// More than any LSN of a log.
const AFTER_THE_ENGINE: u64 = 1 << 63;
