//! An unlocked generation: engine, keys, cache and the committed root.

pub(crate) mod generation;
pub(crate) mod pulled;
pub(crate) mod read_ahead;
pub(crate) mod state;

use std::collections::BTreeSet;
use std::sync::Arc;

use self::generation::{NextGeneration, NextKeys, Written};
use self::pulled::Pulled;
use crate::session::anchor::{Anchor, AnchorStatus, Mark};
use crate::session::cache::SessionCache;
use crate::session::cache::notes::SearchNotes;
use crate::session::error::StoreError;
use crate::session::options::{Quotas, SessionOptions};
use crate::session::sync::{Mutex, MutexGuard, lock};
use inmost_format::crypto::cost::{AdmittedCost, KdfCost};
use inmost_format::crypto::rng;
use inmost_format::header::SlotKind;
use inmost_format::header::{NextHeader, Unlocked};
use inmost_format::record::node::{Root, Trail};
use inmost_format::record::{
    Flaw, HeaderId, Kind, Node, NodeSource, RecordError, RecordId, Sealer, Tag, tag_of,
};
use inmost_format::secret::Granted;
use inmost_storage::limits::TRAIL_STEP;
use inmost_storage::{Address, Engine, Storage};

/// The state that exists only while a session is unlocked. Dropping it wipes keys and cache.
pub(crate) struct Open {
    // Fields are dropped in this order. Secrets go before the engine, whose last sync may hang. The engine goes before
    // the storage, which holds the store's lock.
    pub(super) sealer: Sealer,
    /// The header in use; `None` for a store in memory.
    keys: Option<Unlocked>,
    anchor: Option<Anchor>,
    pub(super) cache: SessionCache,
    pub(super) notes: SearchNotes,
    pub(super) engine: Box<dyn Engine>,
    pub(super) storage: Arc<dyn Storage>,
    quotas: Quotas,
    pub(super) root: Root,
    pub(super) root_value: Vec<u8>,
    /// The header in effect, if the root names the one before it.
    pub(super) unbound: Option<HeaderId>,
    /// Random; names the session in what it writes in steps.
    number: [u8; 16],
    /// Readings that are not recorded yet.
    pub(super) waiting: Waiting,
    /// Grows with every new root, of this host or another. A group of changes is only good for the version it was made on.
    version: u64,
    /// `None` if no other host can change the store.
    pub(super) pulled: Option<Box<Pulled>>,
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
        let root = read_root(&*engine, &sealer)?;
        Self::at_root(storage, engine, sealer, keys, root, options)
    }

    /// As [`new`](Self::new), if the root was read before. The second part is its stored value.
    pub(super) fn at_root(
        storage: Arc<dyn Storage>,
        engine: Box<dyn Engine>,
        sealer: Sealer,
        keys: Option<Unlocked>,
        (root, root_value): (Root, Vec<u8>),
        options: &SessionOptions,
    ) -> Result<Self, StoreError> {
        let cache = SessionCache::new(options.cache_bytes);
        cache.note_files(root.files);
        let notes = SearchNotes::new(options.cache_bytes);
        let pulled = engine.shared().map(|_| Box::new(Pulled::new(options.outcome_timeout)));
        let anchor = None;
        Ok(Self {
            engine,
            storage,
            sealer,
            keys,
            anchor,
            cache,
            notes,
            quotas: options.quotas,
            root,
            root_value,
            unbound: None,
            number: rng::array()?,
            waiting: Waiting::default(),
            version: 0,
            pulled,
        })
    }

    /// The session, by a random number.
    pub(super) fn number(&self) -> [u8; 16] {
        self.number
    }

    pub(crate) fn root(&self) -> &Root {
        &self.root
    }

    /// Lets the next reads go to the engine.
    #[cfg(test)]
    pub(crate) fn forget_nodes(&self) {
        self.cache.clear();
    }

    /// What searches have noted of texts.
    pub(crate) fn notes(&self) -> &SearchNotes {
        &self.notes
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
    pub(super) fn replace(&mut self, next: NextGeneration, written: Written) -> Box<dyn Engine> {
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
        self.set_root(written.root, written.root_value);
        // Every tag has changed, so no cached node can be used again.
        self.cache.clear();
        self.notes.clear();
        std::mem::replace(&mut self.engine, written.engine)
    }

    /// Loads a node without caching it, for nodes that are read once: they must not evict others.
    pub(crate) fn load_once(&self, id: RecordId, tag: &Tag) -> Result<Node, RecordError> {
        if let Some(node) = self.cache.get(id, tag) {
            return Ok(node);
        }
        self.fetch(id, tag).map(|(node, _)| node)
    }

    fn fetch(&self, id: RecordId, tag: &Tag) -> Result<(Node, usize), RecordError> {
        let Some(pulled) = &self.pulled else {
            return fetch(&*self.engine, &self.sealer, id, tag);
        };
        let address = self.sealer.address(id);
        if let Some(value) = pulled.get(&address)
            && let Ok(opened) = self.sealer.open_at(&address, id, value.to_vec(), tag)
        {
            return Ok(opened);
        }
        let fetched = fetch(&*self.engine, &self.sealer, id, tag);
        if matches!(fetched, Err(RecordError::Damaged { .. })) {
            pulled.note_mismatch();
        }
        fetched
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

    /// What the next root says of the anchor.
    pub(crate) fn anchored(&self) -> u64 {
        let anchor = self.anchor.as_ref().filter(|_| self.pulled.is_none());
        anchor.map_or(self.root.anchored, |anchor| anchor.anchored(&*self.storage))
    }

    /// As [`anchored`](Self::anchored), for the root of another generation: no earlier state of the anchor is newer than that root.
    pub(crate) fn anchored_now(&self) -> u64 {
        if let Some(anchor) = &self.anchor {
            anchor.sync(&*self.storage);
        }
        self.anchored()
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
            let copy = anchor.of_copy(keys);
            copy.continue_after(root.anchored);
            copy.remember(storage, &mark);
        }
    }

    /// Switches to a header of the same keys and generation.
    pub(super) fn adopt_header(&mut self, next: NextHeader) {
        if let Some(keys) = &mut self.keys {
            keys.adopt(next);
        }
    }

    /// Lets the next commit name this header, which is in effect already.
    pub(super) fn bind_later(&mut self, header: HeaderId) {
        self.unbound = Some(header);
    }

    pub(crate) fn sealer(&self) -> &Sealer {
        &self.sealer
    }

    /// The version of the state: it changes with every root.
    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    /// Makes a root that this host or another one has committed the state of this session.
    pub(super) fn set_root(&mut self, root: Root, value: Vec<u8>) {
        self.cache.note_files(root.files);
        self.root = root;
        self.root_value = value;
        self.unbound = None;
        self.version = self.version.saturating_add(1);
    }

    pub(super) fn root_address(&self) -> Address {
        self.sealer.address(RecordId::ROOT)
    }

    /// The tag of the present root.
    pub(super) fn root_tag(&self) -> Option<Tag> {
        tag_of(&self.root_value)
    }

    /// The trail of the root after the present one. Only other hosts look at trails; without them it is empty.
    pub(crate) fn next_trail(&self) -> Trail {
        match (&self.pulled, self.root_tag()) {
            (Some(_), Some(tag)) => self.root.trail.after(&tag, self.sealer.store()),
            _ => Trail::default(),
        }
    }

    /// The trail of this root, which follows the present one, if the server is to keep it: now and then, so that those that it keeps
    /// overlap.
    pub(super) fn kept_trail(&self, root: &Root) -> Option<Vec<u8>> {
        self.pulled.as_ref()?;
        let group = |commit: u64| commit / TRAIL_STEP;
        (group(root.commit) != group(self.root.commit)).then(|| root.trail.to_bytes())
    }

    /// Whether each question to the engine is a round trip.
    pub(crate) fn is_remote(&self) -> bool {
        self.pulled.is_some()
    }

    /// Whether readings are recorded. Those of other hosts would be missing, so on a store that has any, none are.
    pub(crate) fn records_readings(&self) -> bool {
        self.root.reads_since > 0 && self.pulled.is_none()
    }

    pub(crate) fn storage(&self) -> &dyn Storage {
        &*self.storage
    }

    pub(crate) fn engine(&self) -> &dyn Engine {
        &*self.engine
    }

    /// Wipes keys and cache, closes the engine, then releases the store's lock.
    pub(super) fn close(self) -> Result<(), StoreError> {
        let Self { engine, storage, sealer, keys, anchor, cache, notes, pulled, .. } = self;
        // What is sealed in it needs no key to be written.
        let anchored = anchor.as_ref().and_then(Anchor::unsynced);
        drop((sealer, keys, anchor, cache, notes, pulled));
        if let Some(block) = anchored
            && storage.check_files().is_ok()
        {
            // Best effort: an anchor of the last commits before it, at most, is what a power cut leaves.
            let _ = storage.write_anchor_durably(&block);
        }
        let closed = engine.close();
        drop(storage);
        Ok(closed?)
    }
}

