//! Makes a lost snapshot anew.
//!
//! Without a snapshot, sled replays the whole log. But it has filled segments with zeros that hold nothing in effect, and if
//! one of the last is among them, sled takes the log for torn there and destroys the rest. Everything in effect at the
//! frontier is on the disk, though, and the frontier proves which messages these are. So the snapshot of the frontier is made
//! from them. It is an index of the log and holds no data.

use std::fs::File;

use inmost_engines::local_engine::Frontier;
use inmost_storage::StorageError;

use super::log::{Read, SEGMENT, read_at};
use super::log_check::{MESSAGE_BYTES, Segments, segment_of, walk};
use super::snapshot::{Message, Pages};

/// The body of a snapshot of the frontier; `None` if a message is missing, or there is no frontier. Writes nothing.
pub(super) fn rebuild(
    log: &File,
    log_bytes: u64,
    frontier: &Frontier,
) -> Result<Option<Vec<u8>>, StorageError> {
    let end = frontier.position;
    let segments = Segments::find(log, log_bytes, 0)?;
    let mut pages = Pages::default();
    let mut bytes = Vec::new();
    for (start, offset) in segments.starts.range(..end) {
        read_at(log, *offset, SEGMENT, &mut bytes)?;
        walk(&bytes, *start, |position, message| {
            let Read::Page { page, change, length } = message else {
                return Ok(position < end);
            };
            let offset = offset.saturating_add(position % SEGMENT);
            let message = Message { position, offset, length };
            Ok(position < end
                && pages.apply(page, change, message, log_bytes / MESSAGE_BYTES).is_some())
        })?;
    }
    let offset = segments.starts.get(&segment_of(end)).copied();
    let is_whole = end > 0 && pages.table().proves(frontier);
    Ok(if is_whole { pages.encode(end, offset) } else { None })
}
