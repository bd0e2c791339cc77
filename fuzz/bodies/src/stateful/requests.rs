//! Requests to the history: each is made to the store and to the naive history, and both are compared.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::model::past::{Change, Ident, Last, Took};
use crate::model::{Memory, Refusal, Why};
use crate::naive::canonical;
use crate::ops::PastCall;
use crate::store::Store;
use inmost::{
    FileError, HistorySettings, StoreError, UndoStep, Undone, VersionInfo, VersionKind,
    VersionQuery,
};

/// Makes a request. After a store error, the model is as if it had succeeded, or partly so.
pub(super) fn run(store: &Store, memory: &mut Memory, call: &PastCall) -> Result<(), StoreError> {
    memory.past.channel = inmost::VersionChannel::Files;
    let is_on = memory.past.keeps;
    match call {
        PastCall::Keep(false) if is_on => {
            memory.past.keeps = false;
            memory.past.changes.clear();
            store.session().history().set(HistorySettings::off())
        }
        // A history that is off is turned on instead, so that more runs have one.
        _ if !is_on => {
            memory.past.keeps = true;
            store.session().history().set(keeping())
        }
        PastCall::Keep(_) => store.session().history().set(keeping()),
        PastCall::Compact => store.session().compact(),
        PastCall::Restore { pick, to } => restore(store, memory, *pick, to.as_deref()),
        PastCall::Redact { pick, span } => redact(store, memory, *pick, *span),
        PastCall::Forget { path } => forget(store, memory, path),
        PastCall::Undo { pick, path } => undo(store, memory, *pick, path.as_deref()),
    }
}

fn keeping() -> HistorySettings {
    HistorySettings::keep(Duration::from_secs(30 * 24 * 60 * 60))
}

/// The log, the oldest entry first.
pub(super) fn log(store: &Store) -> Result<Vec<VersionInfo>, StoreError> {
    let mut log = Vec::new();
    let mut before = None;
    loop {
        let page = store.session().history().page(&VersionQuery::all(), before, PAGE);
        let page = page.map_err(crate::store::store_error)?;
        log.extend(page.items);
        before = page.next;
        if before.is_none() {
            log.reverse();
            return Ok(log);
        }
    }
}

/// Compares the texts of some versions: one in `every`, from this one on.
pub(super) fn compare_texts(store: &Store, memory: &Memory, from: usize, every: usize) {
    for change in memory.past.changes.iter().skip(from % every).step_by(every) {
        let number = memory.past.number(change);
        let found = match store.session().history().text(number) {
            Ok(text) => Ok(text.as_str().to_owned()),
            Err(error) => Err(refusal(&error)),
        };
        let expected = memory.text_of(change).map(|text| text.text.to_string());
        assert!(found == expected, "{change:?}\nhas      {found:?}\ninstead of {expected:?}");
    }
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
    history.set(keeping()).unwrap();
    memory.past.restart(true, &memory.files);
}

