//! The lists of names in folders, the newest that are left.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::Bound;

use super::age::Age;
use super::{Recovery, Reference, Target};
use crate::limits::STAGE_BYTES;
use crate::maintenance::bare_records::{BareRecords, Version, latest_change};
use crate::session::VERSIONS_OF_GROUP;
use inmost_format::record::history::{Before, Operation};
use inmost_format::record::node::{Entries, Entry, EntryRange, Name, Root, What};
use inmost_format::record::tree::{Body, Inner, Leaf};
use inmost_format::record::{
    Depth, Flaw, Kind, Node, NodeSource, ObjectId, RecordError, Tag, load_folder,
};

/// An entry of a list.
pub(super) struct Listed {
    pub(super) entry: Entry,
    /// Whether the newest list has it. In an older list, its tag may be older too, and the file may have been moved or
    /// deleted since.
    pub(super) is_current: bool,
}

/// The lists of one folder, as far as they were found.
#[derive(Default)]
struct FoundList {
    entries: Vec<Listed>,
    /// Indexes of the leaves that were read by their tags.
    leaves: HashSet<u64>,
    /// Indexes of the inner nodes that were visited.
    inner: HashSet<u64>,
    /// Leaves that cannot be read, with what their references say, and the reason.
    lost: Vec<(u64, EntryRange, RecordError)>,
    /// The first names of all leaves.
    firsts: BTreeSet<Name>,
    /// A record that names leaves cannot be read, so that unknown leaves are lost.
    unknown: Option<RecordError>,
    /// References that no intact store has.
    flaws: Vec<RecordError>,
}

impl FoundList {
    fn add(&mut self, entries: &Entries) {
        let listed = entries.0.iter().cloned().map(|entry| Listed { entry, is_current: true });
        self.entries.extend(listed);
    }

    /// Reads what the references lead to.
    fn follow(&mut self, records: &BareRecords, object: ObjectId, tag: &Tag) {
        match load_folder(records, object, tag) {
            Ok(head) => match &head.body {
                Body::Inline(entries) => self.add(entries),
                Body::Tree(inner) => {
                    let depth = Depth::TOP.below(&Node::Folder(head.clone()));
                    match depth {
                        Ok(depth) => self.below(records, object, inner, depth),
                        Err(error) => self.flaws.push(error),
                    }
                }
            },
            Err(error) => self.unknown = Some(error),
        }
    }

    fn below(
        &mut self,
        records: &BareRecords,
        object: ObjectId,
        inner: &Inner<<Entries as Leaf>::Summary>,
        depth: Depth,
    ) {
        for (id, tag, range) in inner.children::<Entries>(object) {
            let is_leaf = id.kind == Kind::FolderLeaf;
            if is_leaf {
                self.firsts.insert(range.first.clone());
            }
            let is_new = if is_leaf {
                !self.leaves.contains(&id.index)
            } else {
                self.inner.insert(id.index)
            };
            if !is_new {
                self.flaws.push(super::damaged(id.kind, Flaw::Repeated));
                continue;
            }
            let node = match records.load(id, tag) {
                Ok(node) => node,
                Err(error) if is_leaf => {
                    self.lost.push((id.index, range.clone(), error));
                    continue;
                }
                Err(error) => {
                    self.unknown = Some(error);
                    continue;
                }
            };
            match (depth.below(&node), node) {
                (Ok(_), Node::FolderLeaf(entries)) => {
                    self.leaves.insert(id.index);
                    self.add(&entries);
                }
                (Ok(depth), Node::FolderInner(inner)) => self.below(records, object, &inner, depth),
                (Ok(_), _) => self.flaws.push(super::damaged(id.kind, Flaw::Malformed)),
                (Err(error), _) => self.flaws.push(error),
            }
        }
    }

    fn is_whole(&self) -> bool {
        self.lost.is_empty() && self.unknown.is_none()
    }
}

