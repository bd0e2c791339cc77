//! A naive history: each change with a copy of the text that it made.
//!
//! Numbers are those that the store gave. They are learnt from its log, and must then stay.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use inmost::{VersionChannel, VersionInfo, VersionKind};

use super::aging::{Limits, held};
use crate::naive;

/// A text.
#[derive(Clone, Debug)]
pub(crate) struct Text {
    pub(crate) text: Arc<str>,
}

/// A file. It stays the same one when it moves.
#[derive(Clone, Debug)]
pub(crate) struct Ident {
    pub(crate) file: usize,
    pub(crate) last: Last,
    pub(crate) text: Text,
    /// Whether a `forget` may have removed it from the deleted folder that it is in.
    pub(crate) maybe: bool,
}

/// The previous change of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Last {
    None,
    /// It was made while no versions were kept, or its number was not learnt.
    Unknown,
    Is(usize),
}

/// What a change took out of use, and its entry holds.
#[derive(Clone, Debug)]
pub(crate) enum Took {
    /// Nothing, or it was dropped or forgotten.
    Nothing,
    /// The text that the change ended.
    File(Text),
    /// The files by their paths below the folder.
    Folder(BTreeMap<String, Ident>),
    /// A folder that came back, by that change.
    Back(usize),
}

/// One change.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub(crate) id: usize,
    /// Milliseconds since 1970.
    pub(crate) time: u64,
    /// The age of the history then.
    pub(crate) age: u64,
    pub(crate) kind: VersionKind,
    pub(crate) channel: VersionChannel,
    pub(crate) path: String,
    pub(crate) old_path: String,
    pub(crate) file: Option<usize>,
    pub(crate) last: Last,
    /// The number of that change, as the log says.
    pub(crate) previous: Option<u64>,
    pub(crate) size: (usize, usize),
    /// The text after it; `None` for a deletion, or a folder.
    pub(crate) text: Option<Text>,
    pub(crate) took: Took,
    /// The least and the most bytes that count for what it took.
    pub(crate) held: (u64, u64),
    /// Whether a commit may have removed the entry, because its time was over.
    pub(crate) may_go: bool,
    /// Whether what it took may have been dropped, and no version tells.
    pub(crate) unsure: bool,
}

/// The history.
#[derive(Clone, Debug)]
pub(crate) struct Past {
    pub(crate) keeps: bool,
    pub(crate) channel: VersionChannel,
    pub(crate) limits: Limits,
    /// Whether the settings were changed in this step. Nothing is left to drop then.
    pub(crate) was_set: bool,
    /// The changes that have an entry, in order. Those whose time is over are not listed, but some are still there.
    pub(crate) changes: Vec<Change>,
    /// The present files by path.
    pub(crate) idents: BTreeMap<String, Ident>,
    /// Every path that a file ever had.
    pub(crate) places: BTreeMap<usize, BTreeSet<String>>,
    /// The numbers of changes and files, as far as they are known.
    pub(crate) numbers: BTreeMap<usize, u64>,
    file_numbers: BTreeMap<usize, u64>,
    next: usize,
}

impl Past {
    pub(crate) fn new(now: u64) -> Self {
        Self {
            keeps: false,
            channel: VersionChannel::Files,
            limits: Limits::new(now),
            was_set: false,
            changes: Vec::new(),
            idents: BTreeMap::new(),
            places: BTreeMap::new(),
            numbers: BTreeMap::new(),
            file_numbers: BTreeMap::new(),
            next: 0,
        }
    }

    /// Begins again without any change, with files of which nothing is known.
    pub(crate) fn restart(&mut self, keep: u64, files: &BTreeMap<String, Arc<str>>) {
        *self = Self { next: self.next, ..Self::new(self.limits.now) };
        (self.limits.keep, self.keeps) = (keep, keep > 0);
        for (path, text) in files {
            let text = Text { text: text.clone() };
            let ident = Ident { file: self.next(), last: Last::Unknown, text, maybe: false };
            self.place(path, ident);
        }
    }

    fn next(&mut self) -> usize {
        self.next += 1;
        self.next
    }

    pub(crate) fn new_file(&mut self) -> usize {
        self.next()
    }

    /// Puts a file at a path.
    pub(crate) fn place(&mut self, path: &str, ident: Ident) {
        self.places.entry(ident.file).or_default().insert(path.to_owned());
        self.idents.insert(path.to_owned(), ident);
    }

