//! Requests to the history: each is made to the store and to the naive history, and both are compared.

use std::collections::BTreeMap;

use super::observe::{log, physical, refusal, settings};
use super::undo::undo;
use crate::model::aging::ROOM;
use crate::model::past::{Change, Took};
use crate::model::{Memory, Refusal, Why};
use crate::naive::canonical;
use crate::ops::PastCall;
use crate::store::Store;
use inmost::internals::show_all;
use inmost::{FileError, HistorySettings, StoreError, VersionInfo};

/// Makes a request. After a store error, the model is as if it had succeeded, or partly so.
pub(super) fn run(store: &Store, memory: &mut Memory, call: &PastCall) -> Result<(), StoreError> {
    memory.past.channel = inmost::VersionChannel::Files;
    let is_on = memory.past.keeps;
    match call {
        PastCall::Keep(false) if is_on => set(store, memory, 0, ROOM),
        PastCall::Set { keep, room } => set(store, memory, *keep, *room),
        // A history that is off is turned on instead, so that more runs have one.
        _ if !is_on => set(store, memory, KEEP, ROOM),
        PastCall::Keep(_) => set(store, memory, KEEP, ROOM),
        PastCall::Compact => store.session().compact(),
        PastCall::Restore { pick, to } => restore(store, memory, *pick, to.as_deref()),
        PastCall::ForgetUntil { pick } => forget_until(store, memory, *pick),
        PastCall::Forget { path } => forget(store, memory, path, None),
        PastCall::Undo { pick, path } => undo(store, memory, *pick, path.as_deref()),
    }
}

/// Sets how long versions are kept, and their room. What does not fit any more has gone when the call returns.
fn set(store: &Store, memory: &mut Memory, keep: u64, room: u64) -> Result<(), StoreError> {
    memory.past.set(keep, room);
    store.session().history().set(settings(keep, room))?;
    memory.past.was_set = true;
    Ok(())
}

/// After a request that failed in the middle: the history begins anew, with the files that are there.
pub(super) fn restart(store: &Store, memory: &mut Memory, call: &PastCall) {
    let files = store.contents().unwrap();
    if !matches!(call, PastCall::Restore { .. } | PastCall::Undo { .. }) {
        assert!(files == memory.files, "{call:?} changed files");
    }
    memory.files = files;
    let history = store.session().history();
    history.set(HistorySettings::off()).unwrap();
    history.set(settings(KEEP, ROOM)).unwrap();
    memory.past.restart(KEEP, &memory.files);
}

pub(super) fn picked(memory: &Memory, pick: usize) -> Option<Change> {
    let count = memory.past.listed().count();
    // The newest are the most interesting.
    memory.past.listed().rev().nth(pick % count.max(1)).cloned()
}

fn restore(
    store: &Store,
    memory: &mut Memory,
    pick: usize,
    to: Option<&str>,
) -> Result<(), StoreError> {
    let Some(change) = picked(memory, pick) else { return Ok(()) };
    let number = memory.past.number(&change);
    let before = memory.clone();
    let expected = match to.map(canonical).transpose() {
        Ok(to) => memory.restore(&change, to.as_deref()),
        Err(_) => Err(Refusal::Because(Why::Missing)),
    };
    let found = match store.session().history().restore(number, to) {
        Ok(made) => Ok(made),
        Err(FileError::Store(error)) => return Err(error),
        Err(FileError::InvalidPath(_)) => Err(Refusal::Because(Why::Missing)),
        Err(error) => Err(refusal(&error)),
    };
    if change.unsure && matches!(found, Err(Refusal::Gone)) {
        // Nothing else told that there was no room for the folder.
        *memory = before;
        memory.past.drop_up_to(number);
        return Ok(());
    }
    if let Took::Folder(took) = &change.took {
        let maybe = took.values().any(|ident| ident.maybe);
        if maybe && expected.is_ok() {
            if found.is_err() {
                // Nothing is left in it, or what is left does not fit.
                *memory = before;
                return Ok(());
            }
            drop_forgotten(store, memory)?;
            return Ok(());
        }
    }
    assert_eq!(found.as_ref().map(drop), expected.as_ref().map(drop), "{change:?} to {to:?}");
    if let Ok(made) = found {
        let log = log(store)?;
        assert_eq!(log.last().map(|version| version.number), Some(made));
    }
    Ok(())
}

/// Drops the files that a `forget` has removed from a folder that came back.
pub(super) fn drop_forgotten(store: &Store, memory: &mut Memory) -> Result<(), StoreError> {
    let files = store.contents()?;
    let gone: Vec<String> = memory
        .past
        .idents
        .iter()
        .filter(|(path, ident)| ident.maybe && !files.contains_key(*path))
        .map(|(path, _)| path.clone())
        .collect();
    for path in gone {
        memory.files.remove(&path);
        memory.past.idents.remove(&path);
    }
    memory.past.idents.values_mut().for_each(|ident| ident.maybe = false);
    Ok(())
}

/// Forgets the versions up to a picked one, of what is or was at its path.
fn forget_until(store: &Store, memory: &mut Memory, pick: usize) -> Result<(), StoreError> {
    let Some(change) = picked(memory, pick) else { return Ok(()) };
    if change.path.is_empty() {
        return Ok(());
    }
    let until = memory.past.number(&change);
    forget(store, memory, &change.path, Some(until))
}

fn forget(
    store: &Store,
    memory: &mut Memory,
    path: &str,
    until: Option<u64>,
) -> Result<(), StoreError> {
    let canonical = canonical(path);
    let removed = match store.session().history().forget(path, until, |_| {}) {
        Ok(removed) => removed,
        Err(FileError::Store(error)) => return Err(error),
        Err(FileError::InvalidPath(_)) => {
            assert!(canonical.is_err(), "{path}");
            return Ok(());
        }
        Err(error) => panic!("{error}"),
    };
    let left: BTreeMap<u64, VersionInfo> =
        physical(store)?.into_iter().map(|it| (it.number, it)).collect();
    let is_gone = |number: u64| {
        show_all(true);
        let is_gone = store.session().history().text(number).is_err();
        show_all(false);
        is_gone
    };
    let (path, until) = (canonical.unwrap_or_default(), until.unwrap_or(u64::MAX));
    let (least, most) = memory.forget(&path, until, &left, &is_gone);
    assert!((least..=most).contains(&usize::try_from(removed).unwrap()), "{path}: {removed}");
    Ok(())
}

/// How long versions are kept unless something else is set, in milliseconds.
const KEEP: u64 = 30 * 24 * 60 * 60 * 1_000;
