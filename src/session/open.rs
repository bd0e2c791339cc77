//! An unlocked generation: engine, keys, cache and the committed root.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use super::anchor::{Anchor, AnchorStatus, Mark};
use super::cache::SessionCache;
use super::error::StoreError;
use super::generation::{NextGeneration, NextKeys};
use super::ledger::Waiting;
use super::options::{Quotas, SessionOptions};
use super::overlay::Overlay;
use inmost_format::crypto::cost::{AdmittedCost, KdfCost};
use inmost_format::crypto::rng;
use inmost_format::header::SlotKind;
use inmost_format::header::{NextHeader, Unlocked};
use inmost_format::record::node::{Folder, Root, Totals};
use inmost_format::record::tree::Body;
use inmost_format::record::{
    Flaw, Kind, Node, NodeSource, RecordError, RecordId, Sealed, Sealer, Tag, sealed,
};
use inmost_format::secret::Granted;
use inmost_storage::{Address, Batch, Engine, Storage, StorageError};

/// The state that exists only while a session is unlocked. Dropping it wipes keys and cache.
pub(crate) struct Open {
    // Fields are dropped in this order. Secrets go before the engine, whose last sync may hang. The engine goes before
    // the storage, which holds the store's lock.
    sealer: Sealer,
    /// The header in use; `None` for a store in memory.
    keys: Option<Unlocked>,
    anchor: Option<Anchor>,
    cache: SessionCache,
    engine: Box<dyn Engine>,
    storage: Arc<dyn Storage>,
    quotas: Quotas,
    root: Root,
    root_value: Vec<u8>,
    /// Random; names the session in what it writes in steps.
    number: [u8; 16],
    /// Whether the clock can be trusted to end the time of versions.
    pub(super) clock: OnceLock<bool>,
    /// Readings that are not recorded yet.
    pub(super) waiting: Waiting,
}

/// A sealed group, ready for the engine.
pub(super) struct SealedGroup {
    batch: Batch,
    nodes: Vec<(RecordId, Tag, Node)>,
    removed: Vec<RecordId>,
    root: Root,
    root_value: Vec<u8>,
}

impl Open {
    /// Opens an engine: reads and authenticates its root.
    pub(super) fn new(
        storage: Arc<dyn Storage>,
        engine: Box<dyn Engine>,
        sealer: Sealer,
        keys: Option<Unlocked>,
        options: &SessionOptions,
    ) -> Result<Self, StoreError> {
        let (root, root_value) = read_root(&*engine, &sealer)?;
        let cache = SessionCache::new(options.cache_bytes);
        let anchor = None;
        Ok(Self {
            engine,
            storage,
            sealer,
            keys,
            anchor,
            cache,
            quotas: options.quotas,
            root,
            root_value,
            number: rng::array()?,
            clock: OnceLock::new(),
            waiting: Waiting::default(),
        })
    }

    /// The session, by a random number.
    pub(super) fn number(&self) -> [u8; 16] {
        self.number
    }

    pub(crate) fn root(&self) -> &Root {
        &self.root
    }

    pub(super) fn quotas(&self) -> &Quotas {
        &self.quotas
    }

    /// The cost of trying the cheapest keyslot with a passphrase; `None` without a header.
    pub(super) fn kdf_cost(&self) -> Option<KdfCost> {
        let header = self.keys.as_ref()?.header();
        let costs = header.unlock_costs(SlotKind::Passphrase);
        let costs = costs.chain(header.unlock_costs(SlotKind::PassphraseAndKeyfile));
        costs.min_by_key(|cost| cost.work()).map(AdmittedCost::cost)
    }

    /// The protections of all keys.
    pub(super) fn keys_granted(&self) -> Granted {
        let mut granted = self.sealer.granted();
        granted = self.keys.as_ref().map_or(granted, |keys| granted.and(keys.granted()));
        self.anchor.as_ref().map_or(granted, |anchor| granted.and(anchor.granted()))
    }

    /// The header in use; `None` for a store in memory.
    pub(crate) fn keys(&self) -> Option<&Unlocked> {
        self.keys.as_ref()
    }

    /// Switches to another generation with the same content and returns the engine of the old one.
    pub(super) fn replace(
        &mut self,
        engine: Box<dyn Engine>,
        next: NextGeneration,
        root: Root,
        root_value: Vec<u8>,
    ) -> Box<dyn Engine> {
        let last = self.mark();
        match (next.keys, &mut self.keys) {
            (NextKeys::Same(header), Some(keys)) => keys.adopt(*header),
            (NextKeys::Same(_), None) => {}
            (NextKeys::Rotated(rotated), keys) => {
                self.anchor =
                    self.anchor.as_ref().map(|anchor| anchor.retired_for(&rotated, last.as_ref()));
                *keys = Some(*rotated);
            }
        }
        self.sealer = next.sealer;
        self.root = root;
        self.root_value = root_value;
        // Every tag has changed, so no cached node can be used again.
        self.cache.clear();
        std::mem::replace(&mut self.engine, engine)
    }

