//! Follows sled's log while sled writes it, to know the frontier: the position up to which everything is on the disk, and what
//! is in effect there. [`log_check`](super::log_check) compares both with the log before sled opens it again.

use std::fs::File;
use std::io;

use inmost_engines::local_engine::Frontier;
use inmost_storage::StorageError;

use super::log::{Change, Read, SEGMENT, SEGMENT_HEADER, has_room, read_at, read_message};
use super::log_check::{each_header, segment_of};
use super::page_table::PageTable;
use super::snapshot::Message;

/// How far the log was followed.
pub(super) struct Progress {
    pub(super) cursor: Cursor,
    /// The last position that was synced.
    pub(super) frontier: Frontier,
    /// The position that the newest snapshot covers.
    covered: u64,
    /// Records that sled was given since the log was followed last.
    unfollowed: usize,
}

impl Progress {
    /// Begins where sled has replayed the log to. Its snapshot covers all of that.
    pub(super) fn new(cursor: Cursor) -> Self {
        let covered = cursor.position;
        Self { cursor, frontier: Frontier::default(), covered, unfollowed: 0 }
    }

    /// Follows the log to its end. sled must have flushed it.
    pub(super) fn advance(&mut self, log: &File) -> io::Result<()> {
        self.unfollowed = 0;
        self.cursor.advance(log)
    }

    /// Counts records that sled was given. Returns whether it can be given [`NEXT_RECORDS`] more before the log is followed: all of
    /// them together begin at most one segment.
    pub(super) fn count(&mut self, records: usize) -> bool {
        self.unfollowed = self.unfollowed.saturating_add(records);
        let rest = SEGMENT.saturating_sub(self.cursor.position % SEGMENT);
        let most = rest.saturating_add(SEGMENT) / RECORD_BYTES;
        let records = self.unfollowed.saturating_add(NEXT_RECORDS);
        !self.cursor.is_lost && u64::try_from(records).is_ok_and(|records| records <= most)
    }

    #[cfg(test)]
    pub(super) fn position(&self) -> u64 {
        self.cursor.position
    }

    /// The end of the log, unless sled was given records since it was followed.
    #[cfg(test)]
    pub(super) fn followed(&self) -> Option<u64> {
        (self.unfollowed == 0).then_some(self.cursor.position)
    }

    /// Moves the frontier to the end of the log, which was just synced; inside a batch it stays. If the log cannot be followed,
    /// there is no frontier from here on: sled uses the segments of the last one again.
    pub(super) fn note_synced(&mut self) {
        if self.cursor.is_lost {
            self.frontier = Frontier::default();
        } else if let Some(frontier) = self.cursor.frontier() {
            self.frontier = frontier;
        }
    }

    /// Whether the end of the log is in another segment than the last position that was synced, or is not known.
    pub(super) fn has_left_segment(&self) -> bool {
        let Cursor { position, is_lost, .. } = self.cursor;
        is_lost || segment_of(position) != segment_of(self.frontier.position)
    }

    /// Whether the next opening would replay more than the last segment, which sled always reads.
    pub(super) fn is_behind_by_segments(&self) -> bool {
        segment_of(self.covered) < segment_of(self.cursor.position)
    }

    /// Whether everything in the log was followed and synced, and no batch is incomplete.
    pub(super) fn is_at_frontier(&self) -> bool {
        self.unfollowed == 0 && self.cursor.frontier() == Some(self.frontier)
    }

    /// Notes a snapshot of the frontier.
    pub(super) fn note_snapshot(&mut self) {
        self.covered = self.frontier.position;
        self.cursor.uncovered = Some(Vec::new());
    }
}

/// A message that changes a page.
#[derive(Clone, Copy)]
pub(super) struct Noted {
    pub(super) page: u64,
    pub(super) change: Change,
    pub(super) message: Message,
}

/// Follows the log while sled writes it.
pub(super) struct Cursor {
    /// Everything before this position was read.
    position: u64,
    /// Where the segment of that position is in the file, if that is known.
    offset: Option<u64>,
    table: PageTable,
    /// The last position of a batch that is not complete.
    batch: Option<i64>,
    /// What was read since the newest snapshot; `None` if that is more than [`MOST_NOTED`].
    uncovered: Option<Vec<Noted>>,
    /// Whether the log has something that sled does not write.
    is_lost: bool,
}

impl Default for Cursor {
    fn default() -> Self {
        Self::at(0, None, PageTable::default())
    }
}

impl Cursor {
    /// Begins at a position, whose segment is at this offset.
    pub(super) fn at(position: u64, offset: Option<u64>, table: PageTable) -> Self {
        Self { position, offset, table, batch: None, uncovered: Some(Vec::new()), is_lost: false }
    }

    /// The messages that the newest snapshot does not cover, in their order; `None` if they are not known.
    pub(super) fn uncovered(&self) -> Option<&[Noted]> {
        self.uncovered.as_deref().filter(|_| !self.is_lost)
    }

    /// Where the segment of the position is in the file.
    pub(super) fn segment(&self) -> Option<u64> {
        self.offset.filter(|_| self.position % SEGMENT >= SEGMENT_HEADER)
    }

