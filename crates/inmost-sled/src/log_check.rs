//! Verifies sled's log before sled opens it.
//!
//! When sled opens a log, it replays what follows its snapshot. Where a checksum fails, it believes that it has found the
//! end, and writes zeros over everything behind it: a flipped bit costs every later record, by mere looking. So the replay
//! is walked here first, by sled's own rules, without a write. It must reach the *frontier*, and the messages in effect there must
//! be those that were in effect when the frontier was noted: after a sync, when everything before it was on the disk.
//! What is behind the frontier may be torn, because the journal still has it.
//!
//! Segments that hold nothing in effect are used again or filled with zeros at any time, so damage cannot be told from an
//! ordinary crash by the structure of the log. But sled gives a segment up only when the messages that replace its own are
//! two whole segments back. The frontier follows more closely than that, so what is in effect there is on the disk
//! in every state that a crash can leave.

use std::collections::BTreeMap;
use std::fs::File;

use inmost_engines::local_engine::Frontier;
use inmost_storage::StorageError;

use super::cursor::Cursor;
use super::log::{
    Change, Read, SEGMENT, SEGMENT_HEADER, SegmentHeader, has_room, read_at, read_message,
};
use super::page_table::{Digest, PageTable};
use super::snapshot::Snapshot;

/// A log that may be opened.
pub(super) struct Checked {
    /// Goes on from the end of the log.
    pub(super) cursor: Cursor,
    /// The 40 bytes that begin with the wanted ones, in the newest page that has them and is near the end.
    pub(super) mark: Option<Vec<u8>>,
}

/// Verifies that sled's replay of the first `length` bytes of this log reaches the frontier with nothing lost. Writes
/// nothing.
///
/// # Errors
/// [`StorageError::Corrupt`] with what is damaged.
pub(super) fn check(
    log: &File,
    length: u64,
    snapshot: Option<Snapshot>,
    frontier: &Frontier,
    wanted: &[u8; 16],
) -> Result<Checked, StorageError> {
    let covered = snapshot.as_ref().and_then(|snapshot| snapshot.position);
    let from = covered.unwrap_or(0);
    let from_segment = segment_of(from);
    let segments = Segments::find(log, length, from_segment)?;
    if segments.starts.is_empty() && !from.is_multiple_of(SEGMENT) {
        // The snapshot covers everything. But sled would append to this segment, and the next opening would not find what it wrote.
        return Err(damaged("the last segment of the engine's log has lost its header"));
    }
    let mut replay = Replay {
        table: snapshot.map(|snapshot| snapshot.table).unwrap_or_default(),
        most: length / MESSAGE_BYTES,
        from,
        frontier: frontier.position,
        digest: None,
    };
    let tail = Tail::read(log, &segments)?;
    let end = if segments.starts.is_empty() { from } else { replay.run(log, &segments, &tail)? };
    if end < from {
        return Err(damaged("the engine's log ends before its own snapshot"));
    }
    if end < frontier.position {
        return Err(damaged(ENDS_EARLY));
    }
    replay.reach(frontier.position);
    let is_same = replay.digest.is_none_or(|digest| digest.proof() == frontier.proof);
    // A snapshot of a later position has what is in effect, whatever has become of the messages before it.
    if frontier.position > 0 && from <= frontier.position && !is_same {
        return Err(damaged("a part of the engine's log is damaged"));
    }
    if !replay.table.is_complete() {
        return Err(damaged("a page of the engine's log is missing"));
    }
    let offset = segments.starts.get(&segment_of(end)).copied();
    let cursor = Cursor::at(end, offset, replay.table);
    Ok(Checked { cursor, mark: tail.find(wanted) })
}

pub(super) fn segment_of(position: u64) -> u64 {
    position / SEGMENT * SEGMENT
}

fn damaged(what: &str) -> StorageError {
    StorageError::Corrupt(what.to_owned())
}

/// The segments that can be replayed.
pub(super) struct Segments {
    /// The offset of each in the file, by its position.
    pub(super) starts: BTreeMap<u64, u64>,
    /// From here on, every segment must follow the one before: the one that holds the greatest stable position.
    tail: u64,
}

impl Segments {
    /// Finds the segments from this position on.
    pub(super) fn find(log: &File, length: u64, from: u64) -> Result<Self, StorageError> {
        let mut starts = BTreeMap::new();
        let mut stable = from;
        each_header(log, length, |offset, header| {
            if header.start < from {
                return Ok(());
            }
            stable = stable.max(u64::try_from(header.stable).unwrap_or(0));
            match starts.insert(header.start, offset) {
                // sled panics.
                Some(_) => Err(damaged("two segments of the engine's log have the same position")),
                None => Ok(()),
            }
        })?;
        Ok(Self { starts, tail: segment_of(stable) })
    }
}

/// Calls `found` with every segment header of a file.
pub(super) fn each_header(
    log: &File,
    length: u64,
    mut found: impl FnMut(u64, SegmentHeader) -> Result<(), StorageError>,
) -> Result<(), StorageError> {
    let mut bytes = Vec::new();
    let mut offset = 0;
    while offset < length {
        read_at(log, offset, SEGMENT_HEADER, &mut bytes)?;
        if let Some(header) = SegmentHeader::decode(&bytes) {
            found(offset, header)?;
        }
        offset = offset.saturating_add(SEGMENT);
    }
    Ok(())
}

/// Why a walk through a segment ended.
#[derive(PartialEq, Eq)]
pub(super) enum Ending {
    /// The segment ends here.
    Full,
    /// No whole message begins here.
    Broken,
    /// The file ends within a message.
    Short,
    /// The visitor stopped it.
    Stopped,
}

