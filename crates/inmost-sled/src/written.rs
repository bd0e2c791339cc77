//! When the parts of sled's log were written.
//!
//! The header of each segment has its position in the log, which grows with all that was ever written. Segments are used again, so
//! their order in the file is not that of their writing.

use super::log::{SEGMENT, SegmentHeader};
use inmost_engines::local_engine::ReadAt;
use inmost_storage::Extent;

/// Divides a log into its segments, and says when each was written: its position plus one.
pub(super) fn written(read: &mut ReadAt<'_>, length: u64) -> Vec<Extent> {
    let mut parts = Vec::new();
    let mut offset = 0;
    while offset < length {
        let mut header = [0; 20];
        read(offset, &mut header);
        let header = SegmentHeader::decode(&header);
        let written = header.map_or(0, |header| header.start.saturating_add(1));
        let length = SEGMENT.min(length - offset);
        parts.push(Extent { file: 0, offset, length, written, is_ordered: written > 0 });
        offset = offset.saturating_add(SEGMENT);
    }
    parts
}
