//! What the entries of a history hold, as far as it can be read.

use std::collections::{HashMap, HashSet};

use super::TreeObjects;
use super::later::Later;
use crate::maintenance::bare_records::BareRecords;
use crate::session::StoreError;
use inmost_format::record::history::OldHead;
use inmost_format::record::node::{Entries, Entry, EntryRange, Totals, What};
use inmost_format::record::tree::{Body, Inner};
use inmost_format::record::{
    Depth, Kind, Node, NodeSource, ObjectId, Reached, RecordError, RecordId, Tag,
};

/// The texts of earlier versions, and the records that they consist of.
pub(super) struct Held<'a> {
    records: &'a BareRecords,
    tree: &'a TreeObjects,
    later: &'a Later,
    /// The records of files that were read, with their tags, and whether everything below them can be read.
    seen: HashMap<RecordId, (Tag, bool)>,
    /// The heads of files that entries hold.
    heads: HashSet<RecordId>,
    /// The files and folders that entries hold whole, and everything in those folders.
    objects: HashSet<ObjectId>,
    /// Those of the files that can be read, with their heads.
    whole: HashMap<ObjectId, (RecordId, Tag)>,
    /// The nodes of folders that were read.
    reached: Reached,
    /// What is left of folders of which a part is lost.
    pub(super) folders: HashMap<ObjectId, (Vec<Entry>, Totals)>,
    /// Texts that are lost.
    pub(super) lost: u64,
    /// The versions of which the later history has forgotten the entries.
    pub(super) forgotten: HashSet<u64>,
    /// Whether the folder that is read came back later. Then what was forgotten in it since is not taken out of it.
    pub(super) has_returned: bool,
}

/// What can be read of a folder.
struct FoundFolder {
    totals: Totals,
    is_whole: bool,
}

impl<'a> Held<'a> {
    pub(super) fn new(records: &'a BareRecords, tree: &'a TreeObjects, later: &'a Later) -> Self {
        Self {
            records,
            tree,
            later,
            seen: HashMap::new(),
            heads: HashSet::new(),
            objects: HashSet::new(),
            whole: HashMap::new(),
            reached: Reached::default(),
            folders: HashMap::new(),
            lost: 0,
            forgotten: HashSet::new(),
            has_returned: false,
        }
    }