/// Walks through the messages of a segment. Returns where it ended.
pub(super) fn walk(
    bytes: &[u8],
    start: u64,
    mut visit: impl FnMut(u64, Read) -> Result<bool, StorageError>,
) -> Result<(u64, Ending), StorageError> {
    let mut position = start.saturating_add(SEGMENT_HEADER);
    while has_room(position) {
        let at = usize::try_from(position.saturating_sub(start)).unwrap_or(usize::MAX);
        let message = read_message(bytes.get(at..).unwrap_or_default(), position);
        let length = match message {
            Read::Page { length, .. } | Read::Skip { length } | Read::Batch { length, .. } => {
                length
            }
            Read::Cap => return Ok((position, Ending::Full)),
            Read::Broken => return Ok((position, Ending::Broken)),
            Read::Short => return Ok((position, Ending::Short)),
        };
        if !visit(position, message)? {
            return Ok((position, Ending::Stopped));
        }
        position = position.saturating_add(length);
    }
    Ok((position, Ending::Full))
}

/// The end of the log: the segments in which the first broken message ends everything.
struct Tail {
    messages: Vec<(u64, Read)>,
    /// Where it ends, as sled sees it; 0 if its first segment is missing.
    end: u64,
    /// The last segment that was read, and its position.
    last: (u64, Vec<u8>),
}

impl Tail {
    fn read(log: &File, segments: &Segments) -> Result<Self, StorageError> {
        let mut tail = Self { messages: Vec::new(), end: 0, last: (0, Vec::new()) };
        let mut expected = segments.tail;
        let mut contiguous = Vec::new();
        let mut missing = i64::MAX;
        for (start, offset) in segments.starts.range(segments.tail..) {
            if *start != expected {
                missing = i64::try_from(expected).unwrap_or(i64::MAX);
                break;
            }
            contiguous.push((*start, *offset));
            expected = expected.saturating_add(SEGMENT);
        }
        for (start, offset) in contiguous {
            tail.last.0 = start;
            read_at(log, offset, SEGMENT, &mut tail.last.1)?;
            let messages = &mut tail.messages;
            let (end, ending) = walk(&tail.last.1, start, |position, message| {
                let is_cut = matches!(message, Read::Batch { last, .. } if last > missing);
                if !is_cut {
                    messages.push((position, message));
                }
                Ok(!is_cut)
            })?;
            tail.end = end;
            if ending != Ending::Full {
                break;
            }
        }
        Ok(tail)
    }

    fn find(&self, wanted: &[u8; 16]) -> Option<Vec<u8>> {
        let (start, bytes) = &self.last;
        // Canceled messages are no pages: what they hold was never in effect.
        let mut pages = self.messages.iter().rev().take_while(|(position, _)| position >= start);
        pages.find_map(|(position, message)| {
            let Read::Page { length, .. } = message else { return None };
            let at = usize::try_from(position.checked_sub(*start)?).ok()?;
            let end = at.checked_add(usize::try_from(*length).ok()?)?;
            let message = bytes.get(at..end)?;
            let found = message.windows(wanted.len()).rposition(|window| window == wanted)?;
            Some(message.get(found..found.checked_add(MARK_BYTES)?)?.to_vec())
        })
    }
}

/// What sled's replay does.
struct Replay {
    table: PageTable,
    /// The greatest number that a page can have: each has a message in the file.
    most: u64,
    /// Messages before this position are in the snapshot.
    from: u64,
    frontier: u64,
    /// The digest at the frontier, once it is reached.
    digest: Option<Digest>,
}

impl Replay {
    /// Replays the stable segments, where a broken message only ends its segment, then the tail. Returns where it ended.
    fn run(&mut self, log: &File, segments: &Segments, tail: &Tail) -> Result<u64, StorageError> {
        let mut bytes = Vec::new();
        for (start, offset) in segments.starts.range(..segments.tail) {
            if *start >= tail.end {
                return Ok(tail.end);
            }
            read_at(log, *offset, SEGMENT, &mut bytes)?;
            let visit = |position, message| self.visit(position, message, tail.end);
            let (end, ending) = walk(&bytes, *start, visit)?;
            if matches!(ending, Ending::Short | Ending::Stopped) {
                return Ok(end);
            }
        }
        for (position, message) in &tail.messages {
            if !self.visit(*position, *message, tail.end)? {
                return Ok(*position);
            }
        }
        Ok(tail.end)
    }

    /// Applies a message. Returns `false` if it begins a batch that the end of the log cuts.
    fn visit(&mut self, position: u64, message: Read, end: u64) -> Result<bool, StorageError> {
        match message {
            Read::Batch { last, .. } => Ok(u64::try_from(last).is_ok_and(|last| last < end)),
            Read::Page { page, change, .. } if position >= self.from => {
                if position >= self.frontier {
                    self.reach(self.frontier);
                }
                self.apply(page, change, position)?;
                Ok(true)
            }
            _ => Ok(true),
        }
    }

    fn apply(&mut self, page: u64, change: Change, position: u64) -> Result<(), StorageError> {
        self.table
            .apply(page, change, position, self.most)
            .map_err(|_| damaged("the engine's log has a page with an impossible number"))
    }

    fn reach(&mut self, frontier: u64) {
        if self.from <= frontier {
            self.digest.get_or_insert(self.table.digest());
        }
    }
}

/// No message is shorter.
pub(super) const MESSAGE_BYTES: u64 = 8;
/// The length of the mark of the journal.
const MARK_BYTES: usize = 40;
const ENDS_EARLY: &str = "the engine's log ends before the position that the journal names; the end of the log was lost, or log and journal are from different copies of the store";
