//! What an event does to the state, and what the browser asks for then. Does no I/O.

mod dialog;
mod panes;
mod replies;
mod searching;

use super::event::{Effect, Event, Job};
use super::key::Key;
use super::layout::{self, Areas};
use super::model::{Content, Item, Model, Right};

/// Handles an event.
pub(super) fn update(model: &mut Model, event: Event) -> Vec<Effect> {
    let mut effects = Vec::new();
    let before = selection(model);
    match event {
        Event::Resize(columns, rows) => resize(model, (columns, rows)),
        Event::Unlocked(result) => unlocked(model, result, &mut effects),
        _ if model.locked.is_some() => locked(&event, &mut effects),
        Event::Key(key) => pressed(model, key, &mut effects),
        Event::Paste(text) => searching::paste(model, text.as_str(), &mut effects),
        Event::Tick => tick(model, &mut effects),
        Event::Idle => lock(model, "It was not used for some time.", &mut effects),
        Event::Reply(reply) => replies::take(model, *reply, &mut effects),
        Event::Edited(result) => replies::done(model, result, &mut effects),
    }
    if model.locked.is_none() {
        settle(model, &mut effects);
        let has_moved = selection(model) != before;
        follow(model, has_moved, &mut effects);
    }
    effects
}

/// What a new browser asks for.
pub(super) fn start(model: &mut Model) -> Vec<Effect> {
    let mut effects = Vec::new();
    model.ask(Job::Status(true), &mut effects);
    settle(model, &mut effects);
    effects
}

fn pressed(model: &mut Model, key: Key, effects: &mut Vec<Effect>) {
    model.note = None;
    if key == Key::Control('c') {
        return effects.push(Effect::Quit);
    }
    if !model.ahead.is_empty() {
        // What ends the browser or its sight of the store does not wait for the store.
        let is_urgent = matches!(key, Key::Char('q' | 'L') | Key::Escape);
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
fn catch_up(model: &mut Model, effects: &mut Vec<Effect>) {
    for key in std::mem::take(&mut model.ahead) {
        pressed(model, key, effects);
    }
}

/// While the store is locked there are two things to do.
fn locked(event: &Event, effects: &mut Vec<Effect>) {
    match event {
        Event::Key(Key::Char('u') | Key::Enter) => effects.push(Effect::Unlock),
        Event::Key(Key::Char('q') | Key::Escape | Key::Control('c')) => effects.push(Effect::Quit),
        _ => {}
    }
}

fn unlocked(model: &mut Model, result: Result<bool, String>, effects: &mut Vec<Effect>) {
    match result {
        Ok(by_daemon) => {
            model.forget_content();
            (model.by_daemon, model.locked) = (by_daemon, None);
            model.ask(Job::Status(true), effects);
        }
        Err(why) => model.locked = Some(why),
    }
}

/// Drops every text and wipes the keys.
fn lock(model: &mut Model, why: &str, effects: &mut Vec<Effect>) {
    be_locked(model, why.to_owned(), effects);
    effects.push(Effect::Lock);
}

/// The store is locked: drops every text.
fn be_locked(model: &mut Model, why: String, effects: &mut Vec<Effect>) {
    searching::stop(model, effects);
    model.forget_content();
    model.locked = Some(why);
}

/// Another program changes the store only through a key daemon. Asking that for its status keeps nothing unlocked.
fn tick(model: &mut Model, effects: &mut Vec<Effect>) {
    if model.by_daemon {
        model.ask(Job::Status(false), effects);
    }
}

fn resize(model: &mut Model, size: (u16, u16)) {
    model.size = size;
    let pane = Areas::of(size).right.width;
    match &mut model.right {
        Right::Item(Item { content: Content::File(_, _, reader), .. }) => reader.resize(pane),
        Right::Past(past) => {
            if let Some(reader) = past.diff.as_mut().and_then(|diff| diff.text.as_mut()) {
                reader.resize(pane);
            }
        }
        _ => {}
    }
}

/// Reads everything on the screen again, and keeps the place in it.
fn refresh(model: &mut Model, effects: &mut Vec<Effect>) {
    let ticket = model.ticket();
    for want in model.tree.again(ticket) {
        effects.push(Effect::Ask(super::event::Request { ticket, job: Job::List(want) }));
    }
    let path = match &model.right {
        Right::Item(item) => Some(item.path.clone()),
        _ => None,
    };
    if let Some(path) = path {
        let ticket = model.ask(Job::Show(path), effects);
        if let Right::Item(item) = &mut model.right {
            item.waits = Some(ticket);
        }
    }
    if let Right::Past(past) = &model.right {
        let job = Job::Versions { path: past.path.clone(), before: None };
        let ticket = model.ask(job, effects);
        if let Right::Past(past) = &mut model.right {
            (past.waits, past.is_again) = (Some(ticket), true);
        }
    }
}

/// Asks for the pages that the screen needs.
fn settle(model: &mut Model, effects: &mut Vec<Effect>) {
    let height = model.pane_height();
    let ticket = model.ticket();
    let wants = model.tree.wants(height, ticket);
    for want in wants {
        effects.push(Effect::Ask(super::event::Request { ticket, job: Job::List(want) }));
    }
    if let Some(search) = &mut model.search {
        search.keep_in_view(height.saturating_sub(1));
    }
    if let Right::Past(past) = &mut model.right {
        past.keep_in_view(height.saturating_sub(1));
        if let (Some(next), None, true) = (past.next, past.waits, past.is_near_end(height)) {
            let job = Job::Versions { path: past.path.clone(), before: Some(next) };
            let ticket = model.ask(job, effects);
            if let Right::Past(past) = &mut model.right {
                past.waits = Some(ticket);
            }
        }
    }
}

/// The selected path, and the line of it that a search found.
fn selection(model: &Model) -> (Option<inmost::FileText>, Option<u64>) {
    let found = model.search.as_ref().and_then(super::search::Search::found);
    (model.current_path(), found.map(|found| found.line))
}

/// Shows what is selected in the right pane.
fn follow(model: &mut Model, has_moved: bool, effects: &mut Vec<Effect>) {
    let wanted = model.current_path();
    let found = model.search.as_ref().and_then(super::search::Search::found);
    let area = Areas::of(model.size).right;
    match &mut model.right {
        Right::Past(_) if !has_moved => return,
        Right::Item(item) if Some(&item.path) == wanted.as_ref() => {
            if has_moved && let Some(found) = found {
                if let Content::File(_, _, reader) = &mut item.content {
                    reader.show_line(found.line, area.height);
                }
                item.found = Some(found);
            }
            return;
        }
        _ => {}
    }
    model.right = match wanted {
        None => Right::Empty,
        Some(path) => {
            let waits = Some(model.ask(Job::Show(path.clone()), effects));
            Right::Item(Item { path, waits, content: Content::Unknown, found })
        }
    };
}

/// Keys that wait.
const MOST_AHEAD: usize = 64;
