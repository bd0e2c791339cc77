//! Text of the store as cells of a terminal. Does no I/O.
//!
//! Nothing else puts such a text on the screen: control characters, bidirectional formatting characters and characters
//! without a width become visible escapes.

use ratatui::buffer::Buffer;
use ratatui::style::{Modifier, Style};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use inmost_console::display::needs_escape;

/// A piece of a line that is shown as a whole.
pub(super) struct Piece<'a> {
    /// Where it starts in the line, in bytes.
    pub(super) start: usize,
    /// Where it ends.
    pub(super) end: usize,
    /// Columns that it takes. A tab takes those up to the next stop.
    pub(super) width: u16,
    /// Whether a row may end after it.
    pub(super) is_space: bool,
    look: Look<'a>,
}

enum Look<'a> {
    Plain(&'a str),
    Tab,
    Escaped(char),
}

/// Splits a line into pieces. `column` is where the line starts, for its tabs.
pub(super) fn pieces(line: &str) -> impl Iterator<Item = Piece<'_>> {
    let mut column = 0_u16;
    line.grapheme_indices(true).flat_map(split).map(move |(start, text, look)| {
        let width = match &look {
            Look::Plain(text) => columns(text),
            Look::Tab => TAB.saturating_sub(column.checked_rem(TAB).unwrap_or(0)),
            Look::Escaped(letter) => u16::try_from(letter.escape_unicode().count()).unwrap_or(0),
        };
        column = column.saturating_add(width);
        let is_space = matches!(text, " " | "\t");
        Piece { start, end: start.saturating_add(text.len()), width, is_space, look }
    })
}

/// A grapheme as one piece, or its characters as one each, if it cannot be shown as it is.
fn split((start, grapheme): (usize, &str)) -> impl Iterator<Item = (usize, &str, Look<'_>)> {
    // A longer one would be kept on the heap by the screen buffer, where it is not overwritten.
    let is_whole = grapheme.len() <= CELL_BYTES
        && columns(grapheme) > 0
        && !grapheme.chars().any(needs_escape);
    let whole = is_whole.then_some((start, grapheme, Look::Plain(grapheme)));
    let letters = grapheme.char_indices().filter(move |_| !is_whole).map(move |(at, letter)| {
        let text = grapheme.get(at..at.saturating_add(letter.len_utf8())).unwrap_or_default();
        let look = if letter == '\t' {
            Look::Tab
        } else if needs_escape(letter) || columns(text) == 0 {
            Look::Escaped(letter)
        } else {
            Look::Plain(text)
        };
        (start.saturating_add(at), text, look)
    });
    whole.into_iter().chain(letters)
}

fn columns(text: &str) -> u16 {
    u16::try_from(text.width()).unwrap_or(u16::MAX)
}

/// The columns of a text.
pub(super) fn width(text: &str) -> u16 {
    pieces(text).fold(0, |sum, piece| piece.width.saturating_add(sum))
}

/// A place on the screen: a row, and its columns from `x` up to and without `end`.
#[derive(Clone, Copy)]
pub(super) struct Strip {
    pub(super) x: u16,
    pub(super) end: u16,
    pub(super) y: u16,
}

impl Strip {
    /// The columns of it that are left.
    pub(super) fn width(self) -> u16 {
        self.end.saturating_sub(self.x)
    }

    /// Paints a text, and returns the strip that is left. What does not fit is cut off.
    pub(super) fn print(self, to: &mut Buffer, text: &str, style: Style) -> Self {
        self.print_with(to, text, |_| style)
    }