    /// Loads a node without caching it, for nodes that are read once: they must not evict others.
    pub(crate) fn load_once(&self, id: RecordId, tag: &Tag) -> Result<Node, RecordError> {
        if let Some(node) = self.cache.get(id, tag) {
            return Ok(node);
        }
        fetch(&*self.engine, &self.sealer, id, tag).map(|(node, _)| node)
    }

    /// Sets the anchor that commits are recorded in.
    pub(super) fn keep_anchor(&mut self, anchor: Anchor) {
        self.anchor = Some(anchor);
    }

    pub(super) fn anchor_status(&self) -> AnchorStatus {
        self.anchor.as_ref().map_or(AnchorStatus::None, Anchor::status)
    }

    /// The mark of the committed state.
    pub(super) fn mark(&self) -> Option<Mark> {
        Mark::of(&self.root, self.keys.as_ref()?.header().generation(), &self.root_value)
    }

    /// Writes the mark of the committed state, which must be durable, to the anchor.
    pub(super) fn remember(&self) {
        if let (Some(anchor), Some(mark)) = (&self.anchor, self.mark()) {
            anchor.remember(&*self.storage, &mark);
        }
    }

    /// As [`remember`](Self::remember), unless every anchor holds this mark already.
    pub(super) fn remember_if_new(&self) {
        if let (Some(anchor), Some(mark)) = (&self.anchor, self.mark())
            && !anchor.holds(&mark)
        {
            anchor.remember(&*self.storage, &mark);
        }
    }

    /// As [`remember`](Self::remember), but leaves no mark of earlier states in the anchor.
    pub(crate) fn renew_anchor(&self) {
        if let (Some(anchor), Some(mark)) = (&self.anchor, self.mark()) {
            anchor.renew(&*self.storage, &mark);
        }
    }

    /// Prepares the anchor for a state under other keys, before a header names them.
    pub(crate) fn announce(
        &self,
        next: &Unlocked,
        root: &Root,
        root_value: &[u8],
    ) -> Result<(), StoreError> {
        let mark = Mark::of(root, next.header().generation(), root_value);
        if let (Some(anchor), Some(now), Some(then)) = (&self.anchor, self.mark(), mark) {
            anchor.announce(&*self.storage, &now, next, &then)?;
        }
        Ok(())
    }

    /// Writes the anchor of a copy of the store: its generation, whose root is stored as `root_value`.
    pub(crate) fn anchor_copy(
        &self,
        storage: &dyn Storage,
        generation: u64,
        root: &Root,
        root_value: &[u8],
    ) {
        let mark = Mark::of(root, generation, root_value);
        if let (Some(anchor), Some(keys), Some(mark)) = (&self.anchor, &self.keys, mark) {
            anchor.of_copy(keys).remember(storage, &mark);
        }
    }

    /// Switches to a header of the same keys and generation.
    pub(super) fn adopt_header(&mut self, next: NextHeader) {
        if let Some(keys) = &mut self.keys {
            keys.adopt(next);
        }
    }

    pub(crate) fn sealer(&self) -> &Sealer {
        &self.sealer
    }

    pub(crate) fn storage(&self) -> &dyn Storage {
        &*self.storage
    }

    pub(crate) fn engine(&self) -> &dyn Engine {
        &*self.engine
    }

    /// Wipes keys and cache, closes the engine, then releases the store's lock.
    pub(super) fn close(self) -> Result<(), StoreError> {
        let Self { engine, storage, sealer, keys, anchor, cache, .. } = self;
        drop((sealer, keys, anchor, cache));
        let closed = engine.close();
        drop(storage);
        Ok(closed?)
    }

