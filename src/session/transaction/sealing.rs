//! Seals the changes of a group and applies them to the engine.

use super::overlay::Overlay;
use crate::session::error::StoreError;
use crate::session::open::Open;
use inmost_format::record::node::{Folder, Root, Totals};
use inmost_format::record::tree::Body;
use inmost_format::record::{
    ByRecord, Flaw, Kind, Node, RecordError, RecordId, Sealed, Sealer, Tag, tag_of,
};
use inmost_storage::{Address, Batch, SharedBatch, StorageError};

/// A sealed group, ready for the engine.
pub(crate) struct SealedGroup {
    pub(crate) batch: SharedBatch,
    nodes: Vec<Done>,
    removed: Vec<RecordId>,
    pub(crate) root: Root,
    pub(crate) root_value: Vec<u8>,
}

impl Open {
    /// Seals a group from its leaves to the root: each parent follows its children, whose tags it needs.
    pub(crate) fn seal(&self, group: Overlay) -> Result<SealedGroup, StoreError> {
        let Overlay { mut nodes, header, .. } = group;
        let mut root = match nodes.remove(&RecordId::ROOT) {
            Some(Some(Node::Root(root))) => Root::clone(&root),
            _ => self.root.clone(),
        };
        root.commit = root.commit.saturating_add(1);
        root.trail = self.next_trail();
        root.anchored = self.anchored();
        if let Some(header) = self.unbound.filter(|_| root.header == self.root.header) {
            root.header = header;
        }
        if let Some(Some(Node::Folder(folder))) = nodes.get(&RecordId::folder(root.tree.id)) {
            root.files = folder.totals.files;
            root.bytes = folder.totals.bytes;
        }

        let mut work = Sealing::new(&self.sealer, nodes);
        let sealed = work.seal(RecordId::ROOT, root.into())?;
        let Sealing { dirty, done, mut puts, .. } = work;
        let root = match done.last() {
            Some(Done { node: Node::Root(root), .. }) => Root::clone(root),
            _ => return Err(StoreError::tampered(Kind::Root, Flaw::Malformed)),
        };

        let mut removed = Vec::new();
        for (id, node) in dirty {
            // A dirty node without a dirty parent would be unreachable after this commit, so the commit is refused.
            if node.is_some() {
                return Err(StoreError::tampered(id.kind, Flaw::Stale));
            }
            removed.push(id);
        }
        let root_value = sealed.value.clone();
        let root_address = sealed.address;
        puts.push((sealed.address, sealed.value));
        let records = Batch {
            expect: Some((root_address, Some(self.root_value.clone()))),
            puts,
            deletes: removed.iter().map(|id| self.sealer.address(*id)).collect(),
        };
        let (revision, trail) = (root.commit, self.kept_trail(&root));
        let batch = SharedBatch { records, revision, trail, header };
        Ok(SealedGroup { batch, nodes: done, removed, root, root_value })
    }

    /// Applies a sealed group. Readers see it from here on. Returns the group, unsealed, if the disk has no room for it: then
    /// nothing has changed.
    pub(crate) fn apply(&mut self, group: SealedGroup) -> Result<Option<Overlay>, StoreError> {
        match self.engine.apply(&group.batch.records) {
            Err(StorageError::Full) => return Ok(Some(group.unsealed())),
            applied => applied?,
        }
        self.take_over(group);
        Ok(None)
    }

    /// Takes over a group that the engine has applied.
    pub(crate) fn take_over(&mut self, group: SealedGroup) {
        self.set_root(group.root, group.root_value);
        for id in group.removed {
            self.cache.remove(id);
            if id.kind == Kind::File {
                self.notes.remove(id.object);
            }
        }
        for Done { id, tag, node, bytes } in group.nodes {
            self.cache.put(id, tag, node, bytes);
        }
    }

