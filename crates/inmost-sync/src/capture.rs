//! Capturing what was changed in a store since it was shown: the changes become an object in the outbox.

use std::collections::{BTreeMap, BTreeSet};

use inmost_format::crypto::prf;
use inmost_format::record::codec;
use zeroize::Zeroizing;

use crate::chains::Vector;
use crate::device::{Device, Shown, random};
use crate::error::SyncError;
use crate::object::{Change, Changes, MOST_BASES, seal};
use crate::pool::Pool;
use crate::rules::{Rule, holds};
use crate::store::{Entry, Store};
use crate::tree::{Base, FileId, Text, TextHead, copy_id, copy_path, tree};

impl Device {
    /// Compares the store with what was shown. What differs becomes states in a sealed object of the outbox. Nothing is saved yet.
    ///
    /// The conflicts of the files in `settled` are resolved as they are shown.
    pub(crate) fn capture(
        &mut self,
        store: &impl Store,
        settled: &BTreeSet<FileId>,
        now: u64,
    ) -> Result<(), SyncError> {
        let files = store.files()?;
        let mut found = self.compare(store, &files)?;
        if found.is_empty() && settled.is_empty() {
            return Ok(());
        }
        let mut resolved = self.resolved(&found);
        resolved.extend(settled);
        let mut draft = Draft::default();
        // First, because what follows replaces them.
        for (file, head) in self.unshown(&found, &resolved) {
            draft.add_copy(file, &head);
            self.publish_if_full(&mut draft, now)?;
        }
        let ids: Vec<FileId> = self.shown.keys().copied().collect();
        for id in ids {
            let state = found.files.remove(&id).unwrap_or_default();
            let Some(shown) = self.shown.get(&id) else { continue };
            self.draft_shown(&mut draft, (id, shown), state, &resolved);
            self.publish_if_full(&mut draft, now)?;
        }
        for (number, path, version, text) in std::mem::take(&mut found.fresh) {
            self.draft_fresh(&mut draft, (number, path, version), text)?;
            self.publish_if_full(&mut draft, now)?;
        }
        if draft.states.is_empty() {
            for (id, top) in draft.tops {
                self.show(id, top);
            }
            return Ok(());
        }
        self.publish(draft, now)
    }

    fn publish_if_full(&mut self, draft: &mut Draft, now: u64) -> Result<(), SyncError> {
        if draft.len + draft.pool.len() < FULL {
            return Ok(());
        }
        self.publish(std::mem::take(draft), now)
    }

    /// Heads that are about to be replaced although nobody has seen them here, because the store did not take their conflict copies.
    /// They are published as these copies.
    fn unshown(&self, found: &Found, resolved: &BTreeSet<FileId>) -> Vec<(FileId, TextHead)> {
        let mut unshown = Vec::new();
        if !holds(Rule::PublishHidden) {
            return unshown;
        }
        for (id, shown) in self.shown.iter().filter(|(_, shown)| shown.copy_of.is_none()) {
            let is_replaced = match found.files.get(id) {
                Some(Local::Gone | Local::Changed { text: Some(_), .. }) => true,
                _ => resolved.contains(id),
            };
            let Some(heads) = self.heads.get(id).filter(|_| is_replaced) else { continue };
            let copies = self.shown.values().filter(|copy| copy.copy_of == Some(*id));
            let mut seen: BTreeSet<&str> = copies.map(|copy| copy.text.as_str()).collect();
            seen.insert(&shown.text);
            for head in &heads.texts {
                let copy = copy_id(*id, &head.dot);
                if self.chains.covers(&shown.texts, &head.dot)
                    && !self.chains.covers(&shown.merged, &head.dot)
                    && !self.shown.contains_key(&copy)
                    && self.heads.get(&copy).is_none_or(|file| file.texts.is_empty())
                    && seen.insert(&head.text)
                {
                    unshown.push((copy, head.clone()));
                }
            }
        }
        unshown
    }

    /// Publishes what was read, without changes, so that what a snapshot stands for can be removed.
    pub(crate) fn acknowledge(&mut self, now: u64) -> Result<(), SyncError> {
        self.publish(Draft::default(), now)
    }