    /// Adds a change. Returns what the next change of the file has as the previous one.
    pub(crate) fn record(&mut self, mut change: Change) -> Last {
        if !self.keeps {
            return Last::Unknown;
        }
        let id = change.id;
        change.held = held(&change.took);
        change.age = self.limits.witness.see(change.time, self.limits.keep);
        self.changes.push(change);
        Last::Is(id)
    }

    /// A change of a file or folder that is not recorded yet.
    pub(crate) fn change(&mut self, kind: VersionKind, path: &str) -> Change {
        Change {
            id: self.next(),
            time: self.limits.now,
            age: 0,
            kind,
            channel: self.channel,
            path: path.to_owned(),
            old_path: String::new(),
            file: None,
            last: Last::None,
            previous: None,
            size: (0, 0),
            text: None,
            took: Took::Nothing,
            held: (0, 0),
            may_go: false,
            unsure: false,
        }
    }

    /// A file got a text.
    pub(crate) fn wrote(&mut self, path: &str, text: &Arc<str>) {
        let old = self.idents.get(path).cloned();
        let kind = if old.is_some() { VersionKind::Modified } else { VersionKind::Created };
        let text = Text { text: text.clone() };
        let file = match &old {
            Some(old) => old.file,
            None => self.next(),
        };
        let mut change = self.change(kind, path);
        change.file = Some(file);
        change.last = old.as_ref().map_or(Last::None, |old| old.last);
        change.size = size(&text.text);
        change.text = Some(text.clone());
        change.took = old.map_or(Took::Nothing, |old| Took::File(old.text));
        let last = self.record(change);
        self.place(path, Ident { file, last, text, maybe: false });
    }

    /// A file or folder was deleted.
    pub(crate) fn removed(&mut self, path: &str) {
        let mut change = self.change(VersionKind::Deleted, path);
        if let Some(old) = self.idents.remove(path) {
            change.file = Some(old.file);
            change.last = old.last;
            change.size = size(&old.text.text);
            change.took = Took::File(old.text);
        } else {
            change.took = Took::Folder(self.take_below(path));
        }
        self.record(change);
    }

    /// A file or folder was moved.
    pub(crate) fn moved(&mut self, old: &str, new: &str) {
        let mut change = self.change(VersionKind::Renamed, new);
        old.clone_into(&mut change.old_path);
        if let Some(mut ident) = self.idents.remove(old) {
            change.file = Some(ident.file);
            change.last = ident.last;
            change.size = size(&ident.text.text);
            change.text = Some(ident.text.clone());
            ident.last = self.record(change);
            self.place(new, ident);
        } else {
            for (below, ident) in self.take_below(old) {
                self.place(&format!("{new}{below}"), ident);
            }
            self.record(change);
        }
    }

    /// The last change of the file at a path; `None` for a folder.
    pub(crate) fn last_of(&self, path: &str) -> Option<Last> {
        self.idents.get(path).map(|ident| ident.last)
    }

    /// Takes the files below a folder, by their paths from there.
    pub(crate) fn take_below(&mut self, folder: &str) -> BTreeMap<String, Ident> {
        let start = format!("{folder}/");
        let paths: Vec<String> =
            self.idents.keys().filter(|path| path.starts_with(&start)).cloned().collect();
        let take = |path: String| {
            let ident = self.idents.remove(&path).unwrap();
            (path[folder.len()..].to_owned(), ident)
        };
        paths.into_iter().map(take).collect()
    }

    pub(crate) fn number(&self, change: &Change) -> u64 {
        self.numbers[&change.id]
    }

    pub(crate) fn by_number(&self, number: u64) -> Option<&Change> {
        self.changes.iter().find(|change| self.numbers.get(&change.id) == Some(&number))
    }

    /// The highest number that is known.
    pub(crate) fn highest(&self) -> u64 {
        self.numbers.values().copied().max().unwrap_or_default()
    }

    /// The file of this number, as far as it is known.
    pub(crate) fn file_of(&self, number: u64) -> Option<usize> {
        let known = |(_, of): &(&usize, &u64)| **of == number;
        self.file_numbers.iter().find(known).map(|(file, _)| *file)
    }

