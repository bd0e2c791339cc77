//! Keys while a search is open.

use inmost::FileText;

use super::super::event::Effect;
use super::super::key::{Key, Motion};
use super::super::model::{Focus, Model};
use super::super::search::{LONGEST_QUERY, Search};
use inmost_console::display::needs_escape;

/// Opens a search without a text yet.
pub(super) fn open(model: &mut Model, effects: &mut Vec<Effect>) {
    model.search = Some(Search::new());
    model.focus = Focus::Left;
    restart(model, String::new(), effects);
}

/// Handles a key if a search takes it. Returns whether it did.
pub(super) fn key(model: &mut Model, key: Key, effects: &mut Vec<Effect>) -> bool {
    let height = model.pane_height().saturating_sub(1);
    let Some(search) = &mut model.search else { return false };
    if model.focus == Focus::Right {
        // `/` goes back to the field, and every other key is for the text.
        if key == Key::Char('/') {
            model.focus = Focus::Left;
        }
        return key == Key::Char('/');
    }
    if let Some(motion) = Motion::of_arrow(key) {
        search.go(motion, height);
        return true;
    }
    let mut query = search.query.as_str().to_owned();
    match key {
        Key::Escape => close(model, effects),
        Key::Enter => {
            if let Some(path) = search.selected_path() {
                close(model, effects);
                model.tree.reveal(path);
                model.focus = Focus::Right;
            }
        }
        Key::Right => model.focus = Focus::Right,
        Key::Backspace => {
            query.pop();
            restart(model, query, effects);
        }
        Key::Control('u') => restart(model, String::new(), effects),
        Key::Char(letter) if query.chars().count() < LONGEST_QUERY => {
            query.push(letter);
            restart(model, query, effects);
        }
        Key::Char(_) | Key::Left | Key::Control(_) => {}
        _ => return false,
    }
    true
}

/// Adds pasted text to the search. Elsewhere a paste does nothing: its letters are not meant as commands.
pub(super) fn paste(model: &mut Model, text: &str, effects: &mut Vec<Effect>) {
    let Some(search) = model.search.as_ref().filter(|_| model.dialog.is_none()) else { return };
    let letters = search.query.as_str().chars().chain(text.chars());
    let query = letters.filter(|letter| !needs_escape(*letter)).take(LONGEST_QUERY).collect();
    restart(model, query, effects);
}

/// Ends a search that runs.
pub(super) fn stop(model: &mut Model, effects: &mut Vec<Effect>) {
    if model.search.is_some() {
        let ticket = model.ticket();
        effects.push(Effect::Search { ticket, query: None });
    }
}

fn close(model: &mut Model, effects: &mut Vec<Effect>) {
    stop(model, effects);
    model.search = None;
}

fn restart(model: &mut Model, query: String, effects: &mut Vec<Effect>) {
    let (ticket, query) = (model.ticket(), FileText::from(query));
    if let Some(search) = &mut model.search {
        search.restart(query.clone(), ticket);
    }
    effects.push(Effect::Search { ticket, query: Some(query) });
}
