//! Versions, and the differences that one made.

use inmost::{FileText, VersionInfo, human_size};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::super::glyphs::Strip;
use super::super::layout::Areas;
use super::super::model::{Focus, Model};
use super::super::past::Past;
use super::super::theme::Theme;
use super::lines::{row, rows, sentence};
use super::text::{indented, text};
use inmost_console::display::age;
use inmost_console::times;
use inmost_console::version::{actor, is_deletion};

pub(super) fn paint(
    model: &Model,
    past: &Past,
    head: Style,
    theme: Theme,
    areas: &Areas,
    to: &mut Buffer,
) {
    let strip = indented(row(areas.right_head, 0));
    if let (Some(diff), Some(version)) = (&past.diff, past.selected()) {
        let title = format!("Version {}: {} ", version.number, version.kind.name());
        let rest = strip.print_cut(to, &title, head);
        rest.print_cut(to, name(version), theme.dim());
        if let Some(problem) = &diff.problem {
            sentence(problem, theme.warning(), areas.right, to);
        }
        if let Some(reader) = &diff.text {
            text(reader, None, theme, areas.right, to);
        }
        return;
    }
    let rest = strip.print_cut(to, "Versions of ", head);
    let of = past.path.as_ref().map_or("everything", |path| last_name(path));
    rest.print_cut(to, of, head);
    let area = areas.right;
    if past.versions.is_empty() && past.waits.is_none() {
        let text = past.problem.as_deref().unwrap_or("There are no versions.");
        return sentence(text, theme.dim(), area, to);
    }
    let has_focus = model.focus == Focus::Right;
    let list = Rect { height: area.height.saturating_sub(1), ..area };
    for (number, strip) in (past.top..).zip(rows(list)) {
        let Some(version) = past.versions.get(number) else { break };
        let is_selected = number == past.selected;
        line(model, version, is_selected.then_some(has_focus), theme, strip, to);
    }
    if let Some(version) = past.selected() {
        let strip = indented(row(area, area.height.saturating_sub(1)));
        strip.print_cut(to, &details(version), theme.dim());
    }
}

/// A version as a row. `selected` is whether the pane has the focus, for the selected row.
fn line(
    model: &Model,
    version: &VersionInfo,
    selected: Option<bool>,
    theme: Theme,
    strip: Strip,
    to: &mut Buffer,
) {
    let style = |style| match selected {
        Some(has_focus) => theme.selected(style, has_focus),
        None => style,
    };
    strip.fill(to, " ", style(theme.plain()));
    // A row in several colours would not look like one that is selected.
    let quiet = |style| if selected.is_some() { theme.plain() } else { style };
    let kind = if is_deletion(version) { theme.removed() } else { theme.plain() };
    let strip = indented(strip);
    let column = |strip: Strip, columns: u16| {
        let x = strip.x.saturating_add(columns).min(strip.end);
        (Strip { end: x.saturating_sub(1), ..strip }, Strip { x, ..strip })
    };
    let (cell, strip) = column(strip, 5);
    cell.print_right(to, &age(model.now, version.time), style(quiet(theme.dim())));
    let (cell, strip) = column(strip, 10);
    cell.print_cut(to, version.kind.name(), style(quiet(kind)));
    let (cell, strip) = column(strip, strip.width().checked_div(3).unwrap_or(0).min(20));
    cell.print_cut(to, actor(version), style(quiet(theme.place())));
    let size = match (&version.path, version.file) {
        (Some(_), Some(_)) if !is_deletion(version) => human_size(version.bytes),
        _ => "-".to_owned(),
    };
    let rest = strip.print_right(to, &[" ", size.as_str(), " "].concat(), style(theme.plain()));
    rest.print_cut(to, name(version), style(theme.plain()));
}

fn details(version: &VersionInfo) -> String {
    let time = times::local(version.time);
    format!("{}, {time}, {}", version.number, version.channel.name())
}

/// The last name of a version's path.
fn name(version: &VersionInfo) -> &str {
    match &version.path {
        Some(path) => last_name(path),
        None => "-",
    }
}

fn last_name(path: &FileText) -> &str {
    path.as_str().rsplit('/').next().unwrap_or_default()
}