    /// The record of this tag; `None` if it cannot be read.
    pub(super) fn load(&self, id: RecordId, tag: &Tag) -> Result<Option<Node>, StoreError> {
        match self.records.load(id, tag) {
            Ok(node) => Ok(Some(node)),
            Err(RecordError::Damaged { .. } | RecordError::Storage(_)) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether an object is in the tree.
    pub(super) fn is_in_tree(&self, object: ObjectId) -> bool {
        self.tree.contains_key(&object)
    }

    /// Whether a later version of a file is kept: in the tree, or whole by an entry.
    pub(super) fn is_whole(&self, object: ObjectId) -> bool {
        self.whole.contains_key(&object) || self.tree.contains_key(&object)
    }

    /// The head of the last version of a file that is kept, in the tree or whole by an entry.
    pub(super) fn last_head(&self, object: ObjectId) -> Option<(RecordId, Tag)> {
        self.whole.get(&object).copied().or_else(|| self.tree.get(&object).copied().flatten())
    }

    /// The records below a head that can be read.
    pub(super) fn below(&self, id: RecordId, tag: &Tag) -> Result<HashSet<RecordId>, StoreError> {
        let (mut found, mut next) = (HashSet::new(), vec![(id, *tag)]);
        while let Some((id, tag)) = next.pop() {
            let Some(node) = self.load(id, &tag)? else { continue };
            node.children(id.object, |child, tag| {
                // A chunk has nothing below it.
                if found.insert(child) && child.kind == Kind::FileInner {
                    next.push((child, *tag));
                }
            });
        }
        Ok(found)
    }

    /// Whether an earlier head of a file can be read, with its text.
    pub(super) fn has_head(&mut self, old: &OldHead) -> Result<bool, StoreError> {
        // What the present head has under the same name must be the same record.
        let current = self.tree.get(&old.object).copied().flatten();
        if let Some((id, tag)) = current
            // If the tree is older than the history, a head after the present one belongs to changes that the tree lacks. The next
            // change would use the indexes of its records again.
            && (old.index >= id.index || !self.can_be_read(Depth::TOP, id, &tag)?)
        {
            return Ok(false);
        }
        Ok(self.heads.insert(old.id()) && self.can_be_read(Depth::TOP, old.id(), &old.tag)?)
    }

    /// The bytes of an object that left the tree: as many as its entry says, or those of what is left of a folder. `None` if
    /// nothing is.
    pub(super) fn object(&mut self, entry: &Entry, bytes: u64) -> Result<Option<u64>, StoreError> {
        match entry.what {
            What::File(_) => Ok(self.file(entry)?.then_some(bytes)),
            What::Folder => {
                let found = self.folder(Depth::TOP, entry.id, &entry.tag)?;
                Ok(found.map(|found| if found.is_whole { bytes } else { found.totals.bytes }))
            }
        }
    }

    fn file(&mut self, entry: &Entry) -> Result<bool, StoreError> {
        let is_new = self.is_new(entry.id) && self.heads.insert(entry.head());
        if is_new && self.can_be_read(Depth::TOP, entry.head(), &entry.tag)? {
            self.whole.insert(entry.id, (entry.head(), entry.tag));
            return Ok(true);
        }
        self.lose(1);
        Ok(false)
    }

    fn folder(
        &mut self,
        depth: Depth,
        object: ObjectId,
        tag: &Tag,
    ) -> Result<Option<FoundFolder>, StoreError> {
        let node =
            if self.is_new(object) { self.load(RecordId::folder(object), tag)? } else { None };
        let depth = node.as_ref().and_then(|node| depth.below(node).ok());
        let (Some(Node::Folder(head)), Some(depth)) = (node, depth) else {
            self.lose(1);
            return Ok(None);
        };
        let mut entries = Vec::new();
        let mut is_whole = match &head.body {
            Body::Inline(inline) => {
                entries.extend(inline.0.iter().cloned());
                true
            }
            Body::Tree(inner) => self.entries_below(depth, object, inner, &mut entries)?,
        };
        let mut kept = Vec::with_capacity(entries.len());
        let mut totals = Totals::default();
        for entry in entries {
            let is_forgotten = match entry.what {
                What::File(info) => self.has_returned && self.forgotten.contains(&info.version),
                What::Folder => false,
            };
            if is_forgotten || self.later.has_forgotten(entry.id) {
                is_whole = false;
                continue;
            }
            let added = match entry.what {
                What::File(info) => {
                    self.file(&entry)?.then(|| Totals::of_file(&entry.name, info.bytes))
                }
                What::Folder => self.folder(depth, entry.id, &entry.tag)?.map(|found| {
                    is_whole &= found.is_whole;
                    Totals::of_folder(&entry.name, &found.totals)
                }),
            };
            match added {
                Some(added) => {
                    totals = totals.plus(&added);
                    kept.push(entry);
                }
                None => is_whole = false,
            }
        }
        if is_whole {
            return Ok(Some(FoundFolder { totals: head.totals, is_whole }));
        }
        if kept.is_empty() {
            return Ok(None);
        }
        self.folders.insert(object, (kept, totals));
        Ok(Some(FoundFolder { totals, is_whole }))
    }

    /// Collects the entries below a node. Returns whether all of them can be read.
    fn entries_below(
        &mut self,
        depth: Depth,
        object: ObjectId,
        inner: &Inner<EntryRange>,
        entries: &mut Vec<Entry>,
    ) -> Result<bool, StoreError> {
        let mut is_whole = true;
        for (id, tag, range) in inner.children::<Entries>(object) {
            let is_new = self.reached.mark(id).is_ok();
            let node = if is_new { self.load(id, tag)? } else { None };
            let depth = node.as_ref().and_then(|node| depth.below(node).ok());
            match (depth, node) {
                (Some(_), Some(Node::FolderLeaf(leaf))) => entries.extend(leaf.0.iter().cloned()),
                (Some(depth), Some(Node::FolderInner(below))) => {
                    is_whole &= self.entries_below(depth, object, &below, entries)?;
                }
                _ => {
                    self.lose(range.count);
                    is_whole = false;
                }
            }
        }
        Ok(is_whole)
    }

    /// Notes an object that an entry holds. Returns `false` if something else has it.
    fn is_new(&mut self, object: ObjectId) -> bool {
        !self.tree.contains_key(&object) && self.objects.insert(object)
    }

    fn lose(&mut self, texts: u64) {
        self.lost = self.lost.saturating_add(texts);
    }

    /// Whether a record of a file can be read, and everything below it.
    fn can_be_read(&mut self, depth: Depth, id: RecordId, tag: &Tag) -> Result<bool, StoreError> {
        if let Some((known, is_whole)) = self.seen.get(&id) {
            return Ok(known == tag && *is_whole);
        }
        let node = self.load(id, tag)?;
        let depth = node.as_ref().and_then(|node| depth.below(node).ok());
        let mut is_whole = depth.is_some();
        if let (Some(node), Some(depth)) = (node, depth) {
            let mut children = Vec::new();
            node.children(id.object, |child, tag| children.push((child, *tag)));
            for (child, tag) in children {
                is_whole = is_whole && self.can_be_read(depth, child, &tag)?;
            }
        }
        self.seen.insert(id, (*tag, is_whole));
        Ok(is_whole)
    }
}