    /// Reads what was written since the last time. sled must have flushed it.
    ///
    /// On Windows, sled's lock keeps everything but sled's own handle from reading the log. Then the frontier is not known,
    /// and the next opening verifies the log without it.
    pub(super) fn advance(&mut self, log: &File) -> io::Result<()> {
        match self.follow(log) {
            Err(error) if is_locked_out(&error) => {
                self.lose();
                Ok(())
            }
            followed => followed,
        }
    }

    /// Gives up: the frontier is not known from here on.
    pub(super) fn lose(&mut self) {
        self.is_lost = true;
    }

    fn follow(&mut self, log: &File) -> io::Result<()> {
        let length = log.metadata()?.len();
        let mut bytes = Vec::new();
        let mut most = PIECE;
        while !self.is_lost {
            let rest = SEGMENT.saturating_sub(self.position % SEGMENT);
            if self.position.is_multiple_of(SEGMENT) && !self.enter(log, self.position)? {
                return Ok(());
            }
            let Some(offset) = self.offset else {
                if !self.enter(log, segment_of(self.position))? {
                    self.lose();
                }
                continue;
            };
            let at = offset.saturating_add(self.position % SEGMENT);
            read_at(log, at, most.min(rest), &mut bytes)?;
            let before = self.position;
            match self.read(&bytes, offset, length) {
                Read::Short if most < rest => {
                    // One message is longer than the piece, or only a part of it is in the piece.
                    most = if self.position == before { SEGMENT } else { PIECE };
                }
                Read::Cap if self.enter(log, self.position.next_multiple_of(SEGMENT))? => {}
                _ => return Ok(()),
            }
        }
        Ok(())
    }

    /// Moves on to the first message of a segment, if the file has it.
    fn enter(&mut self, log: &File, start: u64) -> Result<bool, io::Error> {
        let mut found = None;
        let length = log.metadata()?.len();
        let searched = each_header(log, length, |offset, header| {
            if header.start == start {
                found = Some(offset);
            }
            Ok(())
        });
        if let Err(StorageError::Io(error)) = searched {
            return Err(error);
        }
        self.offset = found.or(self.offset);
        if found.is_some() {
            self.position = self.position.max(start.saturating_add(SEGMENT_HEADER));
        }
        Ok(found.is_some())
    }

    /// Applies the messages in these bytes of the segment at this offset. Returns what follows them: `Cap` for the end of the
    /// segment.
    fn read(&mut self, bytes: &[u8], segment: u64, log_bytes: u64) -> Read {
        let mut at = 0;
        while has_room(self.position) {
            let message = read_message(bytes.get(at..).unwrap_or_default(), self.position);
            let length = match message {
                Read::Page { page, change, length } => {
                    let applied = self.table.apply(page, change, self.position, log_bytes);
                    self.is_lost |= applied.is_err();
                    let (position, offset) =
                        (self.position, segment.saturating_add(self.position % SEGMENT));
                    let message = Message { position, offset, length };
                    self.note(Noted { page, change, message });
                    length
                }
                Read::Batch { last, length } => {
                    self.batch = Some(last);
                    length
                }
                Read::Skip { length } => length,
                // sled begins the next segment if it opens a log that ends this close to the end of one.
                Read::Broken if !has_room(self.position.saturating_add(1)) => return Read::Cap,
                ending => return ending,
            };
            at = at.saturating_add(usize::try_from(length).unwrap_or(usize::MAX));
            self.position = self.position.saturating_add(length);
        }
        Read::Cap
    }

    fn note(&mut self, noted: Noted) {
        self.uncovered = self.uncovered.take().filter(|notes| notes.len() < MOST_NOTED);
        self.uncovered.iter_mut().for_each(|notes| notes.push(noted));
    }

    /// The frontier here; `None` inside a batch.
    pub(super) fn frontier(&self) -> Option<Frontier> {
        let end = i64::try_from(self.position).unwrap_or(i64::MAX);
        let is_whole = !self.is_lost && self.batch.is_none_or(|last| last < end);
        let proof = self.table.digest().proof();
        is_whole.then_some(Frontier { position: self.position, proof })
    }
}

/// Whether Windows refused to read because another handle has locked the bytes (`ERROR_LOCK_VIOLATION`).
fn is_locked_out(error: &io::Error) -> bool {
    cfg!(windows) && error.raw_os_error() == Some(33)
}

/// The most messages that are kept for the next snapshot. They take 40 bytes each.
const MOST_NOTED: usize = 1 << 16;
/// The bytes that are read at once while the log is followed.
const PIECE: u64 = 256 << 10;
/// The most bytes that sled writes for a record, on the average of the 18 or more between two looks at the log. In 105,000
/// batches it was 57 KB at most, for records of the greatest length in a store of 30,000.
pub(super) const RECORD_BYTES: u64 = 60 << 10;
/// The most records of a batch that is applied loosely, and of the one behind it.
pub(super) const NEXT_RECORDS: usize = 16;