    /// The records that a group would add to the store, less those that it would remove.
    pub(crate) fn growth(&self, group: &Overlay) -> Result<isize, StoreError> {
        let ids = group.nodes.keys();
        let addresses: Vec<Address> = ids.map(|id| self.sealer.address(*id)).collect();
        let stored = self.engine.get_many(&addresses)?;
        let growth = group
            .nodes
            .values()
            .zip(stored)
            .map(|(node, stored)| isize::from(node.is_some()) - isize::from(stored.is_some()));
        Ok(growth.sum())
    }
}

impl SealedGroup {
    /// The tag of its root.
    pub(crate) fn tag(&self) -> Option<Tag> {
        tag_of(&self.root_value)
    }

    /// The tag of the root that it follows.
    pub(crate) fn expected_tag(&self) -> Option<Tag> {
        let (_, value) = self.batch.records.expect.as_ref()?;
        tag_of(value.as_ref()?)
    }

    /// The group as it was before it was sealed.
    pub(crate) fn unsealed(self) -> Overlay {
        let mut nodes: ByRecord<Option<Node>> =
            self.removed.into_iter().map(|id| (id, None)).collect();
        for Done { id, mut node, .. } in self.nodes {
            if let Node::Root(root) = &mut node {
                // The next seal counts it again.
                let mut counted = Root::clone(root);
                counted.commit = counted.commit.saturating_sub(1);
                node = counted.into();
            }
            nodes.insert(id, Some(node));
        }
        Overlay { nodes, header: self.batch.header, ..Overlay::default() }
    }
}

/// A node whose record is sealed.
struct Done {
    id: RecordId,
    tag: Tag,
    node: Node,
    /// Bytes of its encoded body.
    bytes: usize,
}

/// The first batch of a new generation: a root, an empty tree and an empty system folder.
pub(crate) fn first_batch(sealer: &Sealer, root: Root) -> Result<SharedBatch, StoreError> {
    let empty = Folder { next_index: 0, totals: Totals::default(), body: Body::empty() };
    let dirty = [root.tree.id, root.system.id]
        .into_iter()
        .map(|id| (RecordId::folder(id), Some(Node::from(empty.clone()))))
        .collect();
    let revision = root.commit;
    let mut work = Sealing::new(sealer, dirty);
    let top = work.seal(RecordId::ROOT, root.into())?;
    let mut puts = work.puts;
    puts.push((top.address, top.value));
    let expect = Some((top.address, None));
    let records = Batch { expect, puts, ..Batch::default() };
    Ok(SharedBatch { records, revision, ..SharedBatch::default() })
}

struct Sealing<'a> {
    sealer: &'a Sealer,
    dirty: ByRecord<Option<Node>>,
    done: Vec<Done>,
    /// The tags of the records that are done. The head of a file and an entry of the history may both lead to a record.
    tags: ByRecord<Tag>,
    puts: Vec<(Address, Vec<u8>)>,
}

impl<'a> Sealing<'a> {
    fn new(sealer: &'a Sealer, dirty: ByRecord<Option<Node>>) -> Self {
        Self { sealer, dirty, done: Vec::new(), tags: ByRecord::default(), puts: Vec::new() }
    }

    fn seal(&mut self, id: RecordId, mut node: Node) -> Result<Sealed, RecordError> {
        node.children_mut(id.object, |child, tag| {
            match self.dirty.get(&child) {
                None => {
                    if let Some(sealed) = self.tags.get(&child) {
                        *tag = *sealed;
                    }
                    return Ok(());
                }
                Some(None) => {
                    return Err(RecordError::Damaged { kind: child.kind, flaw: Flaw::Absent });
                }
                Some(Some(_)) => {}
            }
            if let Some(dirty) = self.dirty.remove(&child).flatten() {
                let sealed = self.seal(child, dirty)?;
                *tag = sealed.tag;
                self.puts.push((sealed.address, sealed.value));
            }
            Ok(())
        })?;
        let sealed = self.sealer.seal(id, &node)?;
        self.tags.insert(id, sealed.tag);
        self.done.push(Done { id, tag: sealed.tag, node, bytes: sealed.body });
        Ok(sealed)
    }
}
