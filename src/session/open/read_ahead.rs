//! Reading ahead through a tree that is behind a network.
//!
//! A walk loads a node, then what the node refers to, depth first. So what it loads next is known before it asks. When a node
//! is missing, the nodes that come after it are read in the same round trip, in the order of the walk and as far as they are
//! known. On a store of one host this does nothing.
//!
//! It is a guess about what is loaded, and no more: a node counts only if it has the tag of its reference.

use std::cell::RefCell;
use std::collections::HashSet;

use super::{Open, fetch};
use inmost_format::record::{ByRecord, Kind, Node, NodeSource, RecordError, RecordId, Sealer, Tag};
use inmost_storage::Engine;

/// What a walk loads.
#[derive(Clone, Copy)]
pub(crate) struct Scope {
    /// Levels of folders whose entries it looks at.
    pub(crate) folders: usize,
    /// Whether it loads the files, with their texts.
    pub(crate) files: bool,
}

impl Scope {
    /// Everything.
    pub(crate) const ALL: Self = Self { folders: usize::MAX, files: true };

    /// Folders down to a level, and no files.
    pub(crate) fn folders(levels: usize) -> Self {
        Self { folders: levels, files: false }
    }
}

/// A source of nodes for one walk.
pub(crate) struct ReadAhead<'a> {
    engine: &'a dyn Engine,
    sealer: &'a Sealer,
    from: From<'a>,
    scope: Scope,
    /// The walk begins with the last child of each node.
    is_backward: bool,
    /// `None` on an engine of one host, which reads without a round trip.
    ahead: Option<RefCell<Ahead>>,
}

