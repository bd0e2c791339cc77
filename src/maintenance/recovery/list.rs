//! The lists of names in folders, the newest that are left.

use std::collections::HashSet;

use super::{Recovery, Target};
use crate::maintenance::bare_records::{BareRecords, Version};
use inmost_format::record::node::{Entries, Entry, Root, What};
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
    /// Leaves that cannot be read, with the reason.
    lost: Vec<(u64, RecordError)>,
    /// A record that names leaves cannot be read, so that unknown leaves are lost.
    unknown: Option<RecordError>,
    /// References that no intact store has.
    flaws: Vec<RecordError>,
}

impl FoundList {
    fn add(&mut self, entries: &Entries, is_current: bool) {
        let listed = entries.0.iter().cloned().map(|entry| Listed { entry, is_current });
        self.entries.extend(listed);
    }

    /// Reads what the references lead to.
    fn follow(&mut self, records: &BareRecords, object: ObjectId, tag: &Tag) {
        match load_folder(records, object, tag) {
            Ok(head) => match &head.body {
                Body::Inline(entries) => self.add(entries, true),
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
        for (id, tag, _) in inner.children::<Entries>(object) {
            let is_leaf = id.kind == Kind::FolderLeaf;
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
                    self.lost.push((id.index, error));
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
                    self.add(&entries, true);
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
    /// The entries of a folder. `tag` is that of its current head, if it is known. Lists that cannot be read are replaced by
    /// older ones, as far as there are any, and reported.
    pub(super) fn list(
        &mut self,
        object: ObjectId,
        tag: Option<Tag>,
    ) -> Result<Vec<Listed>, T::Error> {
        let mut found = FoundList::default();
        match tag {
            Some(tag) => found.follow(self.records, object, &tag),
            None => found.unknown = Some(super::damaged(Kind::Folder, Flaw::Absent)),
        }
        for error in std::mem::take(&mut found.flaws) {
            self.lose_record(&error)?;
        }
        if found.is_whole() {
            return Ok(found.entries);
        }
        self.names_lost = true;
        let leaves = self.newest_leaves(object);
        for (index, error) in std::mem::take(&mut found.lost) {
            match leaves.iter().find(|leaf| leaf.id.index == index) {
                Some(Version { node: Node::FolderLeaf(entries), .. }) => {
                    found.add(entries, false);
                    found.leaves.insert(index);
                    self.report.add_older(&self.names, Kind::FolderLeaf.describe(), OLDER);
                }
                _ => self.lose_record(&error)?,
            }
        }
        if let Some(error) = found.unknown.take() {
            let before = found.entries.len();
            let head = self.records.versions(Kind::Folder, object).into_iter().next();
            if let Some(Version { node: Node::Folder(head), .. }) = &head
                && let Body::Inline(entries) = &head.body
            {
                found.add(entries, false);
            }
            for leaf in &leaves {
                if let Node::FolderLeaf(entries) = &leaf.node
                    && !found.leaves.contains(&leaf.id.index)
                {
                    found.add(entries, false);
                }
            }
            if found.entries.len() > before || head.is_some() {
                self.report.add_older(&self.names, Kind::Folder.describe(), OLDER);
            } else {
                self.lose_record(&error)?;
            }
        }
        Ok(found.entries)
    }

    /// The newest version of each leaf of a folder.
    fn newest_leaves(&self, object: ObjectId) -> Vec<Version> {
        let mut seen = HashSet::new();
        let versions = self.records.versions(Kind::FolderLeaf, object).into_iter();
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
                for leaf in self.newest_leaves(object) {
                    if let Node::FolderLeaf(entries) = &leaf.node {
                        found.add(entries, false);
                    }
                }
                for head in self.records.versions(Kind::Folder, object).iter().take(1) {
                    if let Node::Folder(folder) = &head.node
                        && let Body::Inline(entries) = &folder.body
                    {
                        found.add(entries, false);
                    }
                }
            }
            for Listed { entry, .. } in found.entries {
                match entry.what {
                    What::Folder => folders.push((entry.id, Some(entry.tag))),
                    What::File(_) => drop(self.reached.insert(entry.id)),
                }
            }
        }
    }

    /// Notes all objects that intact lists name, if there is a list that is not intact.
    pub(super) fn collect_named(&mut self, root: Option<&Root>) {
        let Some(root) = root else { return };
        let mut is_whole = true;
        self.walk_lists(root, &mut |found, _| is_whole &= found);
        if !is_whole {
            let mut named = HashSet::new();
            self.walk_lists(root, &mut |_, entries| {
                named.extend(entries.iter().map(|listed| listed.entry.id));
            });
            self.named = named;
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

const OLDER: &str = "is an older list: names added since may be lost, and deleted ones may be back";
