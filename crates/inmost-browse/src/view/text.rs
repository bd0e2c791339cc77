//! A text in a pane: a file, a version, or a difference of two.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::super::glyphs::Strip;
use super::super::model::Found;
use super::super::reader::Reader;
use super::super::theme::Theme;
use super::lines::rows;

/// The rows of a text.
pub(super) fn text(
    reader: &Reader,
    found: Option<&Found>,
    theme: Theme,
    area: Rect,
    to: &mut Buffer,
) {
    let text = reader.text.as_str();
    let mut place = Some(reader.top);
    for strip in rows(area) {
        let Some(at) = place else { break };
        let wrapped = at.row(text, reader.width);
        let (gutter, body) = divided(strip, reader.gutter());
        if reader.is_numbered && wrapped.is_first_of_line() {
            let number = [at.line.to_string().as_str(), " "].concat();
            gutter.print_right(to, &number, theme.dim());
        }
        let ranges = found.filter(|found| found.line == at.line).map(|found| &found.ranges);
        let line =
            (!reader.is_numbered).then(|| in_diff(line_of(text, at.line_start), at.line, theme));
        body.print_with(to, wrapped.text(text), |piece| {
            let offset = at.offset.saturating_sub(at.line_start).saturating_add(piece.start);
            let is_match = ranges.is_some_and(|all| all.iter().any(|it| it.contains(&offset)));
            if is_match { theme.found() } else { line.unwrap_or_default() }
        });
        place = wrapped.next;
    }
}

fn line_of(text: &str, start: usize) -> &str {
    text.get(start..).unwrap_or_default()
}

/// The style of a line of a unified diff.
fn in_diff(line: &str, number: u64, theme: Theme) -> Style {
    match line.as_bytes().first() {
        // The names of the two versions.
        _ if number <= 2 => theme.dim(),
        Some(b'+') => theme.added(),
        Some(b'-') => theme.removed(),
        Some(b'@') => theme.place(),
        _ => theme.plain(),
    }
}

fn divided(strip: Strip, columns: u16) -> (Strip, Strip) {
    let x = strip.x.saturating_add(columns).min(strip.end);
    (Strip { end: x, ..strip }, Strip { x, ..strip })
}

/// The strip after a column of space.
pub(super) fn indented(strip: Strip) -> Strip {
    Strip { x: strip.x.saturating_add(1), ..strip }
}