    /// Seals the states, and shows what they say.
    fn publish(&mut self, draft: Draft, now: u64) -> Result<(), SyncError> {
        let changes = Changes {
            label: self.label.clone(),
            lamport: self.lamport.saturating_add(1),
            time: now,
            seen: self.vector.clone(),
            pool: draft.pool,
            states: draft.states,
            snapshot: None,
        };
        let number = self.number.saturating_add(1);
        let sealed = seal(&self.circle, (self.log, number, self.previous), &changes)?;
        let (dot, previous) = (sealed.dot, self.previous);
        self.outbox.push(sealed);
        self.unacknowledged.clear();
        (self.number, self.previous) = (number, Some(dot.tag));
        self.learn(dot, previous, changes);
        let own = Vector::from_iter([dot]);
        for (id, mut top) in draft.tops {
            if let Some(top) = &mut top {
                if top.has_text {
                    top.shown.texts = self.chains.join([&top.shown.texts, &own]);
                    top.shown.merged = top.shown.texts.clone();
                    top.shown.copy_of = None;
                    top.shown.step(top.shown.version);
                }
                if top.has_path {
                    top.shown.paths = self.chains.join([&top.shown.paths, &own]);
                }
            }
            self.show(id, top);
        }
        Ok(())
    }

    fn show(&mut self, id: FileId, top: Option<Top>) {
        if let Some(top) = top {
            self.shown.insert(id, top.shown);
        } else if let Some(shown) = self.shown.remove(&id) {
            self.former.insert(shown.number, id);
        }
    }

    /// What differs from what was shown. Takes note of what differs in numbers only.
    fn compare(
        &mut self,
        store: &impl Store,
        files: &BTreeMap<u64, Entry>,
    ) -> Result<Found, SyncError> {
        let mapped: BTreeSet<u64> = self.shown.values().map(|shown| shown.number).collect();
        let mut fresh: BTreeMap<&str, u64> = files
            .iter()
            .filter(|(number, _)| !mapped.contains(number))
            .map(|(number, entry)| (entry.path.as_str(), *number))
            .collect();
        let mut found = Found::default();
        for (id, shown) in &mut self.shown {
            if !files.contains_key(&shown.number) {
                // An editor may save by putting a new file in the place of the old one.
                let Some(number) = fresh.remove(shown.path.as_str()) else {
                    found.files.insert(*id, Local::Gone);
                    continue;
                };
                self.former.insert(shown.number, *id);
                shown.number = number;
                shown.version = 0;
            }
            let Some(entry) = files.get(&shown.number) else { continue };
            let mut text = None;
            if entry.version != shown.version {
                let Some(now) = store.read(&entry.path)? else {
                    return Err(SyncError::KeptChanging);
                };
                if now == shown.text {
                    shown.version = entry.version;
                } else {
                    text = Some(now);
                }
            }
            let path = (entry.path != shown.path).then(|| entry.path.clone());
            if text.is_some() || path.is_some() {
                found.files.insert(*id, Local::Changed { text, path, version: entry.version });
            }
        }
        for (path, number) in fresh {
            let Some(entry) = files.get(&number) else { continue };
            let Some(text) = store.read(path)? else { return Err(SyncError::KeptChanging) };
            found.fresh.push((number, path.to_owned(), entry.version, text));
        }
        self.adopt(&mut found.fresh);
        Ok(found)
    }

    /// Recognises files that are there already: of a device that joins with a copy of the store, or whose store was put back. A text
    /// that is or was that of the file at its path is no change.
    fn adopt(&mut self, fresh: &mut Vec<(u64, String, u64, Text)>) {
        if fresh.is_empty() {
            return;
        }
        let wants = self.wants();
        let wants: BTreeMap<&str, (&FileId, &Shown)> =
            wants.iter().map(|(id, want)| (want.path.as_str(), (id, want))).collect();
        fresh.retain(|(number, path, version, text)| {
            let at_path = wants.get(path.as_str());
            let at_path = at_path.filter(|(id, _)| !self.shown.contains_key(*id));
            let Some((id, want)) = at_path else { return true };
            let mut shown = Shown { number: *number, version: *version, ..(*want).clone() };
            if want.text != *text {
                // It stands for no more than the states that are merged in it: what came after them is still to be shown.
                let base = want.bases.iter().find(|base| base.text == *text);
                let Some(base) = base else { return true };
                (shown.texts, shown.merged) = (base.vector.clone(), base.vector.clone());
                (shown.text, shown.bases) = (base.text.clone(), Vec::new());
            }
            shown.step(shown.version);
            self.shown.insert(**id, shown);
            false
        });
    }

