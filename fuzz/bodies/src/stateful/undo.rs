//! Undoes changes: makes the plan and carries it out, and follows what the log says of it.

use std::collections::BTreeMap;

use super::observe::log;
use super::requests::{drop_forgotten, picked};
use crate::model::Memory;
use crate::model::past::{Ident, Last, Text, Took};
use crate::naive::canonical;
use crate::store::Store;
use inmost::{StoreError, UndoStep, Undone, VersionInfo, VersionKind, VersionQuery};

/// Undoes the changes from one on, perhaps only those of a path, and follows what the log says of it.
pub(super) fn undo(
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
    // What there is room for may change from step to step.
    let texts = plan.steps.iter().filter_map(|step| step.to).map(|to| {
        let text = memory.past.text(to);
        (to, text.unwrap_or_else(|why| panic!("a plan to go back to {to}: {why:?}")))
    });
    let texts: BTreeMap<u64, Text> = texts.collect();
    let undone = history.undo(&plan, |_| {})?;
    assert_eq!(plan.steps.len(), undone.len());
    let known = memory.past.highest();
    let steps: BTreeMap<u64, &UndoStep> =
        plan.steps.iter().filter_map(|step| Some((step.newest.file?, step))).collect();
    let log = log(store)?;
    let first = log.partition_point(|version| version.number <= known);
    for made in log[first..].chunk_by(|one, other| one.number / 64 == other.number / 64) {
        // A file that moves may be in its own way.
        let is_move =
            |version: &VersionInfo| version.kind == VersionKind::Renamed && version.file.is_some();
        match made {
            [version] if !is_move(version) => follow(store, memory, version, (&steps, &texts))?,
            together => exchange(memory, together),
        }
    }
    // A folder that had come back is deleted after all other steps, with what went back in it.
    let is_folder = |(step, undone): (&UndoStep, &Undone)| {
        step.newest.file.is_none()
            && step.newest.kind == VersionKind::Restored
            && matches!(undone, Undone::Done(_))
    };
    let removes_folders = plan.steps.iter().zip(&undone).any(is_folder);
    for (step, undone) in plan.steps.iter().zip(&undone) {
        let (Undone::Done(_), Some(number)) = (undone, step.newest.file) else { continue };
        let file = memory.past.file_of(number);
        let ident = memory.past.idents.values().find(|ident| Some(ident.file) == file);
        match step.to {
            None => assert!(ident.is_none(), "{step:?}"),
            Some(_) if ident.is_none() && removes_folders => {}
            Some(to) => {
                let ident = ident.unwrap_or_else(|| panic!("not there: {step:?}"));
                assert!(texts[&to].text == ident.text.text, "another text: {step:?}");
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
    (steps, texts): (&BTreeMap<u64, &UndoStep>, &BTreeMap<u64, Text>),
) -> Result<(), StoreError> {
    let path = version.path.as_ref().unwrap().as_str();
    let old_path = version.old_path.as_ref().map(inmost::FileText::as_str);
    match (version.kind, version.file) {
        (VersionKind::Deleted, _) => {
            memory.remove(path).unwrap();
            // The next entry may bring this deletion back.
            memory.past.learn_newest(version);
        }
        (VersionKind::Renamed, _) => memory.move_to(old_path.unwrap(), path).unwrap(),
        (VersionKind::Restored, Some(number)) => {
            let to = steps.get(&number).and_then(|step| step.to);
            let text = &texts[&to.unwrap()];
            let old = memory.past.idents.remove(old_path.unwrap_or(path));
            let file = memory.past.file_of(number).unwrap();
            assert!(old.as_ref().is_none_or(|old| old.file == file), "{version:?}");
            memory.files.remove(old_path.unwrap_or(path));
            memory.files.insert(path.to_owned(), text.text.clone());
            let mut change = memory.past.change(VersionKind::Restored, path);
            old_path.unwrap_or_default().clone_into(&mut change.old_path);
            change.file = Some(file);
            let newest =
                memory.past.changes.iter().rev().find(|change| change.file == Some(file)).unwrap();
            change.last = Last::Is(newest.id);
            change.size = crate::model::past::size(&text.text);
            change.took = old.map_or(Took::Nothing, |old| Took::File(old.text));
            let text = text.clone();
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

/// Moves files that are in each other's places.
fn exchange(memory: &mut Memory, together: &[VersionInfo]) {
    let path = |path: &Option<inmost::FileText>| path.as_ref().unwrap().as_str().to_owned();
    // Each goes to a place of its own first. The entries are those of the moves alone.
    let mut aside = Vec::new();
    for (at, version) in together.iter().enumerate() {
        assert!(version.kind == VersionKind::Renamed && version.file.is_some(), "{version:?}");
        let (old, place) = (path(&version.old_path), format!("/memories/\u{1}{at}"));
        let keeps = std::mem::replace(&mut memory.past.keeps, false);
        let last = memory.past.last_of(&old).unwrap();
        memory.move_to(&old, &place).unwrap();
        memory.past.keeps = keeps;
        aside.push((old, place, last, path(&version.path)));
    }
    for (old, place, last, new) in aside {
        memory.past.idents.get_mut(&place).unwrap().last = last;
        memory.move_to(&place, &new).unwrap();
        memory.past.changes.last_mut().unwrap().old_path = old;
    }
}
