//! What is left of the history of a damaged store.
//!
//! The entries that can be read are kept, in their order. Where others are lost, an entry that says so takes their place: without
//! it, a file that a lost entry moved, ended or brought back would be taken for one that stayed as it was. An entry whose text is
//! damaged stays without the text. The history never keeps a record that the tree has as well, but for what versions of one
//! file share.
//!
//! Nothing is written here, and what is kept is verified to the last record.

use std::collections::{HashMap, HashSet, hash_map};

use super::held::Held;
use super::later::{Later, Verdict};
use super::{RecoveryReport, TreeObjects, is_behind};
use crate::maintenance::bare_records::BareRecords;
use crate::session::StoreError;
use crate::session::history::expired_before;
use inmost_format::record::history::{Before, OldHead, Operation, Retired, Seen, Version};
use inmost_format::record::node::{Entry, FileInfo, Name, Root, Totals, What};
use inmost_format::record::{Kind, Node, ObjectId, RecordId, Tag};

/// The part of a history that a repair keeps.
pub(in crate::maintenance) struct KeptHistory {
    /// The entries in their order. What they hold has the tags of the damaged store.
    pub(in crate::maintenance) entries: Vec<Version>,
    /// The folders among what they hold of which a part is lost: the rest of their entries, with its totals.
    pub(in crate::maintenance) folders: HashMap<ObjectId, (Vec<Entry>, Totals)>,
    /// Entries with a lower number hold no text, because there was no room.
    pub(in crate::maintenance) texts_from: u64,
    /// The time that the history has seen pass.
    pub(in crate::maintenance) seen: Seen,
}

impl KeptHistory {
    /// Reads the history, and reports what is lost of it. `None` without a history, or if its head cannot be read. If the root is
    /// older than the newest commit, so is its history, and the tree may be newer.
    pub(in crate::maintenance) fn find(
        records: &BareRecords,
        root: &Root,
        later: &Later,
        tree: &TreeObjects,
        report: &mut RecoveryReport,
    ) -> Result<Option<Self>, StoreError> {
        let child = root.history;
        // Where none are kept any more, the rest of a history waits to be removed.
        if child.is_none() || root.keep == 0 {
            return Ok(None);
        }
        let names = [Name::new(NAME)];
        let mut search = Search {
            held: Held::new(records, tree, later),
            later,
            entries: Vec::new(),
            newest: HashMap::new(),
            without_head: HashMap::new(),
            missing: None,
            lost: 0,
            expired_before: 0,
        };
        let id = RecordId::history(child.id);
        let Some(Node::History(head)) = search.held.load(id, &child.tag)? else {
            report.add_lost(&names, Kind::History.describe(), UNREADABLE);
            return Ok(None);
        };
        search.expired_before = expired_before(records, root);
        if head.lost_before > 0 {
            report.add_lost(&names, Kind::History.describe(), BEGAN_ANEW);
        }
        records.visit_history(child.id, &head, &mut |part| match part {
            Ok(versions) => versions.0.iter().try_for_each(|version| search.entry(version.clone())),
            Err((numbers, count)) => {
                search.lose(numbers.start, count);
                Ok(())
            }
        })?;
        if is_behind(records, Some(root), later) {
            search.lose(search.last().saturating_add(1), 0);
        }
        search.end(&head.seen)?;
        report.lost_versions = search.lost;
        report.lost_texts = search.held.lost;
        let Search { entries, held, .. } = search;
        let (texts_from, seen) = (head.texts_from, head.seen);
        Ok(Some(Self { entries, folders: held.folders, texts_from, seen }))
    }
}

/// The walk through a history.
struct Search<'a> {
    held: Held<'a>,
    later: &'a Later,
    entries: Vec<Version>,
    /// The newest head of each file that an entry holds, by the place of the entry.
    newest: HashMap<ObjectId, usize>,
    /// The entries that lost an earlier head of a file, by their numbers, and these files.
    without_head: HashMap<u64, ObjectId>,
    /// The number of the first entry that is lost since the last one that was kept.
    missing: Option<u64>,
    /// Entries that are lost.
    lost: u64,
    /// The age of the history below which an entry is gone.
    expired_before: u64,
}

