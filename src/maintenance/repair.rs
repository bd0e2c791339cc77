//! Repairs a store: drops, on purpose, everything that no longer authenticates.
//!
//! A repair is a rewrite that skips damage. It drops a file that cannot be read completely, and a folder whose head
//! cannot be read. Of a folder that lost some of its entries, the others are kept. Totals and the order of names are
//! computed anew.

use std::collections::HashMap;
use std::sync::Arc;

use super::check_report::{StoreProblem, list_bounded};
use super::copy::Copy;
use super::rewrite::OldRecords;
use crate::session::generation::NextGeneration;
use crate::session::{Session, StoreError, open};
use inmost_format::record::node::{Entries, Entry, Folder, Name, Root, Totals, What};
use inmost_format::record::tree::{Body, Inner, Leaf, Owner};
use inmost_format::record::{
    Depth, Flaw, Kind, Node, NodeSink, NodeSource, ObjectId, Reached, RecordError, RecordId, Tag,
};

/// The objects that a repair dropped.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct RepairReport {
    /// The dropped objects in the order in which they were found; the first 10,000.
    pub dropped: Vec<StoreProblem>,
    /// The number of further dropped objects.
    pub unlisted: u64,
}

impl Session {
    /// Rewrites the store without its damaged parts, and returns a list of those. Everything else is kept.
    ///
    /// The old records are set aside, with the header that has their key; see [`set_aside`](Session::set_aside).
    /// [`check`](Session::check) shows beforehand what would be dropped.
    ///
    /// # Errors
    /// [`StoreError::Tampered`] if the root folder itself cannot be read; only a salvage can help then. Otherwise those
    /// of [`purge`](Session::purge).
    ///
    /// # Security
    /// The report contains names in plain strings, which are not wiped.
    pub fn repair(&self) -> Result<RepairReport, StoreError> {
        self.repair_reporting(&mut |_| {})
    }

    pub(super) fn repair_reporting(
        &self,
        progress: &mut dyn FnMut(u64),
    ) -> Result<RepairReport, StoreError> {
        let mut report = RepairReport::default();
        self.exclusive(|exclusive| {
            let mut copy = |copy: &mut Copy<'_>, root: &Root| {
                report = RepairReport::default();
                Repair { copy, report: &mut report, reached: Reached::default() }.root(root)
            };
            exclusive.replace_generation(
                progress,
                &mut copy,
                OldRecords::SetAside,
                |keys, number| NextGeneration::generation(keys, number, keys.header().engine()),
            )
        })?;
        Ok(report)
    }
}

struct Repair<'a, 'c> {
    copy: &'a mut Copy<'c>,
    report: &'a mut RepairReport,
    reached: Reached,
}

impl Repair<'_, '_> {
    fn root(&mut self, root: &Root) -> Result<(Tag, u64, u64), StoreError> {
        let id = RecordId::folder(root.tree.id);
        let (depth, head) = self.load_folder(Depth::TOP, id, &root.tree.tag)?;
        let (tag, totals, _) = self.rebuild(&mut Vec::new(), depth, id.object, &head)?;
        Ok((tag, totals.files, totals.bytes))
    }

    /// Copies the readable part of a folder. Returns `None` if nothing of it is left.
    fn folder(
        &mut self,
        names: &mut Vec<Name>,
        depth: Depth,
        entry: &Entry,
    ) -> Result<Option<(Tag, Totals)>, StoreError> {
        let (depth, head) = match self.load_folder(depth, entry.head(), &entry.tag) {
            Ok(found) => found,
            Err(error) => return self.drop_damaged(names, error).map(|()| None),
        };
        let (tag, totals, entries) = self.rebuild(names, depth, entry.id, &head)?;
        Ok((entries > 0).then_some((tag, totals)))
    }

    fn rebuild(
        &mut self,
        names: &mut Vec<Name>,
        depth: Depth,
        object: ObjectId,
        head: &Folder,
    ) -> Result<(Tag, Totals, usize), StoreError> {
        let mut found = Vec::new();
        match &head.body {
            Body::Inline(entries) => found.clone_from(&entries.0),
            Body::Tree(inner) => self.collect(names, depth, object, inner, &mut found)?,
        }
        // A search by name misses a name that is out of order, and finds only one of two entries with the same name.
        found.sort_by(|left, right| left.name.as_str().cmp(right.name.as_str()));
        let mut totals = Totals::default();
        let mut kept: Vec<Entry> = Vec::with_capacity(found.len());
        for mut entry in found {
            names.push(entry.name.clone());
            let copied = match entry.what {
                _ if kept.last().is_some_and(|last| last.name == entry.name) => {
                    self.list_dropped(
                        names,
                        entry.head().kind.describe(),
                        "has the same name as another entry",
                    );
                    None
                }
                What::Folder => self
                    .folder(names, depth, &entry)?
                    .map(|(tag, below)| (tag, Totals::of_folder(&entry.name, &below))),
                What::File(info) => self
                    .file(names, depth, &entry)?
                    .map(|tag| (tag, Totals::of_file(&entry.name, info.bytes))),
            };
            names.pop();
            if let Some((tag, added)) = copied {
                totals = totals.plus(&added);
                entry.tag = tag;
                kept.push(entry);
            }
        }
        let entries = kept.len();
        if entries == 0 && !names.is_empty() {
            return Ok((Tag::default(), totals, 0));
        }
        let mut nodes = Nodes::default();
        let mut next_index = head.next_index;
        let mut owner = Owner { sink: &mut nodes, object, next_index: &mut next_index };
        let body = Body::of_entries(&mut owner, kept)?;
        let tag = self.seal(
            &mut nodes,
            RecordId::folder(object),
            Folder { next_index, totals, body }.into(),
        )?;
        Ok((tag, totals, entries))
    }

