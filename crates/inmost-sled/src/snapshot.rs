//! sled's snapshots: its index of the log, with the place of every message in effect. A snapshot holds no data.

use std::collections::BTreeMap;

use super::log::{Bytes, Change, RED_ZONE, SEGMENT};
use super::page_table::PageTable;

/// What is read of a snapshot before sled opens it: the position that it covers the log up to, and the table there.
pub(super) struct Snapshot {
    /// `None` for that of an empty log.
    pub(super) position: Option<u64>,
    pub(super) table: PageTable,
}

impl Snapshot {
    /// Reads the body of a snapshot; `None` if it is not valid, or if the log has not all that it refers to. `most` bounds the
    /// positions and pages in it.
    pub(super) fn decode(body: &[u8], most: u64, log_bytes: u64) -> Option<Self> {
        let mut table = PageTable::default();
        let stable = each_message(body, log_bytes, |page, change, message| {
            table.apply(page, change, message.position, most).ok()
        })?;
        Some(Self { position: u64::try_from(stable).ok(), table })
    }
}

/// Where a message is.
#[derive(Clone, Copy)]
pub(super) struct Message {
    /// In the log.
    pub(super) position: u64,
    /// In the file.
    pub(super) offset: u64,
    /// 0 in a snapshot for the message that made a page free.
    pub(super) length: u64,
}

/// The messages in effect, by page.
#[derive(Default)]
pub(super) struct Pages {
    pages: BTreeMap<u64, Page>,
    table: PageTable,
}

struct Page {
    is_free: bool,
    messages: Vec<Message>,
}

impl Pages {
    /// Reads the body of a snapshot, and the position that it covers the log up to. The arguments are those of [`Snapshot::decode`].
    pub(super) fn decode(body: &[u8], most: u64, log_bytes: u64) -> Option<(u64, Self)> {
        let mut pages = Self::default();
        let stable = each_message(body, log_bytes, |page, change, message| {
            pages.apply(page, change, message, most)
        })?;
        Some((u64::try_from(stable).unwrap_or(0), pages))
    }

    /// Applies a message. `None` if `most`, which bounds the number of a page, shows that no log has it.
    pub(super) fn apply(
        &mut self,
        page: u64,
        change: Change,
        message: Message,
        most: u64,
    ) -> Option<()> {
        self.table.apply(page, change, message.position, most).ok()?;
        if change == Change::Link {
            if let Some(page) = self.pages.get_mut(&page).filter(|page| !page.is_free) {
                page.messages.push(message);
            }
        } else {
            let is_free = change == Change::Free;
            self.pages.insert(page, Page { is_free, messages: vec![message] });
        }
        Some(())
    }

    pub(super) fn table(&self) -> &PageTable {
        &self.table
    }

    /// The body of a snapshot of these pages, which have no gap. The log ends at `end`, in the segment at this offset of the file.
    /// `None` if a page has more messages than sled can write, or the offset is needed and not known.
    pub(super) fn encode(&self, end: u64, segment: Option<u64>) -> Option<Vec<u8>> {
        let stable = covered(end);
        let active = if stable == end { segment?.saturating_add(1) } else { 0 };
        let mut body = stable.saturating_add(1).to_le_bytes().to_vec();
        put_number(&mut body, active);
        for page in self.pages.values() {
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
}

/// The position that a snapshot of a log that ends at `end` covers: the next segment if no message has room in this one.
///
/// If exactly [`RED_ZONE`] bytes are left, sled skips them when it opens a log. But a running sled still writes there, so a snapshot
/// must not cover them.
pub(super) fn covered(end: u64) -> u64 {
    if end % SEGMENT + RED_ZONE > SEGMENT { end.next_multiple_of(SEGMENT) } else { end }
}

/// Calls `found` with each message in the body of a snapshot. Returns the position that it covers the log up to, -1 for an empty
/// log.
pub(super) fn each_message(
    body: &[u8],
    log_bytes: u64,
    mut found: impl FnMut(u64, Change, Message) -> Option<()>,
) -> Option<i64> {
    let mut bytes = Bytes(body);
    let stable = i64::from_le_bytes(bytes.take()?).checked_sub(1).filter(|stable| *stable >= -1)?;
    let _active_segment = bytes.take_number()?;
    let mut page = 0;
    while !bytes.0.is_empty() {
        let [messages] = bytes.take()?;
        for index in 0..messages.max(1) {
            let position = u64::try_from(i64::from_le_bytes(bytes.take()?)).ok()?;
            // Where in the file: in the log, never in a file of its own.
            let offset = (bytes.take::<1>()? == [0]).then(|| bytes.take_number())??;
            let change = match (messages, index) {
                (0, _) => Change::Free,
                (_, 0) => Change::Replace,
                _ => Change::Link,
            };
            let length = if messages > 0 { bytes.take_number()? } else { 0 };
            // The replay does not come to it, so nothing else notices that the end of the log is cut off.
            if messages > 0 && offset.checked_add(length)? > log_bytes {
                return None;
            }
            found(page, change, Message { position, offset, length })?;
        }
        page += 1;
    }
    Some(stable)
}

/// Appends a number as [`Bytes::take_number`] reads it, in one of the lengths that hold any.
fn put_number(bytes: &mut Vec<u8>, number: u64) {
    if let Ok(number @ 0..=240) = u8::try_from(number) {
        bytes.push(number);
    } else {
        bytes.push(u8::MAX);
        bytes.extend_from_slice(&number.to_le_bytes());
    }
}
