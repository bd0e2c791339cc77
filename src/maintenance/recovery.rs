//! Recovers what is left of a damaged store.
//!
//! The walk begins at the newest root that is found, and follows the tags. Where the newest record is gone, it takes an older
//! version, and reports it. Files that no folder names any more, because its list is gone, are put into a folder of their
//! own. Deleted files are left out where they can be recognised: a newer list no longer names them, or the list of deleted
//! files does.

mod age;
mod held;
mod history;
mod later;
mod list;
mod report;
mod target;
mod unnamed;

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use self::age::Changes;
pub(super) use self::history::KeptHistory;
pub(super) use self::later::Later;
use self::list::Listed;
pub use self::report::{OlderVersion, RecoveryReport};
pub(super) use self::target::{FoundFile, Target};
use super::bare_records::{BareRecords, Version};
use crate::session::history::kept_from;
use crate::session::{StoreError, VERSIONS_OF_GROUP, now};
use inmost_format::crypto::rng;
use inmost_format::limits::PATH_DEPTH;
use inmost_format::record::node::{
    Entry, File, FileInfo, Name, Root, Text, TextCount, Totals, What,
};
use inmost_format::record::tree::Leaf;
use inmost_format::record::{
    Depth, Flaw, Kind, Node, NodeSource, ObjectId, RecordError, RecordId, Tag,
};

/// A folder that was recovered.
struct Kept {
    tag: Tag,
    totals: Totals,
}

/// The objects of a tree that was recovered, but for those under another name than in the damaged store. For a file, with its
/// head.
pub(super) type TreeObjects = HashMap<ObjectId, Option<(RecordId, Tag)>>;

/// A tree that was recovered, with the tag of its root folder.
pub(super) struct Recovered {
    pub(super) tag: Tag,
    pub(super) totals: Totals,
    pub(super) objects: TreeObjects,
    pub(super) report: RecoveryReport,
}

/// The walk through the files of a store.
pub(super) struct Recovery<'a, T> {
    records: &'a BareRecords,
    later: &'a Later,
    target: &'a mut T,
    report: RecoveryReport,
    changes: Changes<'a>,
    names: Vec<Name>,
    /// Objects that the walk has reached.
    reached: HashSet<ObjectId>,
    /// Objects that an intact list names. An older list, which may name them elsewhere, is not followed to them.
    named: HashSet<ObjectId>,
    /// Whether a list of names could not be read.
    names_lost: bool,
    /// Before this time, in milliseconds since 1970, an earlier version of a file must have ended to be gone for good.
    versions_from: u64,
    /// From this number on, no change of the history is over, whatever the clock says.
    kept_from: u64,
    /// The number of the next change that brings back an earlier version of a file, or a file without a name.
    next_number: u64,
    /// Folders that are deeper than any path, as in the folder of what was found. They get a place of their own.
    too_deep: Vec<(ObjectId, Reference)>,
    objects: TreeObjects,
    /// Whether to note the objects.
    has_history: bool,
}

impl<'a, T: Target> Recovery<'a, T> {
    /// Recovers everything but the history.
    pub(super) fn run(
        records: &'a BareRecords,
        root: Option<&'a Root>,
        later: &'a Later,
        target: &'a mut T,
    ) -> Result<Recovered, T::Error> {
        let mut recovery = Self {
            records,
            later,
            target,
            report: RecoveryReport::default(),
            changes: Changes::new(records, root, later),
            names: Vec::new(),
            reached: HashSet::new(),
            named: HashSet::new(),
            names_lost: false,
            versions_from: root.map_or(u64::MAX, |root| now().saturating_sub(root.keep)),
            kept_from: root.map_or(u64::MAX, |root| kept_from(records, root)),
            next_number: first_number(root, records.expected_commit()),
            too_deep: Vec::new(),
            objects: TreeObjects::new(),
            has_history: T::KEEPS_HISTORY && root.is_some_and(|root| !root.history.is_none()),
        };
        recovery.report.seen_commit = records.expected_commit();
        let top = root.map_or(ObjectId::TREE, |root| root.tree.id);
        match root {
            Some(root) => recovery.report.commit = root.commit,
            None => recovery.lose(Kind::Root, Flaw::Absent),
        }
        // Where a durable commit is gone, the newest lists may be newer than the newest root.
        let is_behind = |root: &&Root| is_behind(records, Some(root), later);
        if root.is_some_and(|root| is_behind(&root)) {
            recovery.lose_for(Kind::Root, BEHIND);
        }
        let top_list = match root {
            Some(root) if is_behind(&root) => Reference::OldList(root.tree.tag),
            Some(root) => Reference::Current(root.tree.tag),
            None => Reference::OldList(Tag::default()),
        };
        recovery.reached.extend(later.forgotten());
        if let Some(root) = root.filter(is_behind) {
            recovery.skip_deleted_files(root);
        }
        let root = root.filter(|root| !is_behind(root));
        recovery.skip_deleted(root);
        // Where no list is lost, no older list is read.
        if recovery.collect_named(root) {
            recovery.skip_versions(root);
        }
        let kept = recovery.top(top, top_list)?;
        let Recovery { report, objects, .. } = recovery;
        Ok(Recovered { tag: kept.tag, totals: kept.totals, objects, report })
    }