    /// As [`print`](Self::print), with a style for each piece.
    pub(super) fn print_with(
        mut self,
        to: &mut Buffer,
        text: &str,
        style: impl Fn(&Piece<'_>) -> Style,
    ) -> Self {
        for piece in pieces(text) {
            if piece.width > self.width() {
                // The rest would not be in its place.
                self.x = self.end;
                break;
            }
            let style = style(&piece);
            match piece.look {
                Look::Plain(symbol) => self.put(to, symbol, piece.width, style),
                Look::Tab => (0..piece.width).for_each(|_| self.put(to, " ", 1, style)),
                Look::Escaped(letter) => letter.escape_unicode().for_each(|shown| {
                    let style = style.add_modifier(Modifier::REVERSED);
                    self.put(to, shown.encode_utf8(&mut [0; 4]), 1, style);
                }),
            }
        }
        self
    }

    /// Paints a text, with an ellipsis in place of what does not fit.
    pub(super) fn print_cut(self, to: &mut Buffer, text: &str, style: Style) -> Self {
        if width(text) <= self.width() {
            return self.print(to, text, style);
        }
        let short = Self { end: self.end.saturating_sub(1), ..self };
        let mut rest = Self { end: self.end, ..self };
        let mut used = 0_u16;
        let fits = pieces(text).take_while(|piece| {
            used = used.saturating_add(piece.width);
            used <= short.width()
        });
        let end = fits.last().map_or(0, |piece| piece.end);
        rest.x = short.print(to, text.get(..end).unwrap_or_default(), style).x;
        rest.print(to, "\u{2026}", style)
    }

    /// Paints a text at the right end, and returns the strip before it.
    pub(super) fn print_right(self, to: &mut Buffer, text: &str, style: Style) -> Self {
        let x = self.end.saturating_sub(width(text)).max(self.x);
        Self { x, ..self }.print(to, text, style);
        Self { end: x, ..self }
    }

    /// Fills the rest.
    pub(super) fn fill(mut self, to: &mut Buffer, symbol: &str, style: Style) {
        while self.width() > 0 {
            self.put(to, symbol, 1, style);
        }
    }

    fn put(&mut self, to: &mut Buffer, symbol: &str, width: u16, style: Style) {
        let after = self.x.saturating_add(width);
        if let Some(cell) = to.cell_mut((self.x, self.y)) {
            cell.set_symbol(symbol).set_style(style);
        }
        // The cells below the rest of a wide character.
        for x in self.x.saturating_add(1)..after {
            if let Some(cell) = to.cell_mut((x, self.y)) {
                cell.reset();
                cell.set_style(style);
            }
        }
        self.x = after;
    }
}

/// The bytes of a symbol that a cell of the screen buffer holds itself.
pub(super) const CELL_BYTES: usize = 24;

/// Columns between two stops.
const TAB: u16 = 4;

#[cfg(test)]
mod tests {
    use ratatui::layout::Rect;

    use super::*;

    fn painted(text: &str, columns: u16) -> String {
        let mut buffer = Buffer::empty(Rect::new(0, 0, columns, 1));
        Strip { x: 0, end: columns, y: 0 }.print_cut(&mut buffer, text, Style::new());
        buffer.content.iter().map(ratatui::buffer::Cell::symbol).collect()
    }

    #[test]
    fn no_control_character_reaches_a_cell() {
        for (text, expected) in [
            ("caf\u{e9} 1", "caf\u{e9} 1                        "),
            ("a\tb", "a   b                         "),
            ("\u{1b}[2J", "\\u{1b}[2J                     "),
            ("a\u{202e}b\r", "a\\u{202e}b\\u{d}               "),
            ("a\u{200b}b", "a\\u{200b}b                    "),
            ("\u{301}a", "\\u{301}a                      "),
        ] {
            assert_eq!(painted(text, 30), expected, "{text:?}");
        }
    }

    #[test]
    fn a_long_text_is_cut_at_a_whole_character() {
        assert_eq!(painted("abcdef", 6), "abcdef");
        assert_eq!(painted("abcdefg", 6), "abcde\u{2026}");
        assert_eq!(painted("\u{6f22}\u{5b57}\u{6f22}", 4), "\u{6f22} \u{2026} ");
        assert_eq!(painted("abc", 0), "");
        assert_eq!(painted("abc", 1), "\u{2026}");
    }

    #[test]
    fn a_grapheme_that_no_cell_can_hold_is_split() {
        let family = "\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467}\u{200d}\u{1f466}";
        assert!(family.len() > CELL_BYTES);
        assert!(pieces(family).all(|piece| piece.end - piece.start <= 4 && piece.width > 0));
        let marks = format!("a{}", "\u{301}".repeat(100));
        assert_eq!(pieces(&marks).count(), 101);
    }
}
