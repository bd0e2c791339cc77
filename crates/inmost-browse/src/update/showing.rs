//! What the screen shows: reading it again, following the selection, and dropping it at a lock.

use super::super::event::{Effect, Job, Request};
use super::super::layout::Areas;
use super::super::model::{Content, Item, Model, Right};
use super::super::search::Search;
use super::searching;

/// Drops every text and wipes the keys.
pub(super) fn lock(model: &mut Model, why: &str, effects: &mut Vec<Effect>) {
    be_locked(model, why.to_owned(), effects);
    effects.push(Effect::Lock);
}

/// The store is locked: drops every text.
pub(super) fn be_locked(model: &mut Model, why: String, effects: &mut Vec<Effect>) {
    searching::stop(model, effects);
    model.forget_content();
    model.locked = Some(why);
}

/// Reads everything on the screen again, and keeps the place in it.
pub(super) fn refresh(model: &mut Model, effects: &mut Vec<Effect>) {
    let ticket = model.ticket();
    for want in model.tree.again(ticket) {
        effects.push(Effect::Ask(Request { ticket, job: Job::List(want) }));
    }
    if let Right::Item(item) = &model.right {
        let job = Job::Show(item.path.clone());
        let ticket = model.ask(job, effects);
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
pub(super) fn settle(model: &mut Model, effects: &mut Vec<Effect>) {
    let height = model.pane_height();
    let ticket = model.ticket();
    let wants = model.tree.wants(height, ticket);
    for want in wants {
        effects.push(Effect::Ask(Request { ticket, job: Job::List(want) }));
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
pub(super) fn selection(model: &Model) -> (Option<inmost::FileText>, Option<u64>) {
    let found = model.search.as_ref().and_then(Search::found);
    (model.current_path(), found.map(|found| found.line))
}

/// Shows what is selected in the right pane.
pub(super) fn follow(model: &mut Model, has_moved: bool, effects: &mut Vec<Effect>) {
    let wanted = model.current_path();
    let found = model.search.as_ref().and_then(Search::found);
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
