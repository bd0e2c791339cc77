//! The bytes of one open file, in memory that is wiped, and what of them is not saved yet.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fuser::Errno;
use inmost::Wiped;

use crate::stores::Caller;

/// The bytes of a file, shared by all its handles.
#[allow(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(crate) struct Buffer {
    bytes: Wiped<Vec<u8>>,
    /// The version of the file that was read or saved last; `None` if the store has no such file yet.
    pub(crate) base: Option<u64>,
    /// Bytes of that version.
    base_bytes: usize,
    /// The first bytes that are as in that version.
    same: usize,
    /// Whether bytes were written since the last save.
    pub(crate) is_written: bool,
    /// Whether anything is to be saved: bytes, a new length, a new file or its time.
    pub(crate) is_changed: bool,
    /// Whether everything since the last save was written at the end by handles for appending.
    only_appends: bool,
    /// Whether the store has marks in the place of something in these bytes.
    pub(crate) is_redacted: bool,
    /// The time of the last change.
    pub(crate) modified: SystemTime,
    /// Why it could not be saved at the last close.
    pub(crate) failure: Option<Errno>,
    /// Who has changed it last.
    pub(crate) caller: Caller,
}

impl Buffer {
    /// The buffer of a file as the store has it.
    pub(crate) fn of(bytes: Wiped<Vec<u8>>, version: u64, modified: SystemTime) -> Self {
        let length = bytes.len();
        Self {
            base: Some(version),
            base_bytes: length,
            same: length,
            is_changed: false,
            modified,
            bytes,
            ..Self::new(Caller::default())
        }
    }

    /// The empty buffer of a file that is not in the store yet.
    pub(crate) fn new(caller: Caller) -> Self {
        Self {
            bytes: Wiped::default(),
            base: None,
            base_bytes: 0,
            same: 0,
            is_written: false,
            is_changed: true,
            only_appends: true,
            is_redacted: false,
            modified: now(),
            failure: None,
            caller,
        }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// By how many bytes it is longer than what is saved.
    pub(crate) fn grown(&self) -> usize {
        self.len().saturating_sub(self.base_bytes)
    }

    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// The bytes as text.
    ///
    /// # Errors
    /// `EILSEQ` if they are not UTF-8, or are a database of `SQLite`.
    pub(crate) fn text(&self) -> Result<&str, Errno> {
        if self.bytes.starts_with(SQLITE) {
            return Err(Errno::EILSEQ);
        }
        std::str::from_utf8(&self.bytes).map_err(|_| Errno::EILSEQ)
    }

    /// Checks bytes that are to be written: they must be part of a text. A character that is cut at an edge may be completed
    /// later, so it is allowed.
    ///
    /// # Errors
    /// `EILSEQ`.
    pub(crate) fn check(&self, offset: usize, data: &[u8]) -> Result<(), Errno> {
        if offset == 0 && data.starts_with(SQLITE) {
            return Err(Errno::EILSEQ);
        }
        let cut = data.iter().take_while(|byte| is_continuation(**byte)).count();
        let (first, rest) = data.split_at_checked(cut).unwrap_or((data, &[]));
        if !is_text_or_cut(rest) {
            return Err(Errno::EILSEQ);
        }
        if first.is_empty() {
            return Ok(());
        }
        let before = self.bytes.get(..offset.min(self.len())).unwrap_or_default();
        match before.last() {
            None if offset == 0 => Err(Errno::EILSEQ),
            // A hole, whose bytes may come later.
            None | Some(0) => Ok(()),
            Some(_) if offset > self.len() => Ok(()),
            Some(_) => {
                let tail = before.iter().rev().take_while(|byte| is_continuation(**byte)).count();
                let start = before.len().saturating_sub(tail.saturating_add(1));
                let mut character = Wiped::new(Vec::with_capacity(8));
                for byte in before.iter().skip(start).chain(first).take(8) {
                    character.push(*byte);
                }
                if is_text_or_cut(&character) { Ok(()) } else { Err(Errno::EILSEQ) }
            }
        }
    }

    /// Writes bytes. A hole before them is filled with zeros.
    pub(crate) fn write(&mut self, offset: usize, data: &[u8], is_append: bool) {
        self.resize_to_at_least(offset);
        let inside = data.len().min(self.len().saturating_sub(offset));
        let (over, beyond) = data.split_at_checked(inside).unwrap_or((data, &[]));
        if let Some(place) = self.bytes.get_mut(offset..offset.saturating_add(inside)) {
            place.copy_from_slice(over);
        }
        self.bytes.append(beyond);
        self.same = self.same.min(offset);
        self.only_appends &= is_append;
        (self.is_written, self.is_changed, self.modified) = (true, true, now());
    }

    /// Sets the length.
    pub(crate) fn resize(&mut self, length: usize) {
        if length == self.len() && !self.is_changed {
            return;
        }
        self.resize_to_at_least(length);
        // The rest of the capacity is wiped with it.
        self.bytes.truncate(length);
        self.same = self.same.min(length);
        (self.is_changed, self.only_appends, self.modified) = (true, false, now());
    }

    fn resize_to_at_least(&mut self, length: usize) {
        let zeros = [0; 4_096];
        while self.len() < length {
            let more = zeros.get(..length.saturating_sub(self.len())).unwrap_or(&zeros);
            self.bytes.append(more);
        }
    }

    /// The version whose first bytes it has kept; `None` if all of it was written anew.
    pub(crate) fn kept(&self) -> Option<u64> {
        self.base.filter(|_| self.same > 0)
    }

    /// The bytes that were added at the end, if nothing else has changed.
    pub(crate) fn appended(&self) -> Option<&[u8]> {
        let is_appended =
            self.base.is_some() && self.base_bytes > 0 && self.same >= self.base_bytes;
        let added = self.bytes.get(self.base_bytes..)?;
        (is_appended || self.only_appends).then_some(added)
    }

    /// Takes over what the store has now, and adds what was added here.
    pub(crate) fn append_again(&mut self, text: &str, version: u64) {
        let added = Wiped::new(self.appended().unwrap_or_default().to_vec());
        let mut bytes = Wiped::new(Vec::with_capacity(text.len().saturating_add(added.len())));
        bytes.append(text.as_bytes());
        bytes.append(&added);
        (self.bytes, self.base_bytes, self.same) = (bytes, text.len(), text.len());
        self.base = Some(version);
    }

    /// Notes that the store has these bytes, as this version.
    pub(crate) fn saved(&mut self, version: u64) {
        (self.base, self.base_bytes, self.same) = (Some(version), self.len(), self.len());
        (self.is_written, self.is_changed, self.only_appends) = (false, false, true);
        (self.failure, self.is_redacted) = (None, false);
    }

    /// Takes over what the store has now, and forgets what was not saved.
    pub(crate) fn reload(&mut self, text: &str, version: u64, modified: SystemTime) {
        self.bytes = Wiped::new(text.as_bytes().to_vec());
        self.saved(version);
        self.modified = modified;
    }
}

fn is_continuation(byte: u8) -> bool {
    byte & 0b1100_0000 == 0b1000_0000
}

/// Whether bytes are UTF-8, but for a character that is cut at their end.
fn is_text_or_cut(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).map_or_else(|error| error.error_len().is_none(), |_| true)
}

