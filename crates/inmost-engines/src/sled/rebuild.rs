//! Makes a lost snapshot anew.
//!
//! Without a snapshot, sled replays the whole log. But it has filled segments with zeros that hold nothing in effect, and if
//! one of the last is among them, sled takes the log for torn there and destroys the rest. Everything in effect at the
//! frontier is on the disk, though, and the frontier proves which messages these are. So the snapshot of the frontier is made
//! from them. It is an index of the log and holds no data.

use std::collections::BTreeMap;
use std::fs::File;

use inmost_storage::{Frontier, StorageError};

use super::log::{Change, Read, SEGMENT, read_at};
use super::log_check::{Segments, segment_of, walk};
use super::page_table::PageTable;

/// The body of a snapshot of the frontier; `None` if a message is missing, or there is no frontier. Writes nothing.
pub(super) fn rebuild(
    log: &File,
    log_bytes: u64,
    frontier: &Frontier,
) -> Result<Option<Vec<u8>>, StorageError> {
    let end = frontier.position;
    let segments = Segments::find(log, log_bytes, 0)?;
    let mut pages: BTreeMap<u64, Page> = BTreeMap::new();
    let mut table = PageTable::default();
    let mut bytes = Vec::new();
    for (start, offset) in segments.starts.range(..end) {
        read_at(log, *offset, SEGMENT, &mut bytes)?;
        walk(&bytes, *start, |position, message| {
            let Read::Page { page, change, length } = message else {
                return Ok(position < end);
            };
            if position >= end || table.apply(page, change, position, log_bytes).is_err() {
                return Ok(false);
            }
            let message =
                Message { position, offset: offset.saturating_add(position % SEGMENT), length };
            note(&mut pages, page, change, message);
            Ok(true)
        })?;
    }
    let is_whole = end > 0 && table.is_complete() && table.digest().proof() == frontier.proof;
    let offset = segments.starts.get(&segment_of(end)).copied();
    Ok(if is_whole { encode(end, offset, &pages) } else { None })
}

struct Message {
    position: u64,
    offset: u64,
    length: u64,
}

struct Page {
    is_free: bool,
    messages: Vec<Message>,
}

fn note(pages: &mut BTreeMap<u64, Page>, page: u64, change: Change, message: Message) {
    if change == Change::Link {
        if let Some(page) = pages.get_mut(&page).filter(|page| !page.is_free) {
            page.messages.push(message);
        }
    } else {
        let is_free = change == Change::Free;
        pages.insert(page, Page { is_free, messages: vec![message] });
    }
}

/// sled's snapshot of these pages, which have no gap. `None` if a page has more messages than sled can write.
fn encode(end: u64, segment: Option<u64>, pages: &BTreeMap<u64, Page>) -> Option<Vec<u8>> {
    // sled begins the next segment if it ends this close to the end of one.
    let is_full = end % SEGMENT + 32 >= SEGMENT;
    let stable = if is_full { end.next_multiple_of(SEGMENT) } else { end };
    let active = if is_full { 0 } else { segment?.saturating_add(1) };
    let mut body = stable.saturating_add(1).to_le_bytes().to_vec();
    put_number(&mut body, active);
    for page in pages.values() {
        let messages = if page.is_free { 0 } else { u8::try_from(page.messages.len()).ok()? };
        body.push(messages);
        for message in &page.messages {
            body.extend_from_slice(&message.position.to_le_bytes());
            body.push(0);
            put_number(&mut body, message.offset);
            if !page.is_free {
                put_number(&mut body, message.length);
            }
        }
    }
    Some(body)
}

/// Appends a number as [`take_number`](super::log::Bytes::take_number) reads it, in one of the lengths that hold any.
fn put_number(bytes: &mut Vec<u8>, number: u64) {
    if let Ok(number @ 0..=240) = u8::try_from(number) {
        bytes.push(number);
    } else {
        bytes.push(u8::MAX);
        bytes.extend_from_slice(&number.to_le_bytes());
    }
}