/// The files that were read since the readings were last written.
#[derive(Default)]
pub(crate) struct Waiting(Mutex<BTreeSet<u64>>);

impl Waiting {
    pub(crate) fn files(&self) -> MutexGuard<'_, BTreeSet<u64>> {
        lock(&self.0)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.files().is_empty()
    }

    /// Removes files whose readings are written, or need not be.
    pub(crate) fn remove(&self, files: &[u64]) {
        let mut waiting = self.files();
        for file in files {
            waiting.remove(file);
        }
    }
}

impl NodeSource for Open {
    fn load(&self, id: RecordId, tag: &Tag) -> Result<Node, RecordError> {
        if let Some(node) = self.cache.get(id, tag) {
            return Ok(node);
        }
        let (node, bytes) = self.fetch(id, tag)?;
        self.cache.put(id, *tag, node.clone(), bytes);
        Ok(node)
    }
}

/// Reads a record and checks that it is the one that the reference means. Also returns the length of its encoded node.
pub(crate) fn fetch(
    engine: &dyn Engine,
    sealer: &Sealer,
    id: RecordId,
    tag: &Tag,
) -> Result<(Node, usize), RecordError> {
    let address = sealer.address(id);
    let values = engine.get_many(&[address])?;
    let Some(Some(value)) = values.into_iter().next() else {
        return Err(RecordError::Damaged { kind: id.kind, flaw: Flaw::Absent });
    };
    sealer.open_at(&address, id, value, tag)
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
    Ok((open_root(sealer, &value)?, value))
}

/// Opens a stored root. No reference names its tag, and its place in time is not checked yet.
pub(crate) fn open_root(sealer: &Sealer, value: &[u8]) -> Result<Root, StoreError> {
    let tag = tag_of(value).ok_or(StoreError::tampered(Kind::Root, Flaw::Frame))?;
    match sealer.open(RecordId::ROOT, value, &tag)? {
        Node::Root(root) => Ok(Root::clone(&root)),
        _ => Err(StoreError::tampered(Kind::Root, Flaw::Malformed)),
    }
}