/// The current time, in the milliseconds that the store keeps.
pub(crate) fn now() -> SystemTime {
    in_milliseconds(SystemTime::now())
}

/// A time as the store keeps it.
pub(crate) fn in_milliseconds(time: SystemTime) -> SystemTime {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let milliseconds = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
    UNIX_EPOCH.checked_add(Duration::from_millis(milliseconds)).unwrap_or(UNIX_EPOCH)
}

/// How a database of `SQLite` begins. Such a file loses data in a mount, so it is refused.
const SQLITE: &[u8] = b"SQLite format 3\0";

#[cfg(test)]
mod tests {
    use super::*;

    fn buffer(text: &str) -> Buffer {
        Buffer::of(Wiped::new(text.as_bytes().to_vec()), 7, UNIX_EPOCH)
    }

    #[test]
    fn bytes_that_cannot_become_text_are_refused() {
        let (empty, cafe) = (buffer(""), Buffer::of(Wiped::new(b"caf\xc3".to_vec()), 7, now()));
        for (offset, data, is_allowed) in [
            (0, b"caf\xc3".as_slice(), true),
            (0, b"caf\xe9\n", false),
            (0, b"\xa9", false),
            (9, b"\xa9 after a hole", true),
            (0, b"\xff", false),
            (0, b"SQLite format 3\0", false),
            (0, b"SQLite format 3", true),
            (0, b"\0", true),
        ] {
            assert_eq!(empty.check(offset, data).is_ok(), is_allowed, "{offset} {data:?}");
        }
        assert!(cafe.check(4, b"\xa9!").is_ok());
        assert!(cafe.check(4, b"\xa9\xa9").is_err());
        assert!(cafe.check(3, b"\xa9").is_err());
        assert!(cafe.text().is_err());
    }

    #[test]
    fn appends_are_told_from_other_changes() {
        let mut file = buffer("one");
        file.write(3, b" two", false);
        assert_eq!(file.appended(), Some(b" two".as_slice()));
        file.append_again("uno", 9);
        assert_eq!((file.bytes(), file.base), (b"uno two".as_slice(), Some(9)));
        file.write(1, b"N", false);
        assert_eq!(file.appended(), None);
        let mut new = Buffer::new(Caller::default());
        new.write(0, b"x", true);
        assert_eq!(new.appended(), Some(b"x".as_slice()));
        new.write(0, b"x", false);
        assert_eq!(new.appended(), None);
    }

    #[test]
    fn holes_are_zeros_and_lengths_are_set() {
        let mut file = buffer("abc");
        file.write(5, b"f", false);
        assert_eq!(file.bytes(), b"abc\0\0f");
        file.resize(2);
        file.resize(4);
        assert_eq!(file.bytes(), b"ab\0\0");
        file.saved(8);
        file.resize(4);
        assert!(!file.is_changed);
    }
}
