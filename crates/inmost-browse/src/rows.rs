//! The rows of a text that is wrapped to a width, from any place in it. Does no I/O.
//!
//! Only the rows on the screen are computed. A line that is longer than a segment is wrapped segment by segment, so that
//! going back by a row costs no more in a line of sixteen megabytes.

use super::glyphs::pieces;

/// A place in a text where a row starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Place {
    /// In bytes from the start of the text.
    pub(super) offset: usize,
    /// The number of the line, from 1.
    pub(super) line: u64,
    /// Where the line starts. A long line must not be searched for it again for every row.
    pub(super) line_start: usize,
}

/// One row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Row {
    pub(super) place: Place,
    /// Where its text ends, without the line end.
    pub(super) end: usize,
    /// Where the next row starts; `None` at the end of the text.
    pub(super) next: Option<Place>,
}

impl Row {
    pub(super) fn is_first_of_line(&self) -> bool {
        self.place.offset == self.place.line_start
    }

    pub(super) fn text<'t>(&self, text: &'t str) -> &'t str {
        text.get(self.place.offset..self.end).unwrap_or_default()
    }
}

impl Place {
    pub(super) const START: Self = Self { offset: 0, line: 1, line_start: 0 };

    /// The row that starts here.
    pub(super) fn row(self, text: &str, width: u16) -> Row {
        let limit = segment_end(text, self.line_start, self.offset);
        let segment = text.get(self.offset..limit).unwrap_or_default();
        let after = text.get(limit..).unwrap_or_default();
        // The line end, if it is in this segment or just behind it.
        let line = match segment.split_once('\n') {
            Some((line, _)) => Some(line),
            None if after.is_empty() || after.starts_with('\n') => Some(segment),
            None => None,
        };
        let shown = line.map_or(segment, |line| line.strip_suffix('\r').unwrap_or(line));
        let fits = fitting(shown, width);
        let end = self.offset.saturating_add(fits);
        let next = match line {
            Some(line) if fits >= shown.len() => {
                // A final line feed opens no line.
                let start = self.offset.saturating_add(line.len()).saturating_add(1);
                (start < text.len()).then(|| Self::at_line(start, self.line.saturating_add(1)))
            }
            _ => Some(Self { offset: end, ..self }),
        };
        Row { place: self, end, next }
    }

    fn at_line(start: usize, line: u64) -> Self {
        Self { offset: start, line, line_start: start }
    }

    /// The place of the row before; `None` at the start.
    pub(super) fn before(self, text: &str, width: u16) -> Option<Self> {
        let line = if self.offset > self.line_start {
            Self { offset: self.line_start, ..self }
        } else {
            let end = self.line_start.checked_sub(1)?;
            Self::at_line(line_start(text, end), self.line.saturating_sub(1))
        };
        let near = segment_start(text, line.line_start, self.offset.saturating_sub(1));
        let mut place = Self { offset: near, ..line };
        loop {
            match place.row(text, width).next {
                Some(next) if next.offset < self.offset => place = next,
                _ => return Some(place),
            }
        }
    }

    /// Goes down by up to so many rows, and no further than the last one.
    pub(super) fn down(mut self, text: &str, width: u16, rows: u16) -> Self {
        for _ in 0..rows {
            match self.row(text, width).next {
                Some(next) => self = next,
                None => break,
            }
        }
        self
    }

    /// Goes up by up to so many rows.
    pub(super) fn up(mut self, text: &str, width: u16, rows: u16) -> Self {
        for _ in 0..rows {
            match self.before(text, width) {
                Some(before) => self = before,
                None => break,
            }
        }
        self
    }

    /// The start of a line, or of the last one.
    pub(super) fn of_line(text: &str, line: u64) -> Self {
        let mut place = Self::START;
        for (end, _) in text.match_indices('\n') {
            let offset = end.saturating_add(1);
            if place.line >= line || offset >= text.len() {
                break;
            }
            place = Self::at_line(offset, place.line.saturating_add(1));
        }
        place
    }

    /// The place of the last row, in a text of so many lines.
    pub(super) fn last(text: &str, width: u16) -> Self {
        let body = text.strip_suffix('\n').unwrap_or(text);
        let feeds = body.bytes().filter(|byte| *byte == b'\n').count();
        let line = u64::try_from(feeds).unwrap_or(u64::MAX).saturating_add(1);
        let start = line_start(text, body.len());
        let near = segment_start(text, start, body.len().saturating_sub(1));
        let mut place = Self { offset: near, ..Self::at_line(start, line) };
        while let Some(next) = place.row(text, width).next {
            place = next;
        }
        place
    }
}

