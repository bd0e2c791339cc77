//! The right pane: a text, the facts of a folder, or versions.

use inmost::{EntryKind, Metadata, VersionInfo, human_size};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::super::layout::Areas;
use super::super::model::{Content, Focus, Item, Model, Right};
use super::super::theme::Theme;
use super::lines::{row, sentence};
use super::past;
use super::text::{indented, text};
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