/// Where nodes may come from besides the engine.
enum From<'a> {
    /// The caches of a session, which keep what is read.
    Caches(&'a Open),
    /// The caches of a session, which keep nothing: each node is read once.
    CachesOnce(&'a Open),
    /// From nowhere: the walk looks at what is stored.
    Stored,
}

#[derive(Default)]
struct Ahead {
    /// What the walk is expected to load, the next one last.
    pending: Vec<Pending>,
    /// Nodes that were read and not asked for yet, with the lengths of their bodies.
    held: ByRecord<(Tag, Node, usize)>,
    /// The last node: a walk may look at a folder and then enter it.
    last: Option<(RecordId, Tag, Node)>,
    /// Round trips so far, of which the first are small.
    trips: u32,
}

#[derive(Clone, Copy)]
struct Pending {
    id: RecordId,
    tag: Tag,
    /// Folders above it.
    depth: usize,
}

impl<'a> ReadAhead<'a> {
    pub(crate) fn new(open: &'a Open, scope: Scope) -> Self {
        Self::of(open.engine(), open.sealer(), From::Caches(open), scope)
    }

    /// As [`new`](Self::new), for a walk from the end to the beginning.
    pub(crate) fn backward(open: &'a Open, scope: Scope) -> Self {
        Self { is_backward: true, ..Self::new(open, scope) }
    }

    /// As [`new`](Self::new), for a walk that reads each node once.
    pub(crate) fn once(open: &'a Open) -> Self {
        Self::of(open.engine(), open.sealer(), From::CachesOnce(open), Scope::ALL)
    }

    /// Reads everything from the engine.
    pub(crate) fn stored(engine: &'a dyn Engine, sealer: &'a Sealer) -> Self {
        Self::of(engine, sealer, From::Stored, Scope::ALL)
    }

    fn of(engine: &'a dyn Engine, sealer: &'a Sealer, from: From<'a>, scope: Scope) -> Self {
        let ahead = engine.shared().map(|_| RefCell::default());
        Self { engine, sealer, from, scope, is_backward: false, ahead }
    }

    fn load_alone(&self, id: RecordId, tag: &Tag) -> Result<Node, RecordError> {
        match self.from {
            From::Caches(open) => open.load(id, tag),
            From::CachesOnce(open) => open.load_once(id, tag),
            From::Stored => fetch(self.engine, self.sealer, id, tag).map(|(node, _)| node),
        }
    }

    /// A node of the session's caches.
    fn cached(&self, id: RecordId, tag: &Tag) -> Option<(Node, Option<usize>)> {
        let (From::Caches(open) | From::CachesOnce(open)) = self.from else { return None };
        if let Some(node) = open.cache.get(id, tag) {
            return Some((node, None));
        }
        let address = self.sealer.address(id);
        let value = open.pulled.as_ref()?.get(&address)?;
        let (node, bytes) = self.sealer.open_at(&address, id, value.to_vec(), tag).ok()?;
        Some((node, Some(bytes)))
    }

    /// Whether a node is at hand; then it stays there.
    fn peek(&self, ahead: &mut Ahead, id: RecordId, tag: &Tag) -> Option<Node> {
        if let Some((held, node, _)) = ahead.held.get(&id) {
            return (held == tag).then(|| node.clone());
        }
        let (node, length) = self.cached(id, tag)?;
        if let Some(length) = length {
            // It is opened once.
            ahead.held.insert(id, (*tag, node.clone(), length));
        }
        Some(node)
    }

    fn load_next(&self, ahead: &mut Ahead, id: RecordId, tag: &Tag) -> Result<Node, RecordError> {
        if self.peek(ahead, id, tag).is_none() {
            self.read(ahead, id, tag)?;
        }
        let held = ahead.held.remove(&id).filter(|(held, _, _)| held == tag);
        let Some((tag, node, length)) = held else {
            // It is in a cache; or it is not the one that is stored, which is found there.
            return self.load_alone(id, tag);
        };
        if let From::Caches(open) = self.from {
            open.cache.put(id, tag, node.clone(), length);
        }
        Ok(node)
    }

    /// Reads a node, and those that come after it.
    fn read(&self, ahead: &mut Ahead, id: RecordId, tag: &Tag) -> Result<(), RecordError> {
        let most = FIRST.saturating_mul(GROWTH.saturating_pow(ahead.trips)).min(MOST);
        let missing = self.missing(ahead, (id, *tag), most);
        if missing.len() == 1 {
            return Ok(());
        }
        ahead.trips = ahead.trips.saturating_add(1);
        let addresses: Vec<_> = missing.iter().map(|(id, _)| self.sealer.address(*id)).collect();
        let values = self.engine.get_many(&addresses)?;
        for (((id, tag), address), value) in missing.iter().zip(&addresses).zip(values) {
            let Some(value) = value else { continue };
            if let Ok((node, bytes)) = self.sealer.open_at(address, *id, value.clone(), tag) {
                ahead.held.insert(*id, (*tag, node, bytes));
                if let From::Caches(open) = self.from {
                    // For the next page of this walk.
                    open.pulled.iter().for_each(|it| it.keep(&[(*address, value.clone())]));
                }
            }
        }
        Ok(())
    }

    /// The nodes to read in one round trip.
    fn missing(
        &self,
        ahead: &mut Ahead,
        first: (RecordId, Tag),
        most: usize,
    ) -> Vec<(RecordId, Tag)> {
        let (mut missing, mut known) = (vec![first], HashSet::from([first.0]));
        let mut opened = 0;
        let pending = std::mem::take(&mut ahead.pending);
        'walk: for next in pending.iter().rev() {
            let mut below = vec![*next];
            while let Some(next) = below.pop() {
                if missing.len() >= most || opened >= OPENED {
                    break 'walk;
                }
                opened += 1;
                if !known.insert(next.id) {
                    continue;
                }
                match self.peek(ahead, next.id, &next.tag) {
                    Some(node) => self.expand(&mut below, next, &node),
                    None => missing.push((next.id, next.tag)),
                }
            }
        }
        ahead.pending = pending;
        // What the walk has passed over.
        ahead.held.retain(|id, _| known.contains(id));
        missing
    }

    /// Adds what the walk loads after a node.
    fn expand(&self, pending: &mut Vec<Pending>, at: Pending, node: &Node) {
        let is_head = matches!(at.id.kind, Kind::Folder);
        if is_head && at.depth >= self.scope.folders {
            return;
        }
        let begin = pending.len();
        node.children(at.id.object, |id, tag| {
            let is_entry = matches!(id.kind, Kind::Folder | Kind::File);
            if id.kind != Kind::File || self.scope.files {
                let depth = at.depth.saturating_add(usize::from(is_entry));
                pending.push(Pending { id, tag: *tag, depth });
            }
        });
        // The last one pending is the next to load.
        if let Some(added) = pending.get_mut(begin..).filter(|_| !self.is_backward) {
            added.reverse();
        }
    }
}

impl NodeSource for ReadAhead<'_> {
    fn load(&self, id: RecordId, tag: &Tag) -> Result<Node, RecordError> {
        let Some(ahead) = &self.ahead else { return self.load_alone(id, tag) };
        let mut ahead = ahead.borrow_mut();
        if let Some((last, its_tag, node)) = &ahead.last
            && (*last, its_tag) == (id, tag)
        {
            return Ok(node.clone());
        }
        let expected = ahead.pending.iter().rposition(|next| next.id == id);
        let depth = expected.and_then(|at| ahead.pending.get(at)).map_or(0, |next| next.depth);
        if let Some(at) = expected {
            // The walk has passed over what was to come before.
            ahead.pending.truncate(at);
        }
        let node = self.load_next(&mut ahead, id, tag)?;
        self.expand(&mut ahead.pending, Pending { id, tag: *tag, depth }, &node);
        ahead.last = Some((id, *tag, node.clone()));
        Ok(node)
    }
}

/// Records of the first round trip: a walk may end soon.
const FIRST: usize = 8;
/// How many times more each of the next ones reads.
const GROWTH: usize = 4;
/// The most records of one round trip: 512 KiB.
const MOST: usize = 128;
/// The most nodes that one round trip is planned with. With [`MOST`] it bounds what is held: 384 nodes.
const OPENED: usize = 256;