impl Search<'_> {
    fn entry(&mut self, mut version: Version) -> Result<(), StoreError> {
        let number = version.number;
        // An order that no intact store has, or an entry that was lost before.
        if number <= self.last() {
            self.lose(number, 1);
            return Ok(());
        }
        let verdict = self.later.judge(&mut version);
        if matches!(verdict, Verdict::WithoutText) {
            self.drop_text(&mut version);
        }
        let is_gone = matches!(verdict, Verdict::Gone);
        if is_gone && version.age >= self.expired_before {
            self.held.forgotten.insert(number);
        }
        if is_gone || !self.examine(&mut version)? {
            self.lose(number, 1);
            return Ok(());
        }
        self.mark_missing(number, version.time, version.age);
        if let Before::Head(old) = &version.before {
            self.newest.insert(old.object, self.entries.len());
        }
        self.entries.push(version);
        Ok(())
    }

    /// Takes the text from an entry if it cannot be read. Returns `false` if the entry would then say something else.
    fn examine(&mut self, version: &mut Version) -> Result<bool, StoreError> {
        match &version.before {
            Before::Nothing | Before::Restored(_) => {}
            // A rename that holds nothing leaves the text as it is, and one that holds something is in no intact store.
            Before::Head(_) | Before::Object(_) if version.operation == Operation::Renamed => {
                return Ok(false);
            }
            Before::Head(old) => {
                let old = *old;
                if !self.held.has_head(&old)? {
                    self.drop_text(version);
                }
            }
            // The tree is newer than this history: a later change brought back what this one deleted.
            Before::Object(entry) if is_deletion(version) && self.held.is_in_tree(entry.id) => {
                return Ok(false);
            }
            Before::Object(entry) => {
                let entry = Entry::clone(entry);
                self.held.has_returned = self.later.has_restored(version.number);
                let held = self.held.object(&entry, version.held)?;
                version.held = held.unwrap_or_default();
                if held.is_none() {
                    version.before = Before::Nothing;
                    version.retired = Vec::new();
                }
            }
        }
        Ok(true)
    }

    /// Takes the text from an entry: it cannot be read, or a later state of the history has the entry without it. What an older head
    /// needs of a file's records is retired by the entry of that head; see [`retire_for_lost`](Self::retire_for_lost).
    fn drop_text(&mut self, version: &mut Version) {
        self.held.lost = self.held.lost.saturating_add(1);
        if let Before::Head(old) = version.before {
            self.without_head.insert(version.number, old.object);
        }
        (version.before, version.retired, version.held) = (Before::Nothing, Vec::new(), 0);
    }

    /// Notes that entries are lost, of which the first has this number.
    fn lose(&mut self, first: u64, count: u64) {
        self.lost = self.lost.saturating_add(count);
        self.missing = self.missing.or(Some(first));
    }

    /// The number of the last entry that was kept, or 0.
    fn last(&self) -> u64 {
        self.entries.last().map_or(0, |version| version.number)
    }

    /// Puts an entry in the place of those that are lost before this number. It stays as long as the entry behind it.
    fn mark_missing(&mut self, before: u64, time: u64, age: u64) {
        let Some(first) = self.missing.take() else { return };
        let first = first.max(self.last().saturating_add(1));
        if first < before {
            self.entries.push(Version::missing(first, time, age));
        }
    }

    fn end(&mut self, seen: &Seen) -> Result<(), StoreError> {
        let time = self.entries.last().map_or(seen.latest, |version| version.time);
        self.mark_missing(u64::MAX, time, seen.age);
        self.keep_present()?;
        self.retire_for_lost()?;
        // Last, because a head that takes over its file is one of the heads between which records are retired.
        self.hand_over();
        Ok(())
    }

    /// Leaves out of every entry the retired records that the last version of the file reaches: where lists of names are lost, the
    /// tree may be older than the history.
    fn keep_present(&mut self) -> Result<(), StoreError> {
        let mut present: HashMap<ObjectId, HashSet<RecordId>> = HashMap::new();
        for version in &mut self.entries {
            let Before::Head(OldHead { object, .. }) = version.before else { continue };
            let last = self.held.last_head(object).filter(|_| !version.retired.is_empty());
            let Some((id, tag)) = last else { continue };
            let below = match present.entry(object) {
                hash_map::Entry::Occupied(known) => known.into_mut(),
                hash_map::Entry::Vacant(free) => free.insert(self.held.below(id, &tag)?),
            };
            version.retired.retain(|record| !below.contains(&record.id(object)));
        }
        Ok(())
    }

    /// Where entries or heads are lost between two heads of a file, lets the entry of the earlier head retire every record that the
    /// later head does not reach: no other entry names these records.
    fn retire_for_lost(&mut self) -> Result<(), StoreError> {
        let mut next: HashMap<ObjectId, (usize, RecordId, Tag)> = HashMap::new();
        let mut gaps = Vec::new();
        let mut marks = 0_usize;
        for place in (0..self.entries.len()).rev() {
            let Some(version) = self.entries.get(place) else { continue };
            marks += usize::from(version.is_missing());
            if let Some(object) = self.without_head.get(&version.number) {
                // As if an entry were lost, but for this file alone.
                let last = || self.held.last_head(*object).map(|(id, tag)| (marks, id, tag));
                if let Some(later) = next.get(object).copied().or_else(last) {
                    next.insert(*object, (usize::MAX, later.1, later.2));
                }
            }
            let Before::Head(old) = version.before else { continue };
            let last = || self.held.last_head(old.object).map(|(id, tag)| (0, id, tag));
            let later = next.insert(old.object, (marks, old.id(), old.tag)).or_else(last);
            if let Some((_, id, tag)) = later.filter(|(after, ..)| *after != marks) {
                gaps.push((place, old, id, tag));
            }
        }
        for (place, old, id, tag) in gaps {
            let kept = self.held.below(id, &tag)?;
            let below = self.held.below(old.id(), &old.tag)?;
            let Some(version) = self.entries.get_mut(place) else { continue };
            for id in below.difference(&kept) {
                let retired = Retired { is_inner: id.kind == Kind::FileInner, index: id.index };
                // As many as one step of trimming removes. The others stay until a rewrite.
                if version.retired.len() < MOST_RETIRED && !version.retired.contains(&retired) {
                    version.retired.push(retired);
                }
            }
        }
        Ok(())
    }

    /// If no later version of a file is kept, lets the entry of its newest head take over the whole file. Records that this head
    /// shares with older heads are then removed with the last of these heads.
    fn hand_over(&mut self) {
        for (object, place) in &self.newest {
            if self.held.is_whole(*object) {
                continue;
            }
            let Some(version) = self.entries.get_mut(*place) else { continue };
            let Before::Head(old) = version.before else { continue };
            let times = FileInfo::of_times(version.time, version.time);
            let what = What::File(FileInfo {
                bytes: old.bytes,
                lines: old.lines,
                head: old.index,
                lowest: old.index,
                number: version.file,
                version: version.previous,
                ..times
            });
            version.before =
                Before::Object(Box::new(Entry::new(Name::new(""), *object, old.tag, what)));
            version.retired = Vec::new();
            version.held = old.bytes;
        }
    }
}

fn is_deletion(version: &Version) -> bool {
    matches!(version.operation, Operation::Deleted | Operation::Expired)
}

/// Records that an entry retires at most when it takes over those of lost entries.
const MOST_RETIRED: usize = 64;
/// How reports name the history.
const NAME: &str = "(history)";
const UNREADABLE: &str = "cannot be read, and is left out";
const BEGAN_ANEW: &str = "began anew, because an older one was damaged: what was before is lost";
