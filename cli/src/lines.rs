//! Reads lines of bounded length, each as soon as it is complete.

use std::io::{self, Read};

use zeroize::Zeroize;

use crate::descriptor::BYTE_ORDER_MARK;
use inmost_console::Wiped;

/// The longest line that is read as a call: four times the largest file, so that its JSON fits.
pub(crate) const LINE_BYTES: usize = 64 << 20;

/// A reader of lines. A line that is too long is skipped without keeping it in memory. A byte order mark before the first line is
/// no part of it: some clients send one, and JSON does not begin with it.
pub(crate) struct Lines<R> {
    reader: R,
    chunk: Chunk,
    line: Wiped,
    max: usize,
    is_first: bool,
}

/// One line, without its line feed.
#[derive(PartialEq, Eq, Debug)]
pub(crate) enum Line<'a> {
    Whole(&'a [u8]),
    TooLong,
}

impl<R: Read> Lines<R> {
    /// Lines of at most `max` bytes.
    pub(crate) fn new(reader: R, max: usize) -> Self {
        Self { reader, chunk: Chunk::new(), line: Wiped::default(), max, is_first: true }
    }

    /// The next line, or `None` at the end. The last line needs no line feed.
    pub(crate) fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        self.line.wipe();
        let mut is_too_long = false;
        let mut is_empty = true;
        loop {
            let unread = self.chunk.fill(&mut self.reader)?;
            if unread.is_empty() {
                if is_empty {
                    return Ok(None);
                }
                break;
            }
            is_empty = false;
            let end = unread.iter().position(|byte| *byte == b'\n');
            let piece = unread.get(..end.unwrap_or(unread.len())).unwrap_or_default();
            if self.line.as_slice().len().saturating_add(piece.len()) > self.max {
                is_too_long = true;
                self.line = Wiped::default();
            }
            if !is_too_long {
                self.line.append(piece);
            }
            let taken = piece.len();
            self.chunk.consume(taken.saturating_add(usize::from(end.is_some())));
            if end.is_some() {
                break;
            }
        }
        let is_first = std::mem::take(&mut self.is_first);
        if is_too_long {
            return Ok(Some(Line::TooLong));
        }
        let line = self.line.as_slice();
        let mark = if is_first { BYTE_ORDER_MARK } else { &[] };
        Ok(Some(Line::Whole(line.strip_prefix(mark).unwrap_or(line))))
    }
}

/// A read buffer that is wiped as it is consumed.
struct Chunk {
    bytes: Wiped,
    at: usize,
    end: usize,
}

impl Chunk {
    /// Creates an empty buffer.
    fn new() -> Self {
        Self { bytes: Wiped::new(vec![0; CHUNK_BYTES]), at: 0, end: 0 }
    }

    /// The unconsumed bytes. Reads once if all bytes are consumed. Empty at the end of the input.
    fn fill(&mut self, reader: &mut impl Read) -> io::Result<&[u8]> {
        while self.at >= self.end {
            match reader.read(&mut self.bytes) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
                Ok(0) => break,
                Ok(bytes) => (self.at, self.end) = (0, bytes),
            }
        }
        Ok(self.bytes.get(self.at..self.end).unwrap_or_default())
    }

    /// Wipes and removes bytes from the front.
    fn consume(&mut self, bytes: usize) {
        let end = self.at.saturating_add(bytes).min(self.end);
        if let Some(consumed) = self.bytes.get_mut(self.at..end) {
            consumed.zeroize();
        }
        self.at = end;
    }
}

/// The capacity of a pipe on Linux.
const CHUNK_BYTES: usize = 64 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives its bytes a few at a time, as a pipe does.
    struct Slow<'a>(&'a [u8], usize);

    impl Read for Slow<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let (now, later) = self.0.split_at(self.0.len().min(self.1));
            buffer[..now.len()].copy_from_slice(now);
            self.0 = later;
            Ok(now.len())
        }
    }

    fn lines(text: &str, most: usize, step: usize) -> Vec<Option<String>> {
        let mut lines = Lines::new(Slow(text.as_bytes(), step), most);
        let mut found = Vec::new();
        while let Some(line) = lines.next().unwrap() {
            found.push(match line {
                Line::Whole(line) => Some(String::from_utf8(line.to_vec()).unwrap()),
                Line::TooLong => None,
            });
        }
        found
    }

    #[test]
    fn lines_do_not_depend_on_the_sizes_of_reads() {
        for step in [1, 2, 3, 5, 100] {
            for (text, expected) in [
                ("", vec![]),
                ("\n", vec![""]),
                ("a", vec!["a"]),
                ("a\n", vec!["a"]),
                ("a\n\nbc\r\nd", vec!["a", "", "bc\r", "d"]),
                ("\u{feff}a\n\u{feff}b", vec!["a", "\u{feff}b"]),
                ("\u{feff}\u{feff}\n", vec!["\u{feff}"]),
                ("\n\u{feff}", vec!["", "\u{feff}"]),
            ] {
                let expected: Vec<_> = expected.into_iter().map(|l| Some(l.to_owned())).collect();
                assert_eq!(lines(text, 10, step), expected, "{text:?} by {step}");
            }
        }
    }

    #[test]
    fn a_line_that_is_too_long_is_reported_once_and_later_lines_are_read() {
        for step in [1, 2, 3, 7, 100] {
            let found = lines("123\n1234\n12345678901\nab\n1234", 3, step);
            assert_eq!(found, [Some("123".into()), None, None, Some("ab".into()), None]);
        }
    }
}