    /// Seals a group from its leaves to the root: each parent follows its children, whose tags it needs.
    pub(super) fn seal(&self, group: Overlay) -> Result<SealedGroup, StoreError> {
        let mut nodes = group.nodes;
        let mut root = match nodes.remove(&RecordId::ROOT) {
            Some(Some(Node::Root(root))) => Root::clone(&root),
            _ => self.root.clone(),
        };
        root.commit = root.commit.saturating_add(1);
        if let Some(tag) = sealed::tag_of(&self.root_value) {
            root.trail = self.root.trail.after(&tag);
        }
        if let Some(Some(Node::Folder(folder))) = nodes.get(&RecordId::folder(root.tree.id)) {
            root.files = folder.totals.files;
            root.bytes = folder.totals.bytes;
        }

        let mut work = Sealing::new(&self.sealer, nodes);
        let sealed = work.seal(RecordId::ROOT, root.into())?;
        let Sealing { dirty, done, mut puts, .. } = work;
        let root = match done.last() {
            Some((_, _, Node::Root(root))) => Root::clone(root),
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
        let batch = Batch {
            expect: Some((root_address, Some(self.root_value.clone()))),
            puts,
            deletes: removed.iter().map(|id| self.sealer.address(*id)).collect(),
        };
        Ok(SealedGroup { batch, nodes: done, removed, root, root_value })
    }

    /// Applies a sealed group. Readers see it from here on. Returns the group, unsealed, if the disk has no room for it: then
    /// nothing has changed.
    pub(super) fn apply(&mut self, group: SealedGroup) -> Result<Option<Overlay>, StoreError> {
        match self.engine.apply(&group.batch) {
            Err(StorageError::Full) => return Ok(Some(group.unsealed())),
            applied => applied?,
        }
        self.root = group.root;
        self.root_value = group.root_value;
        for id in group.removed {
            self.cache.remove(id);
        }
        for (id, tag, node) in group.nodes {
            let bytes = node.encoded_len().unwrap_or_default();
            self.cache.put(id, tag, node, bytes);
        }
        Ok(None)
    }

    /// The records that a group would add to the store, less those that it would remove.
    pub(super) fn growth(&self, group: &Overlay) -> Result<isize, StoreError> {
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
    /// The group as it was before it was sealed.
    fn unsealed(self) -> Overlay {
        let mut nodes: HashMap<RecordId, Option<Node>> =
            self.removed.into_iter().map(|id| (id, None)).collect();
        for (id, _, mut node) in self.nodes {
            if let Node::Root(root) = &mut node {
                // The next seal counts it again.
                let mut counted = Root::clone(root);
                counted.commit = counted.commit.saturating_sub(1);
                node = counted.into();
            }
            nodes.insert(id, Some(node));
        }
        Overlay { nodes, versions: 0 }
    }
}

impl NodeSource for Open {
    fn load(&self, id: RecordId, tag: &Tag) -> Result<Node, RecordError> {
        if let Some(node) = self.cache.get(id, tag) {
            return Ok(node);
        }
        let (node, bytes) = fetch(&*self.engine, &self.sealer, id, tag)?;
        self.cache.put(id, *tag, node.clone(), bytes);
        Ok(node)
    }
}

/// The first batch of a new generation: a root, an empty tree and an empty system folder.
pub(super) fn first_batch(sealer: &Sealer, root: Root) -> Result<Batch, StoreError> {
    let empty = Folder { next_index: 0, totals: Totals::default(), body: Body::empty() };
    let dirty = [root.tree.id, root.system.id]
        .into_iter()
        .map(|id| (RecordId::folder(id), Some(Node::from(empty.clone()))))
        .collect();
    let mut work = Sealing::new(sealer, dirty);
    let top = work.seal(RecordId::ROOT, root.into())?;
    let mut puts = work.puts;
    puts.push((top.address, top.value));
    Ok(Batch { expect: Some((top.address, None)), puts, deletes: Vec::new() })
}

/// Reads a record and checks that it is the one that the reference means. Also returns the length of its value.
pub(crate) fn fetch(
    engine: &dyn Engine,
    sealer: &Sealer,
    id: RecordId,
    tag: &Tag,
) -> Result<(Node, usize), RecordError> {
    let values = engine.get_many(&[sealer.address(id)])?;
    let Some(Some(value)) = values.into_iter().next() else {
        return Err(RecordError::Damaged { kind: id.kind, flaw: Flaw::Absent });
    };
    Ok((sealer.open(id, &value, tag)?, value.len()))
}

pub(crate) fn read_root(
    engine: &dyn Engine,
    sealer: &Sealer,
) -> Result<(Root, Vec<u8>), StoreError> {
    let address: Address = sealer.address(RecordId::ROOT);
    let values = engine.get_many(&[address])?;
    let Some(Some(value)) = values.into_iter().next() else {
        return Err(StoreError::tampered(Kind::Root, Flaw::Absent));
    };
    // No reference names the root's tag. The root is compared with the anchor instead.
    let tag = sealed::tag_of(&value).ok_or(StoreError::tampered(Kind::Root, Flaw::Frame))?;
    match sealer.open(RecordId::ROOT, &value, &tag)? {
        Node::Root(root) => Ok((Root::clone(&root), value)),
        _ => Err(StoreError::tampered(Kind::Root, Flaw::Malformed)),
    }
}

struct Sealing<'a> {
    sealer: &'a Sealer,
    dirty: HashMap<RecordId, Option<Node>>,
    done: Vec<(RecordId, Tag, Node)>,
    /// The tags of the records that are done. The head of a file and an entry of the history may both lead to a record.
    tags: HashMap<RecordId, Tag>,
    puts: Vec<(Address, Vec<u8>)>,
}

impl<'a> Sealing<'a> {
    fn new(sealer: &'a Sealer, dirty: HashMap<RecordId, Option<Node>>) -> Self {
        Self { sealer, dirty, done: Vec::new(), tags: HashMap::new(), puts: Vec::new() }
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
        self.done.push((id, sealed.tag, node));
        Ok(sealed)
    }
}
