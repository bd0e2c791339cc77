//! The right pane: a text, the facts of a folder, or versions.

use inmost::{EntryKind, Metadata, VersionInfo, human_size};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::super::glyphs::Strip;
use super::super::layout::Areas;
use super::super::model::{Content, Focus, Found, Item, Model, Right};
use super::super::reader::Reader;
use super::super::theme::Theme;
use super::{past, row, rows, sentence};
use inmost_console::display::{age, count};
use inmost_console::times;
use inmost_console::version::actor;

pub(super) fn paint(model: &Model, theme: Theme, areas: &Areas, to: &mut Buffer) {
    let head = theme.head(model.focus == Focus::Right);
    match &model.right {
        Right::Empty => {}
        Right::Item(shown) => item(model, shown, head, theme, areas, to),
        Right::Past(shown) => past::paint(model, shown, head, theme, areas, to),
    }
}

fn item(model: &Model, item: &Item, head: Style, theme: Theme, areas: &Areas, to: &mut Buffer) {
    let name = item.path.as_str().rsplit('/').next().unwrap_or_default();
    let strip = indented(row(areas.right_head, 0));
    let facts = match &item.content {
        Content::File(metadata, ..) => file_facts(model, metadata),
        Content::Folder(metadata, _) => human_size(metadata.bytes),
        Content::Unknown | Content::Problem(_) => String::new(),
    };
    let facts = if facts.is_empty() { facts } else { format!("  {facts} ") };
    strip.print_right(to, &facts, theme.dim()).print_cut(to, name, head);
    match &item.content {
        // The text comes within milliseconds: a word here would only flicker.
        Content::Unknown => {}
        Content::Problem(problem) => sentence(problem, theme.warning(), areas.right, to),
        Content::Folder(metadata, last) => folder(metadata, last.as_ref(), theme, areas.right, to),
        Content::File(metadata, _, _) if metadata.bytes == 0 => {
            sentence("The file is empty.", theme.dim(), areas.right, to);
        }
        Content::File(_, last, shown) => {
            let area = match last {
                Some(last) => last_change(last, theme, areas.right, to),
                None => areas.right,
            };
            text(shown, item.found.as_ref(), theme, area, to);
        }
    }
}

fn file_facts(model: &Model, metadata: &Metadata) -> String {
    let size = human_size(metadata.bytes);
    match metadata.kind {
        EntryKind::File { lines, modified, .. } => {
            let lines = count(lines, "line", "lines");
            format!("{size}, {lines}, {} ago", age(model.now, modified))
        }
        _ => size,
    }
}

fn folder(
    metadata: &Metadata,
    last: Option<&VersionInfo>,
    theme: Theme,
    area: Rect,
    to: &mut Buffer,
) {
    let mut text = format!("A folder with {} of text below it.", human_size(metadata.bytes));
    if let Some(last) = last {
        text.push_str("\n\nLast change:\n");
        text.push_str(&change(last));
    }
    sentence(&text, theme.plain(), area, to);
}

/// Who made a change, and when.
fn change(version: &VersionInfo) -> String {
    format!("{} by {}, {}", version.kind.name(), actor(version), times::local_minute(version.time))
}

/// The last change, in the first row. Returns the area below it.
fn last_change(last: &VersionInfo, theme: Theme, area: Rect, to: &mut Buffer) -> Rect {
    indented(row(area, 0)).print_cut(to, &change(last), theme.dim());
    Rect { y: area.y.saturating_add(1), height: area.height.saturating_sub(1), ..area }
}

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