    fn top(&mut self, object: ObjectId, reference: Reference) -> Result<Kept, T::Error> {
        self.reached.insert(object);
        let listed = self.list(object, reference)?;
        let mut kept = self.entries(listed)?;
        if (self.names_lost || !self.too_deep.is_empty())
            && let Some((entry, added)) = self.lost_and_found(&kept.0)?
        {
            kept.1 = kept.1.plus(&added);
            kept.0.push(entry);
            kept.0.sort_by(|left, right| left.name.as_str().cmp(right.name.as_str()));
        }
        self.seal(object, kept)
    }

    /// Recovers the objects of these entries. Returns the entries that are kept, in order, and their totals.
    fn entries(&mut self, mut listed: Vec<Listed>) -> Result<(Vec<Entry>, Totals), T::Error> {
        listed.sort_by(|left, right| {
            let names = left.entry.name.as_str().cmp(right.entry.name.as_str());
            names.then(right.is_current.cmp(&left.is_current))
        });
        let mut totals = Totals::default();
        let mut kept: Vec<Entry> = Vec::with_capacity(listed.len());
        for Listed { entry, is_current } in listed {
            let is_gone = self.later.has_forgotten(entry.id);
            if is_gone || !is_current && self.named.contains(&entry.id) {
                continue;
            }
            self.names.push(entry.name.clone());
            let recovered = if kept.last().is_some_and(|last| last.name == entry.name) {
                if is_current {
                    self.lose_for(entry.head().kind, "has the same name as another entry");
                }
                None
            } else {
                let reference = if is_current {
                    Reference::Current(entry.tag)
                } else {
                    Reference::OldList(entry.tag)
                };
                self.entry(entry, reference)?
            };
            self.names.pop();
            if let Some((entry, added)) = recovered {
                totals = totals.plus(&added);
                kept.push(entry);
            }
        }
        Ok((kept, totals))
    }

    fn entry(
        &mut self,
        mut entry: Entry,
        reference: Reference,
    ) -> Result<Option<(Entry, Totals)>, T::Error> {
        if !self.reached.insert(entry.id) {
            if matches!(reference, Reference::Current(_)) {
                self.lose(entry.head().kind, Flaw::Repeated);
            }
            return Ok(None);
        }
        match entry.what {
            What::Folder if self.names.len() > PATH_DEPTH => {
                self.too_deep.push((entry.id, reference));
                Ok(None)
            }
            What::Folder => {
                let listed = self.list(entry.id, reference)?;
                let kept = self.entries(listed)?;
                if kept.0.is_empty() {
                    return Ok(None);
                }
                let Kept { tag, totals } = self.seal(entry.id, kept)?;
                entry.tag = tag;
                let added = Totals::of_folder(&entry.name, &totals);
                Ok(Some((entry, added)))
            }
            What::File(info) => {
                let found = self.file(entry.id, &info, reference)?;
                let Some((head, tag, count)) = found else { return Ok(None) };
                // It has not the text of the last change of the file.
                let version = if head.object == entry.id { info.version } else { self.number() };
                let number = if info.number == 0 { version } else { info.number };
                (entry.id, entry.tag) = (head.object, tag);
                let added = Totals::of_file(&entry.name, count.bytes);
                let (bytes, lines, head) = (count.bytes, count.lines, head.index);
                let lowest = head;
                entry.what =
                    What::File(FileInfo { bytes, lines, head, lowest, number, version, ..info });
                entry.writer = None;
                Ok(Some((entry, added)))
            }
        }
    }