    /// What F shows of the heads, without numbers.
    pub(crate) fn wants(&self) -> BTreeMap<FileId, Shown> {
        let files = tree(&self.chains, &self.heads).into_iter();
        let want = |(id, file): (FileId, crate::tree::TreeFile)| {
            let heads = self.heads.get(&id).filter(|_| file.copy_of.is_none());
            let texts = heads.map_or(&[][..], |heads| &heads.texts);
            let own: Vec<Base> = texts.iter().map(|head| head.base(&self.chains)).collect();
            let paths = heads.map_or(&[][..], |heads| &heads.paths).iter();
            let paths: Vec<Vector> = paths
                .map(|head| self.chains.join([&head.over, &Vector::from_iter([head.dot])]))
                .collect();
            let bases = texts.iter().flat_map(|head| head.bases.clone());
            let shown = Shown {
                path: file.path,
                wanted: file.wanted,
                text: file.text,
                texts: self.chains.join(own.iter().map(|base| &base.vector)),
                paths: self.chains.join(&paths),
                merged: file.merged,
                bases: bases.chain(own.iter().cloned()).collect(),
                copy_of: file.copy_of,
                ..Shown::default()
            };
            (id, shown)
        };
        files.map(want).collect()
    }

    /// The files whose conflicts are resolved: the text or a copy of them was changed or deleted.
    fn resolved(&self, found: &Found) -> BTreeSet<FileId> {
        let copies = self.shown.iter().filter_map(|(id, shown)| Some((shown.copy_of?, *id)));
        let is_resolved = |(origin, copy): &(FileId, FileId)| {
            found.files.contains_key(copy)
                || match found.files.get(origin) {
                    Some(Local::Changed { text, .. }) => text.is_some(),
                    Some(Local::Gone) => true,
                    Some(Local::Same) | None => false,
                }
        };
        copies
            .filter(|_| holds(Rule::PublishCopies))
            .filter(is_resolved)
            .map(|(origin, _)| origin)
            .collect()
    }

    fn draft_shown(
        &self,
        draft: &mut Draft,
        (id, shown): (FileId, &Shown),
        local: Local,
        resolved: &BTreeSet<FileId>,
    ) {
        let (text, path, version) = match local {
            Local::Gone => {
                if shown.copy_of.is_none() {
                    let (over, paths) = (self.replaced(&shown.texts), self.replaced(&shown.paths));
                    draft.push(Change::Delete { file: id, over, paths });
                }
                draft.tops.push((id, None));
                return;
            }
            Local::Changed { text, path, version } => (text, path, version),
            Local::Same => (None, None, shown.version),
        };
        let is_touched = text.is_some() || path.is_some();
        let (has_text, has_path) = match shown.copy_of {
            Some(origin) if is_touched || resolved.contains(&origin) => (true, true),
            Some(_) => return,
            None => (text.is_some() || resolved.contains(&id), path.is_some()),
        };
        if !has_text && !has_path {
            return;
        }
        let mut now = shown.clone();
        now.version = version;
        if let Some(path) = path {
            now.wanted.clone_from(&path);
            now.path = path;
        }
        if let Some(text) = text {
            now.text = text;
        }
        if has_text {
            now.bases = self.bases_for(id, shown);
            now.texts = self.replaced(&shown.texts);
        }
        draft.add(id, Top { shown: now, has_text, has_path });
    }

    /// The states that a change replaces: those that were shown.
    fn replaced(&self, shown: &Vector) -> Vector {
        if holds(Rule::ReplaceShownOnly) { shown.clone() } else { self.vector.clone() }
    }