    /// Whether the log of a store can be that of this history: whether it has as many new entries, and no other old ones.
    pub(crate) fn fits(&self, log: &[VersionInfo]) -> bool {
        let highest = self.highest();
        let (old, mut new): (Vec<_>, Vec<_>) =
            log.iter().partition(|version| version.number <= highest);
        new.retain(|version| version.kind != VersionKind::Forgotten);
        let own = |change: &&Change| {
            change.kind != VersionKind::Forgotten && !self.numbers.contains_key(&change.id)
        };
        old.iter().all(|version| self.by_number(version.number).is_some())
            && new.len() == self.changes.iter().filter(own).count()
    }

    /// Learns the number of the newest change, which has this entry.
    pub(crate) fn learn_newest(&mut self, version: &VersionInfo) {
        if let Some(newest) = self.changes.last_mut() {
            newest.previous = version.previous;
            self.numbers.insert(newest.id, version.number);
        }
    }

    /// Compares with all entries that the store has, the oldest first, and learns the numbers of new changes. Returns how
    /// many entries were removed, because their time is over.
    pub(crate) fn learn(&mut self, log: &[VersionInfo]) -> usize {
        let first = log.first().map_or(u64::MAX, |version| version.number);
        let is_before =
            |change: &&Change| self.numbers.get(&change.id).is_some_and(|it| *it < first);
        let removed = self.changes.iter().take_while(is_before).count();
        for change in self.changes.drain(..removed) {
            assert!(change.may_go, "an entry was removed before its time: {change:?}");
        }
        let mut at = 0;
        let mut highest = 0;
        for version in log {
            assert!(version.number > highest, "the numbers do not grow: {version:?}");
            highest = version.number;
            let known = self.changes.get(at).and_then(|change| self.numbers.get(&change.id));
            let is_noted = version.kind == VersionKind::Forgotten && known != Some(&version.number);
            if is_noted {
                // A note of objects that were forgotten, perhaps by a request that a fault has stopped.
                let mut note = self.change(VersionKind::Forgotten, "");
                note.channel = version.channel;
                let time = version.time.duration_since(UNIX_EPOCH).unwrap().as_millis();
                note.time = note.time.min(u64::try_from(time).unwrap());
                note.age = self.limits.witness.see(note.time, self.limits.keep);
                self.changes.insert(at, note);
            }
            let Some(change) = self.changes.get(at).cloned() else {
                panic!("an entry that no change has made: {version:?}");
            };
            let number = *self.numbers.entry(change.id).or_insert(version.number);
            assert_eq!(number, version.number, "another number: {change:?}");
            self.changes[at].previous = version.previous;
            at += 1;
        }
        for (change, version) in self.changes.clone().iter().zip(log) {
            self.compare(change, version);
        }
        assert_eq!(at, self.changes.len(), "a change has no entry: {:?}", self.changes.get(at));
        removed
    }

    fn compare(&mut self, change: &Change, version: &VersionInfo) {
        let shown = |path: &str| (!path.is_empty()).then(|| path.to_owned());
        let text = |text: &Option<inmost::FileText>| text.as_ref().map(|it| it.as_str().to_owned());
        let size = (usize::try_from(version.bytes), usize::try_from(version.lines));
        assert_eq!(
            (change.kind, change.channel, shown(&change.path), shown(&change.old_path)),
            (version.kind, version.channel, text(&version.path), text(&version.old_path)),
        );
        assert_eq!((Ok(change.size.0), Ok(change.size.1)), size, "{change:?}");
        let time = version.time.duration_since(UNIX_EPOCH).unwrap().as_millis();
        assert_eq!(u128::from(change.time), time, "{change:?}");
        match change.last {
            Last::None => assert_eq!(version.previous, None, "{change:?}"),
            Last::Unknown => assert!(version.previous.is_some(), "{change:?}"),
            Last::Is(id) => {
                assert_eq!(version.previous, self.numbers.get(&id).copied(), "{change:?}");
            }
        }
        assert_eq!(change.file.is_some(), version.file.is_some(), "{change:?}");
        if let (Some(file), Some(number)) = (change.file, version.file) {
            let is_other = |(other, of): (&usize, &u64)| *of == number && *other != file;
            assert!(!self.file_numbers.iter().any(is_other), "two files of one number: {change:?}");
            assert_eq!(*self.file_numbers.entry(file).or_insert(number), number, "{change:?}");
        }
        let back = match change.took {
            Took::Back(id) => self.numbers.get(&id).copied(),
            _ => None,
        };
        assert_eq!(version.restored, back, "{change:?}");
    }
}

/// Bytes and lines.
pub(crate) fn size(text: &str) -> (usize, usize) {
    (text.len(), naive::lines(text).len())
}
