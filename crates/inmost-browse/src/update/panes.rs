//! Keys in the two panes.

use super::super::event::{Effect, Job};
use super::super::key::{Key, Motion};
use super::super::layout::Areas;
use super::super::model::{Action, Content, Dialog, Focus, Item, Model, Right};
use super::super::past::{Diff, Past};
use super::searching;
use super::showing::{follow, lock, refresh};
use inmost_console::{display, times};

/// Handles a key.
pub(super) fn key(model: &mut Model, key: Key, effects: &mut Vec<Effect>) {
    match key {
        Key::Char('q') => effects.push(Effect::Quit),
        Key::Char('?') | Key::Help => model.dialog = Some(Dialog::Help(0)),
        Key::Char('/') => searching::open(model, effects),
        Key::Char('L') => lock(model, "You locked it.", effects),
        Key::Char('R') | Key::Refresh => {
            refresh(model, effects);
            model.note = Some("Read again.".to_owned());
        }
        Key::Char('v') => {
            if let Some(path) = model.current_path() {
                open_past(model, Some(path), effects);
            }
        }
        Key::Char('V') => open_past(model, None, effects),
        Key::Char('e') => edit(model, effects),
        Key::Char('d') => remove(model),
        Key::Char('F') => forget(model),
        Key::Char('r') => restore(model),
        Key::Tab => {
            model.focus = match model.focus {
                Focus::Left => Focus::Right,
                Focus::Right => Focus::Left,
            };
        }
        key => match model.focus {
            Focus::Left => left(model, key),
            Focus::Right => right(model, key, effects),
        },
    }
}

fn left(model: &mut Model, key: Key) {
    let height = model.pane_height();
    if let Some(motion) = Motion::of(key) {
        if model.tree.go(motion, height) {
            model.ahead.push(key);
        }
        return;
    }
    let Some(entry) = model.tree.selected() else { return };
    let (is_folder, is_open) = (entry.metadata.is_folder(), entry.child.is_some());
    match key {
        Key::Enter if is_folder && is_open => model.tree.close(height),
        Key::Enter | Key::Right | Key::Char('l') if is_folder => {
            let is_blocked = !model.tree.open() && model.tree.go(Motion::Down, height);
            model.ahead.extend(is_blocked.then_some(key));
        }
        Key::Enter | Key::Right | Key::Char('l') => model.focus = Focus::Right,
        Key::Left | Key::Char('h') => model.tree.close(height),
        _ => {}
    }
}

fn right(model: &mut Model, key: Key, effects: &mut Vec<Effect>) {
    let area = Areas::of(model.size).right;
    match &mut model.right {
        Right::Empty => model.focus = Focus::Left,
        Right::Item(item) => {
            if let (Some(motion), Content::File(_, _, reader)) =
                (Motion::of(key), &mut item.content)
            {
                return reader.go(motion, area.height);
            }
            if is_back(key) {
                model.focus = Focus::Left;
            }
        }
        Right::Past(_) => past(model, key, effects),
    }
}

fn is_back(key: Key) -> bool {
    matches!(key, Key::Left | Key::Escape | Key::Char('h'))
}

/// Keys in the list of versions, and in the differences of one.
fn past(model: &mut Model, key: Key, effects: &mut Vec<Effect>) {
    let area = Areas::of(model.size).right;
    let Right::Past(past) = &mut model.right else { return };
    if let Some(diff) = &mut past.diff {
        match (Motion::of(key), &mut diff.text) {
            (Some(motion), Some(reader)) => reader.go(motion, area.height),
            _ if is_back(key) => past.diff = None,
            _ => {}
        }
        return;
    }
    if let Some(motion) = Motion::of(key) {
        return past.go(motion, usize::from(area.height.saturating_sub(1)));
    }
    if matches!(key, Key::Enter | Key::Right | Key::Char('l'))
        && let Some(version) = past.selected().cloned()
    {
        let ticket = model.ask(Job::Diff(version), effects);
        if let Right::Past(past) = &mut model.right {
            past.diff = Some(Diff { waits: Some(ticket), text: None, problem: None });
        }
    } else if is_back(key) {
        model.right = Right::Empty;
        model.focus = Focus::Left;
        follow(model, true, effects);
    }
}

fn open_past(model: &mut Model, path: Option<inmost::FileText>, effects: &mut Vec<Effect>) {
    let ticket = model.ask(Job::Versions { path: path.clone(), before: None }, effects);
    model.right = Right::Past(Past::new(path, ticket));
    model.focus = Focus::Right;
}

fn edit(model: &mut Model, effects: &mut Vec<Effect>) {
    let Right::Item(Item { path, content, .. }) = &model.right else {
        model.note = Some("Select a file to edit.".to_owned());
        return;
    };
    match content {
        Content::File(..) => effects.push(Effect::Edit(path.clone())),
        _ => model.note = Some("Only a file can be edited.".to_owned()),
    }
}

fn remove(model: &mut Model) {
    let Some(path) = model.current_path() else { return };
    let shown = display::path(path.as_str());
    let question = match what_is_at(model, &path) {
        Some(true) => format!("Delete the folder {shown} with everything in it?"),
        Some(false) => format!("Delete {shown}?"),
        None => format!("Delete {shown}, with everything in it if it is a folder?"),
    };
    let detail = match model.facts.and_then(|facts| facts.keeps_versions) {
        Some(true) => "Its versions are kept for their time: V lists the change, r brings it back.",
        Some(false) => "This store keeps no versions, so it cannot be undone.",
        None => "",
    };
    let action = Action::Remove(path);
    model.dialog = Some(Dialog::Ask { question, detail: detail.to_owned(), action });
}

/// Whether a selected path is a folder; `None` if the store has not said so yet.
fn what_is_at(model: &Model, path: &inmost::FileText) -> Option<bool> {
    if model.search.is_none() {
        return model.tree.selected().map(|entry| entry.metadata.is_folder());
    }
    match &model.right {
        Right::Item(item) if item.path == *path => match &item.content {
            Content::Folder(..) => Some(true),
            Content::File(..) => Some(false),
            Content::Unknown | Content::Problem(_) => None,
        },
        _ => None,
    }
}

fn forget(model: &mut Model) {
    let Some(path) = model.current_path() else { return };
    let shown = display::path(path.as_str());
    model.dialog = Some(Dialog::Confirm {
        question: format!("Forget every version of what is or was at or below {shown}?"),
        detail: "The current text stays. This cannot be undone. Type yes and press Enter."
            .to_owned(),
        typed: String::new(),
        action: Action::Forget(path),
    });
}

fn restore(model: &mut Model) {
    let Right::Past(past) = &model.right else {
        model.note = Some("Open the versions with v, and select one to restore.".to_owned());
        return;
    };
    let Some(version) = past.selected() else { return };
    let path =
        version.path.as_ref().map_or_else(|| "-".to_owned(), |it| display::path(it.as_str()));
    model.dialog = Some(Dialog::Ask {
        question: format!("Restore version {} of {path}?", version.number),
        detail: format!(
            "It is the state of {}. A restore is a change like any other.",
            times::local_minute(version.time)
        ),
        action: Action::Restore(version.number),
    });
}
