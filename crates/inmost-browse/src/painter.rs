//! Puts the state on a terminal: only the cells that have changed, and nothing that stays in memory afterwards.

use ratatui::backend::Backend;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::glyphs::CELL_BYTES;
use super::model::Model;
use super::theme::Theme;
use super::view;

/// A terminal, with what is on it and what was on it before.
pub(super) struct Painter<B: Backend> {
    pub(super) backend: B,
    theme: Theme,
    shown: Buffer,
    next: Buffer,
}

impl<B: Backend> Painter<B> {
    pub(super) fn new(backend: B, theme: Theme) -> Self {
        let empty = || Buffer::empty(Rect::ZERO);
        Self { backend, theme, shown: empty(), next: empty() }
    }

    /// Paints the state.
    pub(super) fn paint(&mut self, model: &Model) -> Result<(), B::Error> {
        let (columns, rows) = model.size;
        let area = Rect::new(0, 0, columns, rows);
        if self.shown.area != area {
            self.erase()?;
            (self.shown, self.next) = (Buffer::empty(area), Buffer::empty(area));
        }
        self.next.reset();
        let cursor = view::paint(model, self.theme, &mut self.next);
        self.backend.hide_cursor()?;
        self.backend.draw(self.shown.diff(&self.next).into_iter())?;
        if let Some(position) = cursor {
            self.backend.set_cursor_position(position)?;
            self.backend.show_cursor()?;
        }
        self.backend.flush()?;
        std::mem::swap(&mut self.shown, &mut self.next);
        Ok(())
    }

    /// Clears the terminal, and overwrites what was on it in memory. The next painting starts from an empty screen.
    pub(super) fn erase(&mut self) -> Result<(), B::Error> {
        wipe(&mut self.shown);
        wipe(&mut self.next);
        // Every row by itself: some terminals keep the rows of a screen that is cleared as a whole.
        let size = self.backend.size()?;
        if size.width == 0 {
            return Ok(());
        }
        for y in 0..size.height {
            self.backend.set_cursor_position((0, y))?;
            self.backend.clear_region(ratatui::backend::ClearType::CurrentLine)?;
        }
        self.backend.set_cursor_position((0, 0))?;
        self.backend.flush()
    }
}

impl<B: Backend> Drop for Painter<B> {
    fn drop(&mut self) {
        wipe(&mut self.shown);
        wipe(&mut self.next);
    }
}

/// Overwrites the symbols of a screen. A symbol fits its cell, see [`CELL_BYTES`], so that no copy is on the heap.
fn wipe(buffer: &mut Buffer) {
    let filler = [b' '; CELL_BYTES];
    let filler = std::str::from_utf8(&filler).unwrap_or_default();
    for cell in &mut buffer.content {
        cell.set_symbol(filler);
    }
    // A barrier, so that the overwriting is not left out as a write that nobody reads.
    std::hint::black_box(&mut buffer.content);
    buffer.reset();
}

#[cfg(test)]
mod tests {
    use ratatui::style::Style;

    use super::*;
    use crate::glyphs::Strip;

    #[test]
    fn a_wiped_screen_has_no_text_in_its_cells() {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 8, 1));
        let accented = "e\u{301}\u{302}";
        Strip { x: 0, end: 8, y: 0 }.print(&mut buffer, &format!("top{accented}"), Style::new());
        let text: String = buffer.content.iter().map(ratatui::buffer::Cell::symbol).collect();
        assert_eq!(text, format!("top{accented}    "));
        wipe(&mut buffer);
        assert_eq!(buffer, Buffer::empty(buffer.area));
    }
}