    fn draft_fresh(
        &self,
        draft: &mut Draft,
        (number, path, version): (u64, String, u64),
        text: Text,
    ) -> Result<(), SyncError> {
        // Equal files of two devices are one file. The id of one that is known already stands for another life of it.
        let named = Zeroizing::new([path.as_bytes(), b"\0", text.as_bytes()].concat());
        let digest = prf::checksum(&named);
        let mut id = FileId(self.circle.key.file_id(&self.circle.id, &digest));
        let is_known = self.heads.contains_key(&id) || self.shown.contains_key(&id);
        if is_known && holds(Rule::FreshId) {
            id = FileId(random()?);
        }
        let shown =
            Shown { number, version, path: path.clone(), wanted: path, text, ..Shown::default() };
        draft.add(id, Top { shown, has_text: true, has_path: true });
        Ok(())
    }

    /// The base texts that a new text carries: the newest that each other device may still know, and that this one knows.
    fn bases_for(&self, id: FileId, shown: &Shown) -> Vec<Base> {
        let now = Base { vector: shown.merged.clone(), text: shown.text.clone() };
        let is_forgotten = |base: &Base| {
            let file = self.heads.get(&id).filter(|_| holds(Rule::DropForgotten));
            file.is_some_and(|file| file.has_forgotten(&self.chains, base))
        };
        let all = [&now].into_iter().chain(&shown.bases);
        let all: Vec<&Base> = all.filter(|base| !is_forgotten(base)).collect();
        let none = Vector::default();
        let peers = self.peers.values().map(|peer| &peer.vector);
        let mut chosen: Vec<Base> = Vec::new();
        for known in [&self.vector, &none].into_iter().chain(peers) {
            let is_known = |base: &&&Base| self.chains.is_within(&base.vector, known);
            let newest = all.iter().filter(is_known).max_by_key(|base| weight(&base.vector));
            if let Some(base) = newest
                && !chosen.contains(base)
                && chosen.len() < MOST_BASES
            {
                chosen.push((*base).clone());
            }
        }
        chosen
    }
}

/// A number that is greater for a vector that covers more.
fn weight(vector: &Vector) -> u64 {
    vector.dots().fold(0, |sum, dot| sum.saturating_add(dot.number))
}

/// What happened to a file that was shown.
#[derive(Default)]
enum Local {
    #[default]
    Same,
    Gone,
    Changed {
        text: Option<Text>,
        path: Option<String>,
        version: u64,
    },
}

/// What differs from what was shown.
#[derive(Default)]
struct Found {
    files: BTreeMap<FileId, Local>,
    /// New files: number, path, version, text.
    fresh: Vec<(u64, String, u64, Text)>,
}

impl Found {
    fn is_empty(&self) -> bool {
        self.files.is_empty() && self.fresh.is_empty()
    }
}

/// An object that is being made.
#[derive(Default)]
struct Draft {
    pool: Pool,
    states: Vec<Change>,
    /// The bytes of the states.
    len: usize,
    /// What is shown once the object is in the outbox.
    tops: Vec<(FileId, Option<Top>)>,
}

impl Draft {
    fn push(&mut self, state: Change) {
        self.len += codec::encoded_len(&state).unwrap_or_default();
        self.states.push(state);
    }

    /// Adds a file from the text of a head.
    fn add_copy(&mut self, file: FileId, head: &TextHead) {
        let (over, path) = (Vector::default(), copy_path(head));
        let (text, bases) = (self.pool.put(&head.text), Vec::new());
        let (paths, name) = (over.clone(), path.clone());
        self.push(Change::Text { file, over, text, path, bases });
        self.push(Change::Path { file, over: paths, path: name });
    }

    fn add(&mut self, id: FileId, top: Top) {
        let shown = &top.shown;
        if top.has_text {
            let state = Change::Text {
                file: id,
                over: shown.texts.clone(),
                text: self.pool.put(&shown.text),
                path: shown.wanted.clone(),
                bases: self.pool.put_bases(&shown.bases),
            };
            self.push(state);
        }
        if top.has_path {
            let (over, path) = (shown.paths.clone(), shown.wanted.clone());
            self.push(Change::Path { file: id, over, path });
        }
        self.tops.push((id, Some(top)));
    }
}

struct Top {
    shown: Shown,
    has_text: bool,
    has_path: bool,
}

/// The bytes of texts and states from which the next ones go into another object, so that none is too large. Tests split more.
const FULL: usize = if cfg!(test) { 256 } else { 64 << 20 };
