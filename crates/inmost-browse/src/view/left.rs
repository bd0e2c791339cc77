//! The left pane: the tree, or what a search found.

use inmost::{FileText, human_size};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use super::super::glyphs::{Strip, width};
use super::super::layout::Areas;
use super::super::model::{Focus, Model};
use super::super::search::{Hit, MOST_HITS, Search};
use super::super::theme::Theme;
use super::super::tree::Line;
use super::lines::{row, rows, sentence};
use inmost_console::display::count;

pub(super) fn paint(
    model: &Model,
    theme: Theme,
    areas: &Areas,
    to: &mut Buffer,
) -> Option<Position> {
    let has_focus = model.focus == Focus::Left;
    if let Some(search) = &model.search {
        return found(search, has_focus, theme, areas, to);
    }
    row(areas.left_head, 0).print_cut(to, " /memories", theme.head(has_focus));
    tree(model, has_focus, theme, areas.left, to);
    None
}

fn tree(model: &Model, has_focus: bool, theme: Theme, area: Rect, to: &mut Buffer) {
    let tree = &model.tree;
    let lines = tree.lines();
    if tree.is_known() && lines.is_empty() {
        return sentence("Nothing is stored yet.", theme.dim(), area, to);
    }
    for (strip, line) in rows(area).zip(lines.iter().skip(tree.top)) {
        match line {
            Line::Gap { depth, .. } => {
                indented(strip, *depth).print_cut(to, "...", theme.dim());
            }
            Line::Entry { spot, depth } => {
                let Some(entry) = tree.entry(*spot) else { continue };
                let is_folder = entry.metadata.is_folder();
                let mut style = if is_folder { theme.folder() } else { theme.plain() };
                if tree.selected == Some(*spot) {
                    style = theme.selected(style, has_focus);
                    strip.fill(to, " ", style);
                }
                let size = [" ", human_size(entry.metadata.bytes).as_str(), " "].concat();
                let rest = indented(strip.print_right(to, &size, style), *depth);
                let mark = match (is_folder, entry.child) {
                    (false, _) => "  ",
                    (true, None) => "\u{25b8} ",
                    (true, Some(_)) => "\u{25be} ",
                };
                let rest = rest.print(to, mark, style);
                // The slash of a folder is seen even if its name is cut.
                let slash = Strip { end: rest.end.saturating_sub(u16::from(is_folder)), ..rest };
                let end = slash.print_cut(to, entry.name.as_str(), style);
                if is_folder {
                    Strip { x: end.x, ..rest }.print(to, "/", style);
                }
            }
        }
    }
}

fn indented(strip: Strip, depth: u16) -> Strip {
    // Deep names would have no room otherwise.
    let indent = depth.saturating_mul(2).saturating_add(1).min(strip.width().saturating_sub(12));
    Strip { x: strip.x.saturating_add(indent), ..strip }
}

fn found(
    search: &Search,
    has_focus: bool,
    theme: Theme,
    areas: &Areas,
    to: &mut Buffer,
) -> Option<Position> {
    let head = row(areas.left_head, 0).print(to, " / ", theme.head(has_focus));
    // The end of a long search is what is typed.
    let query = search.query.as_str();
    let room = head.width().saturating_sub(1);
    let cut = query.char_indices().map(|(at, _)| query.get(at..).unwrap_or_default());
    let shown = cut.into_iter().find(|rest| width(rest) <= room).unwrap_or_default();
    let after = head.print(to, shown, theme.plain());
    let list = Rect { height: areas.left.height.saturating_sub(1), ..areas.left };
    for (number, strip) in (search.top..).zip(rows(list)) {
        let Some(hit) = search.hit(number) else { break };
        let is_selected = number == search.selected;
        let style = |style| {
            if is_selected { theme.selected(style, has_focus) } else { style }
        };
        if is_selected {
            strip.fill(to, " ", style(theme.plain()));
        }
        let strip = Strip { x: strip.x.saturating_add(1), ..strip };
        match hit {
            Hit::Name(path) => {
                strip.print_cut(to, below(path), style(theme.folder()));
            }
            Hit::Line(line) => {
                // The name and the text each get a part of the row.
                let name = below(&line.path).rsplit('/').next().unwrap_or_default();
                let half = strip.x.saturating_add(strip.width().checked_div(2).unwrap_or(0));
                let rest = Strip { end: half, ..strip }.print_cut(to, name, style(theme.plain()));
                let number = [":", line.line.to_string().as_str(), " "].concat();
                let rest = Strip { x: rest.x, ..strip }.print(
                    to,
                    &number,
                    if is_selected { style(theme.plain()) } else { theme.dim() },
                );
                excerpt(rest, line.text.as_str(), line.ranges.first(), &style, theme, to);
            }
        }
    }
    summary(search, theme, row(areas.left, areas.left.height.saturating_sub(1)), to);
    has_focus.then_some(Position { x: after.x, y: after.y })
}

/// The part of a line around its first match.
fn excerpt(
    strip: Strip,
    text: &str,
    range: Option<&std::ops::Range<usize>>,
    style: &dyn Fn(ratatui::style::Style) -> ratatui::style::Style,
    theme: Theme,
    to: &mut Buffer,
) {
    let indent = text.len().saturating_sub(text.trim_start().len());
    let start = range.map_or(indent, |range| range.start);
    let before = text.get(..start).unwrap_or_default();
    // A few words before the match, if the line is long.
    let is_near = start.saturating_sub(indent) < usize::from(strip.width().saturating_sub(8));
    let from = if is_near { indent } else { before.rfind(' ').map_or(start, |at| at + 1) };
    let shown = text.get(from..).unwrap_or_default();
    strip.print_with(to, shown, |piece| {
        let at = from.saturating_add(piece.start);
        let is_match = range.is_some_and(|range| range.contains(&at));
        style(if is_match { theme.found() } else { theme.plain() })
    });
}

fn summary(search: &Search, theme: Theme, strip: Strip, to: &mut Buffer) {
    let text = if let Some(problem) = &search.problem {
        format!(" {problem}")
    } else if search.query.as_str().is_empty() {
        " Type a part of a name or text.".to_owned()
    } else {
        let number = u64::try_from(search.len()).unwrap_or(u64::MAX);
        let is_full = search.names.len() >= MOST_HITS || search.lines.len() >= MOST_HITS;
        let end = match (search.waits, is_full) {
            (Some(_), _) => ", searching...",
            (None, true) => ", the first ones",
            (None, false) => "",
        };
        format!(" {}{end}", count(number, "hit", "hits"))
    };
    strip.print_cut(to, &text, theme.dim());
}

/// A path without the root.
fn below(path: &FileText) -> &str {
    path.as_str().strip_prefix("/memories/").unwrap_or(path.as_str())
}