impl<T: Target> Recovery<'_, T> {
    /// The entries of a folder. Lists that cannot be read are replaced by
    /// older ones, as far as there are any, and reported.
    pub(super) fn list(
        &mut self,
        object: ObjectId,
        reference: Reference,
    ) -> Result<Vec<Listed>, T::Error> {
        let mut found = FoundList::default();
        let (Reference::Current(named) | Reference::OldList(named) | Reference::Unnamed(named)) =
            reference;
        if let Reference::OldList(_) = reference {
            if let Some(entries) = self.newest_list(object, named) {
                return Ok(entries);
            }
            found.unknown = Some(super::damaged(Kind::Folder, Flaw::Absent));
        } else {
            found.follow(self.records, object, &named);
        }
        for error in std::mem::take(&mut found.flaws) {
            self.lose_record(&error)?;
        }
        if found.is_whole() {
            return Ok(found.entries);
        }
        self.names_lost = true;
        let leaves = self.newest_leaves(object);
        let newest: HashMap<u64, &Version> =
            leaves.iter().map(|leaf| (leaf.id.index, leaf)).collect();
        let lost = std::mem::take(&mut found.lost);
        let gone = lost.iter().filter(|(index, ..)| !newest.contains_key(index));
        let gone = gone.map(|(_, range, _)| (&range.first, (range.count, Vec::new()))).collect();
        let mut before_splits = self.entries_before_splits(object, &found, gone);
        for (index, range, error) in &lost {
            let older = newest.get(index);
            let listed = match older {
                Some(leaf) => older_entries(&leaf.node),
                None => before_splits.remove(&range.first).unwrap_or_default().1,
            };
            if older.is_none() && listed.is_empty() {
                self.lose_record(error)?;
                continue;
            }
            found.leaves.insert(*index);
            found.entries.extend(listed);
            self.report.add_older(&self.names, Kind::FolderLeaf.describe(), OLDER, Age::default());
        }
        if let Some(error) = found.unknown.take() {
            match self.entries_without_head(object, named, &found, &leaves) {
                Some(listed) => {
                    found.entries.extend(listed);
                    self.report.add_older(
                        &self.names,
                        Kind::Folder.describe(),
                        OLDER,
                        Age::default(),
                    );
                }
                None => self.lose_record(&error)?,
            }
        }
        Ok(found.entries)
    }

    /// What is left of a folder if the record that names its leaves is gone: its newest leaves, without those that were gone
    /// when the newest head that is left was written. `None` if there is nothing.
    fn entries_without_head(
        &self,
        object: ObjectId,
        named: Tag,
        found: &FoundList,
        leaves: &[Version],
    ) -> Option<Vec<Listed>> {
        let head = self.records.versions(Kind::Folder, object, Some(named)).into_iter().next();
        let mut listed = Vec::new();
        let mut of_head = FoundList::default();
        if let Some(head) = &head {
            listed.extend(older_entries(&head.node));
            of_head.follow(self.records, object, &head.tag);
        }
        let of_head_or_listed = of_head.entries.iter().chain(&listed).map(|listed| &listed.entry);
        let latest = latest_change(of_head_or_listed);
        let lost: HashSet<u64> = of_head.lost.iter().map(|(index, ..)| *index).collect();
        let mut spans = Vec::new();
        for leaf in leaves {
            let index = leaf.id.index;
            let is_of_head = of_head.leaves.contains(&index) || lost.contains(&index);
            let is_gone = head.as_ref().is_some_and(|head| {
                leaf.is_before(head).unwrap_or_else(|| latest_change(leaf.node.entries()) <= latest)
            });
            if !found.leaves.contains(&index) && (is_of_head || !is_gone) {
                listed.extend(older_entries(&leaf.node));
                let inside = leaf.node.entries().iter().map(|entry| entry.name.as_str());
                spans.extend(inside.clone().min().zip(inside.max()));
            }
        }
        // The last name of each is to be that of all up to it.
        spans.sort_unstable();
        spans.iter_mut().fold("", |last, span| {
            span.1 = span.1.max(last);
            span.1
        });
        // A leaf that was split since has the rest of its names in one that is lost.
        let is_beside_all = |name: &str| {
            let begun = spans.partition_point(|(first, _)| *first <= name);
            begun.checked_sub(1).and_then(|at| spans.get(at)).is_none_or(|(_, last)| *last < name)
        };
        let of_head = of_head.entries.into_iter();
        let split_off = of_head.filter(|listed| is_beside_all(listed.entry.name.as_str()));
        listed.extend(split_off.map(|listed| Listed { is_current: false, ..listed }));
        (head.is_some() || !listed.is_empty()).then_some(listed)
    }

    /// The entries of a folder that no current list names, if its newest list is whole.
    fn newest_list(&self, object: ObjectId, named: Tag) -> Option<Vec<Listed>> {
        let head = self.records.versions(Kind::Folder, object, Some(named)).into_iter().next()?;
        let mut found = FoundList::default();
        found.follow(self.records, object, &head.tag);
        let is_whole = found.is_whole() && found.flaws.is_empty();
        found.entries.retain(|listed| !self.named.contains(&listed.entry.id));
        is_whole.then_some(found.entries)
    }

    /// The entries of leaves that are lost in every version, from lists that had them before these leaves were split off. There are
    /// at most as many as each leaf had; which of them were deleted since is not known. `lost` has the leaves by their first
    /// names, each with the number of entries that are still wanted and those that were found.
    fn entries_before_splits<'n>(
        &self,
        object: ObjectId,
        found: &FoundList,
        mut lost: BTreeMap<&'n Name, (u64, Vec<Listed>)>,
    ) -> BTreeMap<&'n Name, (u64, Vec<Listed>)> {
        if lost.is_empty() {
            return lost;
        }
        let mut known: HashSet<ObjectId> =
            found.entries.iter().map(|listed| listed.entry.id).collect();
        let mut names = BTreeSet::new();
        for kind in [Kind::FolderLeaf, Kind::Folder] {
            for Version { node, .. } in self.records.versions(kind, object, None) {
                for entry in node.entries() {
                    let up_to_it = (Bound::Unbounded, Bound::Included(&entry.name));
                    let leaf = found.firsts.range(up_to_it).next_back();
                    if let Some((wanted, listed)) = leaf.and_then(|first| lost.get_mut(first))
                        && *wanted > 0
                        && names.insert(entry.name.clone())
                        && known.insert(entry.id)
                    {
                        *wanted = wanted.saturating_sub(1);
                        listed.push(Listed { entry: entry.clone(), is_current: false });
                    }
                }
            }
        }
        lost
    }

    /// The newest version of each leaf of a folder.
    fn newest_leaves(&self, object: ObjectId) -> Vec<Version> {
        let mut seen = HashSet::new();
        let versions = self.records.versions(Kind::FolderLeaf, object, None).into_iter();
        versions.filter(|version| seen.insert(version.id.index)).collect()
    }

    /// Marks what was deleted, so that an older list does not bring it back.
    pub(super) fn skip_deleted(&mut self, root: Option<&Root>) {
        let system = root.map_or(ObjectId::SYSTEM, |root| root.system.id);
        let mut folders = vec![(system, root.map(|root| root.system.tag))];
        while let Some((object, tag)) = folders.pop() {
            if !self.reached.insert(object) {
                continue;
            }
            let mut found = FoundList::default();
            if let Some(tag) = &tag {
                found.follow(self.records, object, tag);
            }
            if tag.is_none() || !found.is_whole() {
                // Older lists of deleted files name files that are still deleted.
                let head = self.records.versions(Kind::Folder, object, None).into_iter().take(1);
                for version in self.newest_leaves(object).into_iter().chain(head) {
                    found.entries.extend(older_entries(&version.node));
                }
            }
            for Listed { entry, is_current } in found.entries {
                match entry.what {
                    What::Folder => folders.push((entry.id, Some(entry.tag))),
                    // An older list of deleted files also has long files that were being written.
                    What::File(info) if !is_current && is_long(info.bytes) => {}
                    What::File(_) => drop(self.reached.insert(entry.id)),
                }
            }
        }
    }

    /// Notes all objects that intact lists name, if there is a list that is not intact. Returns whether there is.
    pub(super) fn collect_named(&mut self, root: Option<&Root>) -> bool {
        let Some(root) = root else { return true };
        let mut is_whole = true;
        self.walk_lists(root, &mut |found, _| is_whole &= found);
        if !is_whole {
            let mut named = HashSet::new();
            self.walk_lists(root, &mut |_, entries| {
                named.extend(entries.iter().map(|listed| listed.entry.id));
            });
            self.named = named;
        }
        !is_whole
    }

    /// Marks what the history holds whole, so that an older list does not bring it back. A text that the last commit replaced is
    /// not marked: if a power cut tore that commit, its list and the new text can both be missing.
    pub(super) fn skip_versions(&mut self, root: Option<&Root>) {
        let Some(root) = root else { return };
        for version in self.records.history_before(&root.history) {
            if let Before::Object(entry) = &version.before
                && entry.what != What::Folder
                && !self.named.contains(&entry.id)
            {
                self.reached.insert(entry.id);
            }
        }
        let mut folders = Vec::new();
        for version in self.records.history(&root.history) {
            let was_replaced = version.operation == Operation::Modified
                && version.number / VERSIONS_OF_GROUP >= root.commit;
            if let Before::Object(entry) = &version.before
                && !was_replaced
                && !self.named.contains(&entry.id)
            {
                match entry.what {
                    What::Folder => folders.push((entry.id, entry.tag)),
                    What::File(_) => drop(self.reached.insert(entry.id)),
                }
            }
            for object in version.forgotten.iter().filter(|object| !self.named.contains(object)) {
                self.reached.insert(*object);
            }
        }
        while let Some((object, tag)) = folders.pop() {
            if self.named.contains(&object) || !self.reached.insert(object) {
                continue;
            }
            let mut found = FoundList::default();
            found.follow(self.records, object, &tag);
            for Listed { entry, .. } in found.entries {
                match entry.what {
                    What::Folder => folders.push((entry.id, entry.tag)),
                    What::File(_) => drop(self.reached.insert(entry.id)),
                }
            }
        }
    }

    /// Marks the files that the history of an older root holds, so that a list that is older still does not bring them back. Unlike a
    /// folder, a file that was deleted comes back as another object.
    pub(super) fn skip_deleted_files(&mut self, root: &Root) {
        for version in self.records.history(&root.history) {
            if let Before::Object(entry) = &version.before
                && entry.what != What::Folder
            {
                self.reached.insert(entry.id);
            }
        }
    }

    /// Follows all intact lists. The visitor gets the entries of each folder, and whether they are complete.
    fn walk_lists(&self, root: &Root, visit: &mut impl FnMut(bool, &[Listed])) {
        let mut seen = HashSet::new();
        let mut folders = vec![(root.tree.id, root.tree.tag)];
        while let Some((object, tag)) = folders.pop() {
            if !seen.insert(object) {
                continue;
            }
            let mut found = FoundList::default();
            found.follow(self.records, object, &tag);
            visit(found.is_whole(), &found.entries);
            let below = found.entries.iter().filter(|listed| listed.entry.what == What::Folder);
            folders.extend(below.map(|listed| (listed.entry.id, listed.entry.tag)));
        }
    }
}

fn older_entries(node: &Node) -> Vec<Listed> {
    let entries = node.entries().iter().cloned();
    entries.map(|entry| Listed { entry, is_current: false }).collect()
}

/// Whether a text of this length may have been written in steps, under an entry of the system folder.
pub(super) fn is_long(bytes: u64) -> bool {
    usize::try_from(bytes).map_or(true, |bytes| bytes > STAGE_BYTES)
}

const OLDER: &str = "is an older list: names added since may be lost, and deleted ones may be back";