/// Bytes of a line that fit a row. At least one piece, so that every row goes on.
fn fitting(line: &str, width: u16) -> usize {
    let (mut used, mut end, mut after_space) = (0_u16, 0, None);
    for piece in pieces(line) {
        used = used.saturating_add(piece.width);
        // A space at the end of a row may hang over its edge.
        if used > width && end > 0 && !piece.is_space {
            return after_space.unwrap_or(end);
        }
        end = piece.end;
        if piece.is_space {
            after_space = Some(end);
        }
    }
    line.len()
}

/// The start of the line that contains a place.
fn line_start(text: &str, offset: usize) -> usize {
    let before = text.get(..offset).unwrap_or_default();
    before.rfind('\n').map_or(0, |end| end.saturating_add(1))
}

/// The start of the segment of a line that contains a place.
fn segment_start(text: &str, line_start: usize, offset: usize) -> usize {
    let within = offset.saturating_sub(line_start);
    let start = within.saturating_sub(within.checked_rem(SEGMENT).unwrap_or(0));
    let start = boundary(text, line_start.saturating_add(start));
    // The end of this segment and the start of the next one are found in the same way.
    if start > offset { line_start } else { start }
}

/// The end of the segment that contains a place, which may lie beyond the line.
fn segment_end(text: &str, line_start: usize, offset: usize) -> usize {
    let within = offset.saturating_sub(line_start);
    let start = within.saturating_sub(within.checked_rem(SEGMENT).unwrap_or(0));
    boundary(text, line_start.saturating_add(start).saturating_add(SEGMENT))
}

/// The first place at or after this one that is between two characters, or the end of the text.
fn boundary(text: &str, offset: usize) -> usize {
    let mut offset = offset.min(text.len());
    while offset < text.len() && !text.is_char_boundary(offset) {
        offset = offset.saturating_add(1);
    }
    offset
}

/// In bytes.
const SEGMENT: usize = 8 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str, width: u16) -> Vec<(u64, String)> {
        let mut place = Some(Place::START);
        let mut rows = Vec::new();
        while let Some(at) = place {
            let row = at.row(text, width);
            rows.push((at.line, row.text(text).to_owned()));
            place = row.next;
        }
        rows
    }

    #[test]
    fn lines_are_wrapped_between_words() {
        let expected = [(1, "one "), (1, "two"), (2, ""), (3, "threefour"), (3, "five")];
        let expected = expected.map(|(line, text)| (line, text.to_owned()));
        assert_eq!(rows("one two\r\n\nthreefourfive\n", 9)[..1], [(1, "one two".to_owned())]);
        assert_eq!(rows("one two\n\nthreefourfive\n", 5)[..2], expected[..2]);
        assert_eq!(rows("x\n\nthreefourfive\n", 9)[1..], expected[2..]);
        assert_eq!(rows("", 5), [(1, String::new())]);
    }

    #[test]
    fn going_up_undoes_going_down() {
        let long = "word and more ".repeat(800);
        let wide = "\u{6f22}\u{1f600}e\u{301}".repeat(1_000);
        for text in [long.as_str(), wide.as_str(), "a\n\nb c d e f g h\n", "", "\n", "a\r\nb\r\n"] {
            for width in [0, 1, 2, 7, 80] {
                let mut places = vec![Place::START];
                while let Some(next) = places[places.len() - 1].row(text, width).next {
                    places.push(next);
                }
                assert_eq!(Place::last(text, width), places[places.len() - 1], "{width}");
                // Every place near the start, around the segments, and at the end.
                let steps = places.len();
                for at in (1..steps).filter(|at| *at < 40 || steps - at < 40 || at % 97 == 0) {
                    assert_eq!(
                        places[at].before(text, width),
                        Some(places[at - 1]),
                        "{width} {at}"
                    );
                }
                assert_eq!(Place::START.before(text, width), None);
            }
        }
    }

    #[test]
    fn a_line_is_found_by_its_number() {
        let text = "a\nb\n\nd\n";
        for (line, offset) in [(0, 0), (1, 0), (2, 2), (3, 4), (4, 5), (5, 5), (u64::MAX, 5)] {
            assert_eq!(Place::of_line(text, line).offset, offset, "{line}");
        }
        assert_eq!(Place::of_line("", 3), Place::START);
    }
}
