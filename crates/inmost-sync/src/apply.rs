//! Showing what the heads say: the steps that lead there, and what a crash between them leaves.

use std::collections::{BTreeMap, BTreeSet};

use crate::device::{Device, Shown};
use crate::error::SyncError;
use crate::names::{folders, hex};
use crate::rules::{Rule, holds};
use crate::store::{Entry, Refused, Store};
use crate::tree::FileId;

/// What the steps have done.
#[derive(Default)]
pub(crate) struct Done {
    /// The versions of the files that were changed or made.
    versions: BTreeMap<FileId, u64>,
    /// The files whose texts were written.
    texts: BTreeSet<FileId>,
    /// Whether the store had changed meanwhile, so that not all was done.
    pub(crate) is_overtaken: bool,
    pub(crate) changed: usize,
}

impl Device {
    /// Plans what differs from what is shown. In place of the number that a new file does not have yet stands the time of the plan.
    pub(crate) fn make_plan(&mut self, now: u64) {
        let wants = self.wants();
        let gone = self.shown.keys().filter(|id| !wants.contains_key(id)).map(|id| (*id, None));
        let mut plan: BTreeMap<_, _> = gone.collect();
        for (id, mut want) in wants {
            if let Some(shown) = self.shown.get(&id) {
                (want.number, want.version) = (shown.number, shown.version);
                want.steps.clone_from(&shown.steps);
                if want == *shown {
                    continue;
                }
            } else {
                want.number = now;
            }
            plan.insert(id, Some(want));
        }
        self.plan = plan;
    }

    /// Carries out the plan, which was saved before.
    ///
    /// Texts come first, each under its precondition, then deletions, moves and new files. A file in the way of another one moves to
    /// a name of its own in between.
    pub(crate) fn carry_out(&self, store: &impl Store) -> Result<Done, SyncError> {
        let mut done = Done::default();
        for (id, planned) in &self.plan {
            let (Some(want), Some(shown)) = (planned, self.shown.get(id)) else { continue };
            if shown.text != want.text {
                let written = store.write(&shown.path, &want.text, shown.version);
                if written.is_ok() {
                    done.texts.insert(*id);
                }
                done.note(*id, written)?;
            }
        }
        for id in self.plan.iter().filter(|(_, planned)| planned.is_none()).map(|(id, _)| id) {
            let Some(shown) = self.shown.get(id) else { continue };
            match store.remove(&shown.path, shown.version) {
                Ok(()) => done.changed += 1,
                Err(Refused::Failed(error)) => return Err(error),
                Err(Refused::Changed | Refused::Held) => done.is_overtaken = true,
            }
        }
        self.move_files(store, &mut done)?;
        let new: Vec<(FileId, &Shown)> = self
            .plan
            .iter()
            .filter(|(id, _)| !self.shown.contains_key(id))
            .filter_map(|(id, planned)| Some((*id, planned.as_ref()?)))
            .collect();
        let files: Vec<_> =
            new.iter().map(|(_, want)| (want.path.as_str(), want.text.as_str())).collect();
        let planned = new.first().map_or(0, |(_, want)| want.number);
        for ((id, _), created) in new.iter().zip(store.create(&files, planned)?) {
            done.note(*id, created)?;
        }
        Ok(done)
    }

