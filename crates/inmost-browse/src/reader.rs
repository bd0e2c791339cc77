//! A text in the right pane, and the part of it that is on the screen. Does no I/O.

use inmost::FileText;

use super::key::Motion;
use super::rows::Place;

/// A text that is read.
pub(super) struct Reader {
    pub(super) text: FileText,
    pub(super) top: Place,
    /// Columns of a row.
    pub(super) width: u16,
    /// Whether lines are numbered.
    pub(super) is_numbered: bool,
}

impl Reader {
    pub(super) fn new(text: FileText, pane: u16, is_numbered: bool) -> Self {
        let mut reader = Self { text, top: Place::START, width: 1, is_numbered };
        reader.resize(pane);
        reader
    }

    /// Columns of the line numbers.
    pub(super) fn gutter(&self) -> u16 {
        if self.is_numbered { GUTTER } else { 1 }
    }

    /// Wraps the text to a pane of so many columns. The same line stays at the top.
    pub(super) fn resize(&mut self, pane: u16) {
        let width = pane.saturating_sub(self.gutter()).max(1);
        if width != self.width {
            self.width = width;
            self.top = Place { offset: self.top.line_start, ..self.top };
        }
    }

    pub(super) fn go(&mut self, motion: Motion, height: u16) {
        let (text, width) = (self.text.as_str(), self.width);
        let page = height.saturating_sub(1).max(1);
        let last = || Place::last(text, width).up(text, width, page);
        self.top = match motion {
            Motion::Up => self.top.up(text, width, 1),
            Motion::PageUp => self.top.up(text, width, page),
            Motion::Start => Place::START,
            Motion::End => last(),
            Motion::Down | Motion::PageDown => {
                let rows = if motion == Motion::Down { 1 } else { page };
                // Stops when the last row is on the screen.
                let end = self.top.down(text, width, rows.saturating_add(page));
                let lowest = end.up(text, width, page);
                if lowest.offset < self.top.offset { self.top } else { lowest }
            }
        };
    }

    /// Shows a line, with some of the lines before it.
    pub(super) fn show_line(&mut self, line: u64, height: u16) {
        let text = self.text.as_str();
        let context = height.checked_div(3).unwrap_or(0);
        self.top = Place::of_line(text, line).up(text, self.width, context);
    }

    /// Takes over the place of another text, which was at this path before.
    pub(super) fn stay_at(&mut self, before: &Self) {
        self.top = Place::of_line(self.text.as_str(), before.top.line);
    }
}

/// Six digits and a space.
const GUTTER: u16 = 7;