    /// Collects the entries of every readable part of a folder.
    fn collect(
        &mut self,
        names: &[Name],
        depth: Depth,
        object: ObjectId,
        inner: &Inner<<Entries as Leaf>::Summary>,
        found: &mut Vec<Entry>,
    ) -> Result<(), StoreError> {
        for (id, tag, _) in inner.children::<Entries>(object) {
            match self.load(depth, id, tag) {
                Ok((_, Node::FolderLeaf(entries))) => found.extend(entries.0.iter().cloned()),
                Ok((depth, Node::FolderInner(inner))) => {
                    self.collect(names, depth, object, &inner, found)?;
                }
                Ok(_) => self.drop_damaged(names, malformed(Kind::FolderInner))?,
                Err(error) => self.drop_damaged(names, error)?,
            }
        }
        Ok(())
    }

    /// Copies a file if it can be read completely.
    fn file(
        &mut self,
        names: &[Name],
        depth: Depth,
        entry: &Entry,
    ) -> Result<Option<Tag>, StoreError> {
        // Reads the file once before writing anything, so that the new generation never holds half a file.
        match self.read_through(depth, entry.head(), &entry.tag) {
            Ok(()) => self.copy.node(depth, entry.head(), &entry.tag).map(Some),
            Err(error) => self.drop_damaged(names, error).map(|()| None),
        }
    }

    fn read_through(&mut self, depth: Depth, id: RecordId, tag: &Tag) -> Result<(), RecordError> {
        let (depth, mut node) = self.load(depth, id, tag)?;
        node.children_mut(id.object, |child, tag| self.read_through(depth, child, tag))
    }

    fn load_folder(
        &mut self,
        depth: Depth,
        id: RecordId,
        tag: &Tag,
    ) -> Result<(Depth, Arc<Folder>), RecordError> {
        match self.load(depth, id, tag)? {
            (depth, Node::Folder(folder)) => Ok((depth, folder)),
            _ => Err(malformed(Kind::Folder)),
        }
    }

    /// Reads a record at `depth` from the engine, bypassing the cache.
    fn load(
        &mut self,
        depth: Depth,
        id: RecordId,
        tag: &Tag,
    ) -> Result<(Depth, Node), RecordError> {
        self.reached.mark(id)?;
        let open = self.copy.open;
        let (node, _) = open::fetch(open.engine(), open.sealer(), id, tag)?;
        Ok((depth.below(&node)?, node))
    }

    fn seal(&mut self, nodes: &mut Nodes, id: RecordId, mut node: Node) -> Result<Tag, StoreError> {
        node.children_mut(id.object, |child, tag| {
            if let Some(below) = nodes.0.remove(&child) {
                *tag = self.seal(nodes, child, below)?;
            }
            Ok::<(), StoreError>(())
        })?;
        let sealed = self.copy.sealer.seal(id, &node)?;
        self.copy.put(sealed)
    }

    fn drop_damaged(&mut self, names: &[Name], error: RecordError) -> Result<(), StoreError> {
        let RecordError::Damaged { kind, flaw } = error else { return Err(error.into()) };
        self.list_dropped(names, kind.describe(), flaw.describe());
        Ok(())
    }

    fn list_dropped(&mut self, names: &[Name], what: &'static str, how: &'static str) {
        let problem = || StoreProblem::new(names, what, how);
        list_bounded(&mut self.report.dropped, &mut self.report.unlisted, problem);
    }
}

fn malformed(kind: Kind) -> RecordError {
    RecordError::Damaged { kind, flaw: Flaw::Malformed }
}

/// New nodes of one folder that are not sealed yet.
#[derive(Default)]
struct Nodes(HashMap<RecordId, Node>);

impl NodeSource for Nodes {
    fn load(&self, id: RecordId, _tag: &Tag) -> Result<Node, RecordError> {
        let absent = RecordError::Damaged { kind: id.kind, flaw: Flaw::Absent };
        self.0.get(&id).cloned().ok_or(absent)
    }
}

impl NodeSink for Nodes {
    fn put(&mut self, id: RecordId, node: Node) {
        self.0.insert(id, node);
    }

    fn remove(&mut self, id: RecordId) {
        self.0.remove(&id);
    }
}
