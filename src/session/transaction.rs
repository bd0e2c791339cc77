//! One running call, on the committed state and the uncommitted changes.

pub(crate) mod caller;
pub(crate) mod overlay;
pub(crate) mod sealing;

use std::cell::Cell;

use inmost_format::record::node::Root;
use inmost_format::record::{
    Flaw, HeaderId, Kind, Node, NodeSink, NodeSource, ObjectId, RecordError, RecordId, Tag,
};

use self::caller::Caller;
use self::overlay::{Overlay, VERSIONS_OF_GROUP};
use crate::session::open::Open;
use crate::session::open::read_ahead::{ReadAhead, Scope};
use crate::session::options::Quotas;

/// One running call. It sees the committed state, then its group's changes, then its own.
pub(crate) struct Txn<'a> {
    open: &'a Open,
    /// Reads committed nodes, from a server several at once.
    source: ReadAhead<'a>,
    group: &'a Overlay,
    own: Overlay,
    caller: Caller,
    is_look: Cell<bool>,
}

impl<'a> Txn<'a> {
    pub(super) fn new(open: &'a Open, group: &'a Overlay, caller: &Caller) -> Self {
        let (own, is_look) = (Overlay::default(), Cell::new(false));
        let source = ReadAhead::new(open, Scope::ALL);
        Self { open, source, group, own, caller: caller.clone(), is_look }
    }

    /// Says that the result of this call may rest on a state that is not the newest, because the caller uses it for another
    /// call that finds out.
    pub(crate) fn only_looks(&self) {
        self.is_look.set(true);
    }

    /// Whether the result need not rest on the newest state.
    pub(super) fn is_look(&self) -> bool {
        self.is_look.get()
    }

    /// The number of the change that this call makes: 64 times its commit, plus its place in the group. No other change
    /// ever gets it.
    pub(crate) fn number(&mut self) -> Result<u64, RecordError> {
        self.own.versions = 1;
        let commit = self.root()?.commit.saturating_add(1);
        Ok(commit.saturating_mul(VERSIONS_OF_GROUP).saturating_add(self.group.versions))
    }

    /// Who makes the change.
    pub(crate) fn caller(&self) -> &Caller {
        &self.caller
    }

    /// The session, by a random number.
    pub(crate) fn session_number(&self) -> [u8; 16] {
        self.open.number()
    }

    /// Drops this call's changes to an object.
    pub(super) fn forget_changes(&mut self, object: ObjectId) {
        self.own.nodes.retain(|id, _| id.object != object);
    }

    /// Drops all uncommitted changes to an object that nothing refers to any more.
    pub(super) fn abandon(&mut self, object: ObjectId) {
        self.forget_changes(object);
        for id in self.group.nodes.keys().filter(|id| id.object == object) {
            self.own.nodes.insert(*id, None);
        }
    }

    /// The committed state.
    pub(super) fn open(&self) -> &'a Open {
        self.open
    }

    /// The root as this call sees it.
    pub(crate) fn root(&self) -> Result<Root, RecordError> {
        match self.pending(RecordId::ROOT) {
            Some(Some(Node::Root(root))) => Ok(Root::clone(root)),
            Some(_) => Err(RecordError::Damaged { kind: Kind::Root, flaw: Flaw::Malformed }),
            None => Ok(self.open.root().clone()),
        }
    }

    /// Binds the state after this call to a header.
    pub(crate) fn bind_header(&mut self, header: HeaderId) -> Result<(), RecordError> {
        let mut root = self.root()?;
        root.header = header;
        self.put(RecordId::ROOT, root.into());
        Ok(())
    }

    /// Makes the next commit number larger than `commit`.
    pub(crate) fn skip_commits(&mut self, commit: u64) -> Result<(), RecordError> {
        let mut root = self.root()?;
        root.commit = root.commit.max(commit);
        self.put(RecordId::ROOT, root.into());
        Ok(())
    }

    /// The quotas of the session, or those of the author where they are lower.
    pub(crate) fn quotas(&self) -> Quotas {
        self.caller.quotas(*self.open.quotas())
    }

    pub(super) fn into_overlay(self) -> Overlay {
        self.own
    }

    /// Whether earlier calls of the group, not committed yet, change this record.
    pub(super) fn is_pending(&self, id: RecordId) -> bool {
        self.group.nodes.contains_key(&id)
    }

    fn pending(&self, id: RecordId) -> Option<&Option<Node>> {
        self.own.nodes.get(&id).or_else(|| self.group.nodes.get(&id))
    }
}

impl NodeSource for Txn<'_> {
    fn load(&self, id: RecordId, tag: &Tag) -> Result<Node, RecordError> {
        match self.pending(id) {
            Some(Some(node)) => Ok(node.clone()),
            Some(None) => Err(RecordError::Damaged { kind: id.kind, flaw: Flaw::Absent }),
            None => self.source.load(id, tag),
        }
    }
}

impl NodeSink for Txn<'_> {
    fn put(&mut self, id: RecordId, node: Node) {
        self.own.nodes.insert(id, Some(node));
    }

    fn remove(&mut self, id: RecordId) {
        self.own.nodes.insert(id, None);
    }
}