fn picked(memory: &Memory, pick: usize) -> Option<Change> {
    let count = memory.past.changes.len();
    // The newest are the most interesting.
    let at = count.checked_sub(1 + pick % count.max(1))?;
    memory.past.changes.get(at).cloned()
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
fn drop_forgotten(store: &Store, memory: &mut Memory) -> Result<(), StoreError> {
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

fn redact(store: &Store, memory: &mut Memory, pick: usize, span: usize) -> Result<(), StoreError> {
    let Some(change) = picked(memory, pick) else { return Ok(()) };
    let first = memory.past.number(&change);
    let last = picked(memory, pick.saturating_sub(span));
    let last = last.map_or(first, |change| memory.past.number(&change)).max(first);
    let expected = memory.redact(first, last);
    let found = match store.session().history().redact(first, last) {
        Ok(count) => Ok(count),
        Err(FileError::Store(error)) => return Err(error),
        Err(error) => Err(refusal(&error)),
    };
    assert_eq!(found, expected, "{first}..{last}");
    Ok(())
}

fn forget(store: &Store, memory: &mut Memory, path: &str) -> Result<(), StoreError> {
    let canonical = canonical(path);
    let removed = match store.session().history().forget(path, |_| {}) {
        Ok(removed) => removed,
        Err(FileError::Store(error)) => return Err(error),
        Err(FileError::InvalidPath(_)) => {
            assert!(canonical.is_err(), "{path}");
            return Ok(());
        }
        Err(error) => panic!("{error}"),
    };
    let left: BTreeSet<u64> = log(store)?.iter().map(|version| version.number).collect();
    let before = memory.past.changes.len();
    memory.forget(&canonical.unwrap_or_default(), &left);
    assert_eq!(usize::try_from(removed), Ok(before - memory.past.changes.len()), "{path}");
    Ok(())
}

/// Undoes the changes from one on, perhaps only those of a path, and follows what the log says of it.
fn undo(
    store: &Store,
    memory: &mut Memory,
    pick: usize,
    path: Option<&str>,
) -> Result<(), StoreError> {
    let history = store.session().history();
    let Some(change) = picked(memory, pick) else { return Ok(()) };
    let query = match (path.map(canonical), change.file) {
        (Some(Ok(path)), _) => VersionQuery::all().path(&path),
        (None, Some(file)) => match log(store)?.iter().find_map(|version| {
            (Some(version.number) == memory.past.numbers.get(&change.id).copied())
                .then_some(version.file)
        }) {
            Some(Some(number)) if memory.past.file_of(number) == Some(file) => {
                VersionQuery::all().file(number)
            }
            _ => return Ok(()),
        },
        _ => VersionQuery::all(),
    };
    let plan = history.plan_undo(&query).map_err(crate::store::store_error)?;
    let undone = history.undo(&plan, |_| {})?;
    assert_eq!(plan.steps.len(), undone.len());
    let known = memory.past.changes.len();
    let steps: BTreeMap<u64, &UndoStep> =
        plan.steps.iter().filter_map(|step| Some((step.newest.file?, step))).collect();
    let log = log(store)?;
    for made in log
        .get(known..)
        .unwrap_or_default()
        .chunk_by(|one, other| one.number / 64 == other.number / 64)
    {
        match made {
            [version] => follow(store, memory, version, &steps)?,
            together => exchange(memory, together),
        }
    }
    for (step, undone) in plan.steps.iter().zip(&undone) {
        let (Undone::Done(_), Some(number)) = (undone, step.newest.file) else { continue };
        let file = memory.past.file_of(number);
        let ident = memory.past.idents.values().find(|ident| Some(ident.file) == file);
        match step.to {
            None => assert!(ident.is_none(), "{step:?}"),
            Some(to) => {
                let ident = ident.unwrap_or_else(|| panic!("not there: {step:?}"));
                let Some(change) = memory.past.by_number(to) else { continue };
                let text = memory.text_of(change).map(|text| text.text.to_string());
                assert!(text == Ok(ident.text.text.to_string()), "another text: {step:?}");
            }
        }
    }
    Ok(())
}

/// Makes the change that an entry of the log tells of.
fn follow(
    store: &Store,
    memory: &mut Memory,
    version: &VersionInfo,
    steps: &BTreeMap<u64, &UndoStep>,
) -> Result<(), StoreError> {
    let path = version.path.as_ref().unwrap().as_str();
    let old_path = version.old_path.as_ref().map(inmost::FileText::as_str);
    match (version.kind, version.file) {
        (VersionKind::Deleted, _) => memory.remove(path).unwrap(),
        (VersionKind::Renamed, _) => memory.move_to(old_path.unwrap(), path).unwrap(),
        (VersionKind::Restored, Some(number)) => {
            let to = steps.get(&number).and_then(|step| step.to);
            let change = to.and_then(|to| memory.past.by_number(to));
            let text = if let Some(change) = change {
                memory.text_of(change).unwrap()
            } else {
                // It is older than the history.
                let text = store.session().history().text(version.number);
                let text = text.map_err(crate::store::store_error)?;
                memory.past.new_text(&text.as_str().into())
            };
            let old = memory.past.idents.remove(old_path.unwrap_or(path));
            let file = memory.past.file_of(number).unwrap();
            assert!(old.is_none_or(|old| old.file == file), "{version:?}");
            memory.files.remove(old_path.unwrap_or(path));
            memory.files.insert(path.to_owned(), text.text.clone());
            let mut change = memory.past.change(VersionKind::Restored, path);
            old_path.unwrap_or_default().clone_into(&mut change.old_path);
            change.file = Some(file);
            let newest =
                memory.past.changes.iter().rev().find(|change| change.file == Some(file)).unwrap();
            change.last = Last::Is(newest.id);
            change.size = crate::model::past::size(&text.text);
            let text = memory.past.new_text(&text.text);
            change.text = Some(text.clone());
            let last = memory.past.record(change);
            memory.past.place(path, Ident { file, last, text, maybe: false });
        }
        (VersionKind::Restored, None) => {
            let is_it = |other: &&VersionInfo| other.restored == Some(version.number);
            let deletion = log(store)?.iter().find(is_it).map(|deletion| deletion.number);
            let change = memory.past.by_number(deletion.unwrap()).cloned().unwrap();
            memory.restore(&change, Some(path)).unwrap();
            drop_forgotten(store, memory)?;
        }
        (VersionKind::Forgotten, _) => {}
        other => panic!("an undo made {other:?}"),
    }
    Ok(())
}

/// Moves files and folders that are in each other's places.
fn exchange(memory: &mut Memory, together: &[VersionInfo]) {
    let path = |path: &Option<inmost::FileText>| path.as_ref().unwrap().as_str().to_owned();
    let mut moves: Vec<(String, String)> =
        together.iter().map(|version| (path(&version.old_path), path(&version.path))).collect();
    // Each goes to a place of its own first. The entries are those of the moves alone.
    moves.sort_by_key(|(old, _)| std::cmp::Reverse(old.matches('/').count()));
    let mut aside = BTreeMap::new();
    for (at, (old, new)) in moves.into_iter().enumerate() {
        let place = format!("/memories/\u{1}{at}");
        let keeps = std::mem::replace(&mut memory.past.keeps, false);
        let last = memory.past.last_of(&old);
        memory.move_to(&old, &place).unwrap();
        memory.past.keeps = keeps;
        aside.insert(new, (old, place, last));
    }
    for version in together {
        assert_eq!(version.kind, VersionKind::Renamed, "{version:?}");
        let new = path(&version.path);
        let (old, place, last) = aside.remove(&new).unwrap();
        if let Some(last) = last {
            memory.past.idents.get_mut(&place).unwrap().last = last;
        }
        memory.move_to(&place, &new).unwrap();
        memory.past.changes.last_mut().unwrap().old_path = old;
    }
}

pub(super) fn refusal(error: &FileError) -> Refusal {
    match error {
        FileError::VersionGone(_) => Refusal::Gone,
        FileError::IsAFolder(_) => Refusal::Folder,
        FileError::CurrentVersion(number) => Refusal::Current(*number),
        FileError::NoSuchVersion(number) => Refusal::None(*number),
        FileError::AlreadyExists => Why::Exists.into(),
        FileError::NotAFolder(file) => Why::ParentIsFile(file.as_str().to_owned()).into(),
        FileError::PathBelow(_) => Why::PathBelow.into(),
        FileError::FileTooLarge(limit) => {
            Why::FileTooLarge(usize::try_from(*limit).unwrap()).into()
        }
        FileError::TooManyFiles(_) => Why::TooManyFiles.into(),
        FileError::TooMuchText(_) => Why::TooMuchText.into(),
        other => panic!("unexpected error of the history: {other}"),
    }
}

/// A small page, so that the pages are tested too.
const PAGE: usize = 30;
