//! Replies of the store.

use super::super::event::{Effect, Facts, Hits, Job, Problem, Reply, Shown, Versions};
use super::super::layout::Areas;
use super::super::model::{Content, Dialog, Model, Right};
use super::super::reader::Reader;
use super::super::tree::Ticket;
use super::super::tree::{FolderId, Listing};
use super::keys::catch_up;
use super::showing::{be_locked, refresh};
use inmost::FileText;

/// Takes in a reply. One that nobody waits for any more changes nothing.
pub(super) fn take(model: &mut Model, reply: Reply, effects: &mut Vec<Effect>) {
    match reply {
        Reply::Listed { ticket, folder, listing } => {
            listed(model, (folder, ticket), listing, effects);
        }
        Reply::Shown { ticket, shown } => show(model, ticket, shown, effects),
        Reply::Versions { ticket, page } => versions(model, ticket, page, effects),
        Reply::Diff { ticket, diff } => differences(model, ticket, diff, effects),
        Reply::Done(result) => done(model, result, effects),
        Reply::Status(result) => status(model, result, effects),
        Reply::Hits { ticket, hits } => found(model, ticket, hits, effects),
    }
}

/// A change was made, or not.
pub(super) fn done(model: &mut Model, result: Result<String, Problem>, effects: &mut Vec<Effect>) {
    model.note = None;
    match result {
        Ok(sentence) => model.note = Some(sentence),
        Err(problem) => fail(model, problem, effects),
    }
    if model.locked.is_none() {
        // If the store has changed, what is on the screen is read again.
        model.ask(Job::Status(true), effects);
    }
}

/// Shows a problem. Returns its sentence, if it is one of a single request.
fn fail(model: &mut Model, problem: Problem, effects: &mut Vec<Effect>) {
    match problem {
        Problem::Locked(why) => be_locked(model, why, effects),
        Problem::Gone => model.note = Some(GONE.to_owned()),
        Problem::Other(message, advice) => {
            model.dialog = Some(Dialog::Message(message, advice));
        }
    }
}

/// The sentence of a problem that is shown in its pane; `None` if the store is locked.
fn sentence(model: &mut Model, problem: Problem, effects: &mut Vec<Effect>) -> Option<String> {
    match problem {
        Problem::Locked(why) => {
            be_locked(model, why, effects);
            None
        }
        Problem::Gone => Some(GONE.to_owned()),
        Problem::Other(message, advice) => Some(format!("{message} {advice}")),
    }
}

fn listed(
    model: &mut Model,
    (folder, ticket): (FolderId, Ticket),
    listing: Result<Listing, Problem>,
    effects: &mut Vec<Effect>,
) {
    match listing {
        Ok(listing) => drop(model.tree.listed(folder, ticket, listing)),
        Err(Problem::Gone) => model.tree.gone(folder),
        Err(problem) => {
            model.tree.failed(folder, ticket);
            fail(model, problem, effects);
        }
    }
    catch_up(model, effects);
}

fn show(
    model: &mut Model,
    ticket: Ticket,
    shown: Result<Shown, Problem>,
    effects: &mut Vec<Effect>,
) {
    let area = Areas::of(model.size).right;
    let Right::Item(item) = &mut model.right else { return };
    if item.waits != Some(ticket) {
        return;
    }
    item.waits = None;
    match shown {
        Ok(Shown { metadata, text: None, last }) => item.content = Content::Folder(metadata, last),
        Ok(Shown { metadata, text: Some(text), last }) => {
            let mut reader = Reader::new(text, area.width, true);
            match (&item.content, &item.found) {
                (Content::File(_, _, before), _) => reader.stay_at(before),
                (_, Some(found)) => reader.show_line(found.line, area.height),
                _ => {}
            }
            item.content = Content::File(metadata, last, reader);
        }
        Err(problem) => {
            let sentence = sentence(model, problem, effects);
            if let (Right::Item(item), Some(sentence)) = (&mut model.right, sentence) {
                item.content = Content::Problem(sentence);
            }
        }
    }
}

fn versions(
    model: &mut Model,
    ticket: Ticket,
    page: Result<Versions, Problem>,
    effects: &mut Vec<Effect>,
) {
    let Right::Past(past) = &mut model.right else { return };
    if past.waits != Some(ticket) {
        return;
    }
    match page {
        Ok(page) => past.add(page),
        Err(problem) => {
            past.waits = None;
            let sentence = sentence(model, problem, effects);
            if let Right::Past(past) = &mut model.right {
                past.problem = sentence;
            }
        }
    }
}

fn differences(
    model: &mut Model,
    ticket: Ticket,
    result: Result<FileText, Problem>,
    effects: &mut Vec<Effect>,
) {
    let pane = Areas::of(model.size).right.width;
    let Right::Past(past) = &mut model.right else { return };
    let Some(diff) = past.diff.as_mut().filter(|diff| diff.waits == Some(ticket)) else { return };
    diff.waits = None;
    match result {
        Ok(text) => diff.text = Some(Reader::new(text, pane, false)),
        Err(problem) => {
            let sentence = sentence(model, problem, effects);
            if let Right::Past(past) = &mut model.right
                && let Some(diff) = &mut past.diff
            {
                diff.problem = sentence;
            }
        }
    }
}

fn status(model: &mut Model, result: Result<Facts, Problem>, effects: &mut Vec<Effect>) {
    match result {
        Ok(facts) => {
            let before = model.facts.replace(facts);
            if let (Some(before), Some(now)) = (before, &mut model.facts) {
                now.keeps_versions = now.keeps_versions.or(before.keeps_versions);
                if before.commit != now.commit {
                    refresh(model, effects);
                }
            }
        }
        Err(Problem::Locked(why)) => be_locked(model, why, effects),
        // The next status may be better, and everything else says so itself.
        Err(_) => {}
    }
}

fn found(
    model: &mut Model,
    ticket: Ticket,
    hits: Result<Hits, Problem>,
    effects: &mut Vec<Effect>,
) {
    let Some(search) = model.search.as_mut().filter(|it| it.waits == Some(ticket)) else { return };
    match hits {
        Ok(hits) => search.add(hits),
        Err(problem) => {
            search.waits = None;
            let sentence = sentence(model, problem, effects);
            if let Some(search) = &mut model.search {
                search.problem = sentence;
            }
        }
    }
}

const GONE: &str = "It is not there any more.";