    fn seal(
        &mut self,
        object: ObjectId,
        (entries, totals): (Vec<Entry>, Totals),
    ) -> Result<Kept, T::Error> {
        if self.has_history {
            self.objects.insert(object, None);
        }
        let tag = self.target.folder(object, entries, totals)?;
        Ok(Kept { tag, totals })
    }

    /// Recovers a file: its newest version that can be read completely.
    fn file(
        &mut self,
        object: ObjectId,
        info: &FileInfo,
        reference: Reference,
    ) -> Result<Option<(RecordId, Tag, Count)>, T::Error> {
        let mut error = damaged(Kind::File, Flaw::Absent);
        if let Reference::Current(tag) = reference {
            let id = RecordId::file(object, info.head);
            match self.whole(id, tag) {
                Ok((head, count)) => return self.keep(id, object, tag, &head, count).map(Some),
                Err(found) => error = found,
            }
        }
        let named = match reference {
            Reference::Current(tag) | Reference::OldList(tag) => Some(tag),
            Reference::Unnamed(_) => None,
        };
        let mut versions = self.records.versions(Kind::File, object, named);
        self.retain_shown(&mut versions, info, reference);
        let is_whole =
            |version: &&Version| matches!(&version.node, Node::File(head) if !head.is_partial);
        let versions = versions.iter().filter(is_whole).map(|version| (version.id, version.tag));
        let is_current = matches!(reference, Reference::Current(_));
        let earlier = is_current.then(|| self.changes.earlier(info)).into_iter().flatten();
        let earlier = earlier.take_while(|text| !self.is_over(text.ended));
        let mut read = HashMap::new();
        let found = versions
            .chain(earlier.map(|text| (text.id, text.tag)))
            .filter(|(id, tag)| self.can_be_read(&mut read, Depth::TOP, *id, tag))
            .take(ATTEMPTS)
            .find_map(|(id, tag)| {
                let (head, count) = self.whole(id, tag).ok()?;
                Some((id, tag, head, count))
            });
        let Some((id, older, head, count)) = found else {
            self.lose_record(&error)?;
            return Ok(None);
        };
        let what = Kind::File.describe();
        let how = match reference {
            Reference::Current(_) => Some(OLDER),
            Reference::OldList(_) => Some(OLD_LIST),
            Reference::Unnamed(_) => None,
        };
        match how {
            Some(how) => {
                let age = self.changes.age(info, &older);
                self.report.add_older(&self.names, what, how, age);
            }
            None => self.report.add_found(&self.names, what),
        }
        let kept_as = ObjectId(rng::array().map_err(StoreError::from)?);
        self.keep(id, kept_as, older, &head, count).map(Some)
    }

    /// Whether the time of a text is over that a change with this time and number ended.
    fn is_over(&self, (time, number): (u64, u64)) -> bool {
        time < self.versions_from && number < self.kept_from
    }

    /// Leaves out the heads that must not be shown: those that the entry of the file excludes, because they were forgotten,
    /// and those whose time is over.
    fn retain_shown(&self, versions: &mut Vec<Version>, info: &FileInfo, reference: Reference) {
        let newest = versions.iter().map(|version| version.id.index).max().unwrap_or_default();
        let lowest = match reference {
            // The list may be older than the file: only the newest head that is left is sure to be no earlier version.
            Reference::OldList(_) => newest.max(info.lowest),
            Reference::Unnamed(_) => newest,
            Reference::Current(_) if self.is_over((info.modified, info.version)) => info.head,
            Reference::Current(_) => info.lowest,
        };
        versions.retain(|version| version.id.index >= lowest);
        versions.sort_by_key(|version| Reverse(version.id.index));
    }

    fn keep(
        &mut self,
        head_id: RecordId,
        kept_as: ObjectId,
        tag: Tag,
        head: &File,
        count: Count,
    ) -> Result<(RecordId, Tag, Count), T::Error> {
        let (records, names) = (self.records, self.names.as_slice());
        let found = FoundFile { records, names, head_id, kept_as, tag, head };
        let kept = self.target.file(&found)?;
        if self.has_history && kept_as == head_id.object {
            self.objects.insert(kept_as, Some((head_id, tag)));
        }
        self.report.files = self.report.files.saturating_add(1);
        self.report.bytes = self.report.bytes.saturating_add(count.bytes);
        Ok((RecordId { object: kept_as, ..head_id }, kept, count))
    }