    fn move_files(&self, store: &impl Store, done: &mut Done) -> Result<(), SyncError> {
        let mut at: BTreeMap<FileId, &str> =
            self.shown.iter().map(|(id, shown)| (*id, shown.path.as_str())).collect();
        for id in self.plan.iter().filter(|(_, planned)| planned.is_none()).map(|(id, _)| id) {
            at.remove(id);
        }
        let mut todo: Vec<(FileId, &Shown, &Shown)> = Vec::new();
        for (id, planned) in &self.plan {
            if let (Some(want), Some(shown)) = (planned, self.shown.get(id))
                && shown.path != want.path
            {
                todo.push((*id, shown, want));
            }
        }
        let mut from: BTreeMap<FileId, String> =
            todo.iter().map(|(id, shown, _)| (*id, shown.path.clone())).collect();
        while !todo.is_empty() {
            let before = todo.len();
            let mut rest = Vec::new();
            for (id, shown, want) in todo {
                if in_the_way(&want.path, &id, &at).next().is_some() {
                    rest.push((id, shown, want));
                    continue;
                }
                let old = from.get(&id).map_or("", String::as_str);
                let version = done.versions.get(&id).copied().unwrap_or(shown.version);
                let moved = store.rename(old, &want.path, version);
                if done.note(id, moved)? {
                    at.insert(id, &want.path);
                }
            }
            todo = rest;
            if todo.len() < before {
                continue;
            }
            // What is behind a file that stays where it is stays too.
            let moving: BTreeSet<FileId> = todo.iter().map(|(id, ..)| *id).collect();
            todo.retain(|(id, _, want)| {
                in_the_way(&want.path, id, &at).all(|other| moving.contains(&other))
            });
            if todo.len() == before {
                // Files want each other's paths. One steps aside, and if that frees no path, another one.
                let next = todo.iter().find(|(id, ..)| from.get(id) != Some(&aside(*id)));
                let Some((id, shown, _)) = next else {
                    done.is_overtaken = true;
                    break;
                };
                let old = from.get(id).map_or("", String::as_str);
                let aside = aside(*id);
                let version = done.versions.get(id).copied().unwrap_or(shown.version);
                let moved = store.rename(old, &aside, version);
                if !done.note(*id, moved)? {
                    done.is_overtaken = true;
                    break;
                }
                at.remove(id);
                from.insert(*id, aside);
            }
        }
        Ok(())
    }

    /// Takes note of what of the plan is in the store: after it was carried out, or after a crash, of which nothing is known. The rest
    /// stays as it was shown.
    pub(crate) fn recover(
        &mut self,
        store: &impl Store,
        known: Option<&Done>,
    ) -> Result<(), SyncError> {
        if self.plan.is_empty() {
            return Ok(());
        }
        let nothing = Done::default();
        let done = known.unwrap_or(&nothing);
        let files = store.files()?;
        let mut missing = Vec::new();
        for (id, planned) in std::mem::take(&mut self.plan) {
            match (planned, self.shown.get_mut(&id)) {
                (None, Some(shown)) => {
                    if !files.contains_key(&shown.number) {
                        self.former.insert(shown.number, id);
                        self.shown.remove(&id);
                    }
                }
                (Some(want), Some(shown)) => {
                    if let Some(entry) = files.get(&shown.number) {
                        take(store, id, shown, want, entry, done)?;
                    }
                }
                (Some(want), None) => {
                    let Some(done) = known else {
                        missing.push((id, want));
                        continue;
                    };
                    // What was done to it since is still to be seen.
                    let made = done.versions.get(&id).map(|version| (*version, *version));
                    self.show_new(id, want, made);
                }
                (None, None) => {}
            }
        }
        self.recover_new(store, missing, &files)
    }

