//! Which part of the browser gets a key.

use super::super::event::Effect;
use super::super::key::Key;
use super::super::layout;
use super::super::model::Model;
use super::{dialog, panes, searching};

pub(super) fn pressed(model: &mut Model, key: Key, effects: &mut Vec<Effect>) {
    model.note = None;
    if key == Key::Control('c') {
        return effects.push(Effect::Quit);
    }
    if !model.ahead.is_empty() {
        // What ends the browser or its sight of the store does not wait for the store. In a search these are text.
        let bounds = |key: &&Key| matches!(key, Key::Char('/') | Key::Escape | Key::Enter);
        let searches = model.ahead.iter().rev().find(bounds) == Some(&Key::Char('/'));
        let is_urgent = matches!(key, Key::Char('q' | 'L') | Key::Escape) && !searches;
        if !is_urgent {
            model.ahead.push(key);
            return model.ahead.truncate(MOST_AHEAD);
        }
        model.ahead.clear();
    }
    if !layout::fits(model.size) {
        // Nobody sees what a key would do.
        if key == Key::Char('q') {
            effects.push(Effect::Quit);
        }
        return;
    }
    if model.dialog.is_some() {
        return dialog::key(model, key, effects);
    }
    if searching::key(model, key, effects) {
        return;
    }
    panes::key(model, key, effects);
}

/// Presses the keys that waited for entries of the tree.
pub(super) fn catch_up(model: &mut Model, effects: &mut Vec<Effect>) {
    for key in std::mem::take(&mut model.ahead) {
        pressed(model, key, effects);
    }
}

/// Keys that wait.
const MOST_AHEAD: usize = 64;