    /// Whether a record of a file can be read, and everything below it. `read` has what is known already, by the tag: thousands of
    /// versions may share a record.
    fn can_be_read(
        &self,
        read: &mut HashMap<[u8; 16], bool>,
        depth: Depth,
        id: RecordId,
        tag: &Tag,
    ) -> bool {
        if let Some(known) = read.get(&tag.0) {
            return *known;
        }
        let mut is_whole = false;
        if let Ok(node) = self.records.load(id, tag)
            && let Ok(depth) = depth.below(&node)
        {
            let mut children = Vec::new();
            node.children(id.object, |child, tag| children.push((child, *tag)));
            is_whole =
                children.iter().all(|(child, tag)| self.can_be_read(read, depth, *child, tag));
        }
        read.insert(tag.0, is_whole);
        is_whole
    }

    /// Reads a version of a file completely, and counts its text.
    fn whole(&self, id: RecordId, tag: Tag) -> Result<(File, Count), RecordError> {
        let Node::File(head) = self.records.load(id, &tag)? else {
            return Err(damaged(Kind::File, Flaw::Malformed));
        };
        let mut count = TextCount::default();
        let mut is_closed = true;
        head.body.visit::<RecordError>(self.records, id.object, 0, &mut |_, text: &Text| {
            count += text.summary();
            is_closed = text.as_str().ends_with('\n') || text.as_str().is_empty() && is_closed;
            Ok(true)
        })?;
        let lines = count.newlines.saturating_add(u64::from(!is_closed));
        Ok((File::clone(&head), Count { bytes: count.bytes, lines }))
    }

    fn number(&mut self) -> u64 {
        let number = self.next_number;
        self.next_number = number.saturating_add(1);
        number
    }

    fn lose(&mut self, kind: Kind, flaw: Flaw) {
        self.lose_for(kind, flaw.describe());
    }

    fn lose_for(&mut self, kind: Kind, how: &'static str) {
        self.report.add_lost(&self.names, kind.describe(), how);
    }

    fn lose_record(&mut self, error: &RecordError) -> Result<(), StoreError> {
        match *error {
            RecordError::Damaged { kind, flaw } => self.lose(kind, flaw),
            RecordError::Storage(_) => {
                self.report.add_lost(&self.names, "a record", "cannot be read");
            }
            RecordError::Randomness => return Err(StoreError::RandomnessFailed),
            RecordError::TooLarge => return Err(StoreError::TooLarge),
        }
        Ok(())
    }
}

/// What leads to an object.
#[derive(Clone, Copy)]
enum Reference {
    /// The newest list, which has the tag of the newest version.
    Current(Tag),
    /// An older list, with the tag of that time.
    OldList(Tag),
    /// No list. The tag is that of the newest version of a folder.
    Unnamed(Tag),
}

/// Whether a root is older than the newest commit: an anchor names a later commit, or there is no anchor and the history has a
/// later head. Where there is an anchor, such a head may be that of a commit which a crash cut off.
fn is_behind(records: &BareRecords, root: Option<&Root>, later: &Later) -> bool {
    let expected = records.expected_commit();
    root.map_or(0, |root| root.commit) < expected || expected == 0 && later.is_there()
}

/// The first of the numbers that no change has, because they belong to the commits that a repair makes or leaves out.
fn first_number(root: Option<&Root>, expected_commit: u64) -> u64 {
    let commit = root.map_or(0, |root| root.commit).max(expected_commit);
    commit.saturating_add(1).saturating_mul(VERSIONS_OF_GROUP)
}

fn damaged(kind: Kind, flaw: Flaw) -> RecordError {
    RecordError::Damaged { kind, flaw }
}

/// Counts of a text.
#[derive(Clone, Copy)]
struct Count {
    bytes: u64,
    lines: u64,
}

/// Versions of a file that are counted, newest first. With the keys, a store can be crafted in which each of many long versions
/// can be read and is no text all the same.
const ATTEMPTS: usize = 16;
const BEHIND: &str = "is older than the newest commit: what changed last may be lost";
const OLDER: &str = "is an older version, because the newest one is damaged";
const OLD_LIST: &str =
    "is from an older list of its folder: it may have been moved or deleted since";
