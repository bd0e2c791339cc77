//! The rows of an area.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::super::glyphs::Strip;
use super::super::rows::Place;

/// A row of an area.
pub(super) fn row(area: Rect, number: u16) -> Strip {
    let y = area.y.saturating_add(number.min(area.height.saturating_sub(1)));
    Strip { x: area.x, end: area.right(), y }
}

/// The strips of an area.
pub(super) fn rows(area: Rect) -> impl Iterator<Item = Strip> {
    (0..area.height).map(move |number| row(area, number))
}

/// A sentence in a pane, wrapped between words.
pub(super) fn sentence(text: &str, style: Style, area: Rect, to: &mut Buffer) {
    let mut place = Some(Place::START);
    let width = area.width.saturating_sub(2);
    for strip in rows(area) {
        let Some(at) = place else { break };
        let wrapped = at.row(text, width);
        let strip = Strip { x: strip.x.saturating_add(1), ..strip };
        strip.print(to, wrapped.text(text), style);
        place = wrapped.next;
    }
}