    /// Recognises the new files of a plan after a crash, among those that say that they were made when it was: by path and text, then
    /// by either, because somebody may have moved or edited them since. Any other file of the same text is somebody's own.
    fn recover_new(
        &mut self,
        store: &impl Store,
        planned: Vec<(FileId, Shown)>,
        files: &BTreeMap<u64, Entry>,
    ) -> Result<(), SyncError> {
        let Some((_, first)) = planned.first() else { return Ok(()) };
        let time = first.number;
        let mapped: BTreeSet<u64> = self.shown.values().map(|shown| shown.number).collect();
        let mut found = BTreeMap::new();
        for (number, entry) in files {
            if entry.created == time && !mapped.contains(number) {
                let path = entry.path.as_str();
                found.extend(store.read(path)?.map(|text| (path, (text, *number, entry.version))));
            }
        }
        let mut rest = Vec::new();
        for (id, want) in planned {
            let made = found.get(want.path.as_str()).filter(|(text, ..)| *text == want.text);
            if let Some((_, number, version)) = made.cloned() {
                found.remove(want.path.as_str());
                self.show_new(id, want, Some((number, version)));
            } else {
                rest.push((id, want));
            }
        }
        let mut edited = Vec::new();
        for (id, want) in rest {
            let made = found.iter().find(|(_, (text, ..))| *text == want.text);
            if let Some((path, (_, number, version))) =
                made.map(|(path, made)| (*path, made.clone()))
            {
                found.remove(path);
                self.show_new(id, want, Some((number, version)));
            } else {
                edited.push((id, want));
            }
        }
        for (id, want) in edited {
            let made = found.remove(want.path.as_str()).map(|(_, number, _)| (number, 0));
            self.show_new(id, want, made);
        }
        Ok(())
    }

    /// Shows a new file with its number and version in the store, if it was made.
    fn show_new(&mut self, id: FileId, want: Shown, made: Option<(u64, u64)>) {
        if let Some((number, version)) = made {
            let mut made = Shown { number, version, ..want };
            made.step(number);
            self.shown.insert(id, made);
        } else if !holds(Rule::HeldIsNotGone) {
            self.shown.insert(id, want);
        }
    }
}

/// Takes over from a planned file what is in the store.
fn take(
    store: &impl Store,
    id: FileId,
    shown: &mut Shown,
    want: Shown,
    entry: &Entry,
    done: &Done,
) -> Result<(), SyncError> {
    let version = done.versions.get(&id).copied().unwrap_or(shown.version);
    if done.texts.contains(&id) || entry.version == version && shown.text == want.text {
        shown.show_text(version, &want);
    } else if store.read(&entry.path)?.as_ref() == Some(&want.text) {
        shown.show_text(entry.version, &want);
    } else {
        shown.version = version;
    }
    if entry.path == want.path {
        (shown.path, shown.wanted, shown.paths) = (want.path, want.wanted, want.paths);
    } else if entry.path == aside(id) && holds(Rule::KnowAside) {
        // A crash came while it was aside: nobody has renamed it.
        shown.path.clone_from(&entry.path);
    }
    Ok(())
}

impl Shown {
    /// Takes over the text of a file and what is known of it.
    fn show_text(&mut self, version: u64, want: &Self) {
        let Shown { text, texts, merged, bases, copy_of, .. } = want.clone();
        let brought = self.steps.last().filter(|_| text == self.text);
        let brought = brought.map_or(version, |(version, _)| *version);
        *self = Self { version, text, texts, merged, bases, copy_of, ..self.clone() };
        self.step(brought);
    }
}

impl Done {
    /// Returns whether the step was done.
    fn note(&mut self, id: FileId, result: Result<u64, Refused>) -> Result<bool, SyncError> {
        let is_done = result.is_ok();
        match result {
            Ok(version) => {
                self.versions.insert(id, version);
                self.changed += 1;
            }
            Err(Refused::Changed) => self.is_overtaken = true,
            Err(Refused::Held) => {}
            Err(Refused::Failed(error)) => return Err(error),
        }
        Ok(is_done)
    }
}

/// The other files at this path, below it or above it.
fn in_the_way(
    path: &str,
    id: &FileId,
    at: &BTreeMap<FileId, &str>,
) -> impl Iterator<Item = FileId> {
    let is_in_the_way = move |other: &str| {
        other == path
            || folders(path).any(|folder| folder == other)
            || folders(other).any(|folder| folder == path)
    };
    let others = at.iter().filter(move |(other, at)| *other != id && is_in_the_way(at));
    others.map(|(other, _)| *other)
}

/// The path of a file that is in the way of another one.
fn aside(id: FileId) -> String {
    format!("moving {}", hex(&id.0))
}
