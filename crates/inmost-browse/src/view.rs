//! Paints the state. Does no I/O.

mod dialog;
mod left;
mod lines;
mod past;
mod right;
mod text;

use inmost::human_size;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use super::glyphs::Strip;
use super::layout::{self, Areas, COLUMNS, ROWS};
use super::model::{Dialog, Focus, Model, Right};
use super::theme::Theme;
use inmost_console::display::{self, count};
use lines::{row, sentence};

/// Paints the whole screen. Returns where the cursor is, in a field in which a person types.
pub(super) fn paint(model: &Model, theme: Theme, to: &mut Buffer) -> Option<Position> {
    if !layout::fits(model.size) {
        too_small(model, theme, to);
        return None;
    }
    let areas = Areas::of(model.size);
    title(model, theme, areas.title, to);
    if let Some(why) = &model.locked {
        dialog::locked(why, theme, to);
        keys(" u unlock   q quit", theme, areas.keys, to);
        return None;
    }
    let mut cursor = left::paint(model, theme, &areas, to);
    separator(theme, &areas, to);
    right::paint(model, theme, &areas, to);
    bottom(model, theme, areas.keys, to);
    if let Some(shown) = &model.dialog {
        cursor = dialog::paint(shown, theme, to);
    }
    cursor
}

fn title(model: &Model, theme: Theme, area: Rect, to: &mut Buffer) {
    let style = theme.bar();
    let strip = row(area, 0);
    strip.fill(to, " ", style);
    let holder = if model.by_daemon { "key daemon" } else { "opened here" };
    let facts = match (&model.facts, &model.locked) {
        (_, Some(_)) => "locked ".to_owned(),
        (Some(facts), None) => format!(
            "{}, {}, {holder} ",
            count(facts.files, "file", "files"),
            human_size(facts.bytes)
        ),
        (None, None) => format!("{holder} "),
    };
    let rest = strip.print_right(to, &facts, style);
    rest.print_cut(to, &format!(" inmost  {}", display::path(&model.store)), style);
}

fn separator(theme: Theme, areas: &Areas, to: &mut Buffer) {
    let (top, bottom) = (areas.left_head.y, areas.left.bottom());
    for y in top..bottom {
        let x = areas.left.right();
        Strip { x, end: x.saturating_add(1), y }.print(to, "\u{2502}", theme.dim());
    }
}

/// The last row: a note, or the keys that matter here.
fn bottom(model: &Model, theme: Theme, area: Rect, to: &mut Buffer) {
    if let Some(note) = &model.note {
        let strip = row(area, 0);
        strip.print_cut(to, &format!(" {note}"), theme.warning());
        return;
    }
    keys(hints(model), theme, area, to);
}

fn hints(model: &Model) -> &'static str {
    match (&model.dialog, &model.right, model.focus) {
        (Some(Dialog::Help(_) | Dialog::Message(..)), ..) => " any key closes this",
        (Some(Dialog::Ask { .. }), ..) => " y yes   n no",
        (Some(Dialog::Confirm { .. }), ..) => " Enter confirm   Esc cancel",
        (_, _, Focus::Left) if model.search.is_some() => {
            " \u{2191}\u{2193} select   Enter open   Tab text   Esc end the search"
        }
        (_, Right::Past(past), Focus::Right) if past.diff.is_some() => {
            " \u{2191}\u{2193} scroll   r restore   \u{2190} versions   L lock   ? help   q quit"
        }
        (_, Right::Past(_), Focus::Right) => {
            " Enter differences   r restore   \u{2190} text   L lock   ? help   q quit"
        }
        (_, _, Focus::Right) => {
            " \u{2191}\u{2193} scroll   e edit   v versions   \u{2190} tree   L lock   ? help   q quit"
        }
        (_, _, Focus::Left) => {
            " / search   e edit   v versions   d delete   L lock   ? help   q quit"
        }
    }
}

fn keys(text: &str, theme: Theme, area: Rect, to: &mut Buffer) {
    row(area, 0).print_cut(to, text, theme.dim());
}

fn too_small(model: &Model, theme: Theme, to: &mut Buffer) {
    let (columns, rows) = model.size;
    let text = format!(
        "The terminal has {columns} columns and {rows} rows. The browser needs {COLUMNS} by {ROWS}. \
         Make the window larger, or press q to quit."
    );
    sentence(&text, theme.plain(), Rect::new(0, 0, columns, rows), to);
}
