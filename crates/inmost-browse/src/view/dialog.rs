//! Questions, messages and the help, over the panes.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::widgets::{Block, BorderType, Clear, Widget};

use super::super::glyphs::Strip;
use super::super::model::Dialog;
use super::super::rows::Place;
use super::super::theme::Theme;
use super::lines::{row, rows, sentence};

pub(super) fn paint(dialog: &Dialog, theme: Theme, to: &mut Buffer) -> Option<Position> {
    match dialog {
        Dialog::Help(top) => {
            help(*top, theme, to);
            None
        }
        Dialog::Message(message, advice) => {
            message_box(&[message, advice], theme, to);
            None
        }
        Dialog::Ask { question, detail, .. } => {
            message_box(&[question, detail, "y yes   n no"], theme, to);
            None
        }
        Dialog::Confirm { question, detail, typed, .. } => {
            let field = [" > ", typed.as_str()].concat();
            let area = message_box(&[question, detail, &field], theme, to);
            let strip = row(area, area.height.saturating_sub(1));
            let x = strip.x.saturating_add(1).saturating_add(super::super::glyphs::width(&field));
            Some(Position { x: x.min(strip.end.saturating_sub(1)), y: strip.y })
        }
    }
}

/// The screen of a locked store.
pub(super) fn locked(why: &str, theme: Theme, to: &mut Buffer) {
    let lines = ["The store is locked.", why, "u unlocks it again, q quits."];
    message_box(&lines, theme, to);
}

/// A box with paragraphs in the middle of the screen. Returns the area inside.
fn message_box(lines: &[&str], theme: Theme, to: &mut Buffer) -> Rect {
    let lines: Vec<&str> = lines.iter().copied().filter(|line| !line.is_empty()).collect();
    let text = lines.join("\n\n");
    let columns = to.area.width.saturating_sub(8).min(WIDTH);
    let mut wrapped = 0_u16;
    let mut place = Some(Place::START);
    while let Some(at) = place {
        wrapped = wrapped.saturating_add(1);
        place = at.row(&text, columns.saturating_sub(4)).next;
    }
    let inside = boxed("", columns, wrapped, theme, to);
    sentence(&text, theme.plain(), inside, to);
    inside
}

fn boxed(title: &str, columns: u16, lines: u16, theme: Theme, to: &mut Buffer) -> Rect {
    let screen = to.area;
    let height = lines.saturating_add(2).min(screen.height.saturating_sub(2));
    let area = Rect {
        x: screen.width.saturating_sub(columns).checked_div(2).unwrap_or(0),
        y: screen.height.saturating_sub(height).checked_div(2).unwrap_or(0),
        width: columns.min(screen.width),
        height,
    };
    Clear.render(area, to);
    let block = Block::bordered().border_type(BorderType::Rounded).border_style(theme.dim());
    let inside = block.inner(area);
    block.title(title.to_owned()).render(area, to);
    inside
}

fn help(top: u16, theme: Theme, to: &mut Buffer) {
    let lines = u16::try_from(HELP.len()).unwrap_or(u16::MAX);
    let inside = boxed(" Keys ", WIDTH, lines, theme, to);
    let hidden = lines.saturating_sub(inside.height);
    let shown = HELP.iter().skip(usize::from(top.min(hidden)));
    for (strip, (keys, what)) in rows(inside).zip(shown) {
        let style = if what.is_empty() { theme.dim() } else { Style::new() };
        let strip = Strip { x: strip.x.saturating_add(1), ..strip };
        strip.print_cut(to, keys, if what.is_empty() { style } else { theme.place() });
        let x = strip.x.saturating_add(KEYS).min(strip.end);
        Strip { x, ..strip }.print_cut(to, what, style);
    }
}

/// The keys, and what they do. A row without a second part is a heading.
const HELP: &[(&str, &str)] = &[
    ("\u{2191} \u{2193}  j k", "one row"),
    ("PgUp PgDn  b Space", "one page"),
    ("Home End  g G", "to the start, to the end"),
    ("\u{2192} Enter", "open a folder, or go to the text"),
    ("\u{2190} Esc", "close a folder, or go back"),
    ("Tab", "the other pane"),
    ("/", "search names and texts, several words by rank"),
    ("e", "edit the file in $VISUAL or $EDITOR"),
    ("v", "versions of the file or folder: what changed, when, by whom"),
    ("V", "versions of everything, deleted files too"),
    ("Enter", "in the versions: what the selected one changed"),
    ("r", "in the versions: restore the selected one"),
    ("d", "delete the file or folder (asks)"),
    ("F", "forget its versions (asks)"),
    ("R F5", "read everything again"),
    ("L", "lock the store and clear the screen"),
    ("?  F1", "this help"),
    ("q  Ctrl-C", "quit"),
];

/// Columns of a box.
const WIDTH: u16 = 72;

/// Columns of the keys in the help.
const KEYS: u16 = 21;
