//! What an event does to the state, and what the browser asks for then. Does no I/O.

mod dialog;
mod keys;
mod panes;
mod replies;
mod searching;
mod showing;

use super::event::{Effect, Event, Job};
use super::key::Key;
use super::layout::Areas;
use super::model::{Content, Item, Model, Right};
use keys::pressed;
use showing::{follow, lock, selection, settle};

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
