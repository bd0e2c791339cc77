//! A store of nodes without encryption, to test trees alone.

use std::collections::HashMap;

use inmost_format::record::layout::{BODY_BYTES, NODE_BYTES};
use inmost_format::record::node::Node;
use inmost_format::record::{
    Flaw, Kind, NodeSink, NodeSource, ObjectId, RecordError, RecordId, Tag,
};

/// The only object of a tree under test.
pub(crate) const OBJECT: ObjectId = ObjectId([7; 16]);

/// A sink that checks each change: a node fits its record, and a removed node exists.
#[derive(Default)]
pub(crate) struct Plain(HashMap<RecordId, Node>);

impl NodeSource for Plain {
    fn load(&self, id: RecordId, _tag: &Tag) -> Result<Node, RecordError> {
        self.0.get(&id).cloned().ok_or(RecordError::Damaged { kind: id.kind, flaw: Flaw::Absent })
    }
}

impl NodeSink for Plain {
    fn put(&mut self, id: RecordId, node: Node) {
        let most = if id.kind == Kind::Chunk { BODY_BYTES } else { NODE_BYTES };
        assert!(node.encoded_len().unwrap() <= most, "the node is too large for its record");
        assert!(node.kind() == id.kind);
        self.0.insert(id, node);
    }

    fn remove(&mut self, id: RecordId) {
        assert!(self.0.remove(&id).is_some(), "the removed node does not exist");
    }
}

impl Plain {
    /// Checks that the head's tree reaches each node exactly once, and that the head itself fits its record.
    pub(crate) fn check_reachable(&self, head: Node) {
        self.check_all_but(0, head);
    }

    /// As [`check_reachable`](Self::check_reachable), but for this number of nodes that only earlier heads reach.
    pub(crate) fn check_all_but(&self, kept: usize, head: Node) {
        assert!(head.encoded_len().unwrap() <= BODY_BYTES, "the head is too large for its record");
        assert_eq!(self.reach(head) + kept, self.0.len(), "a node is unreachable");
    }

    fn reach(&self, mut node: Node) -> usize {
        let mut below = Vec::new();
        // Entries reference the heads of other objects, which do not exist here.
        let own = |id: &RecordId| id.object == OBJECT && id.index > 0;
        let noted: Result<(), RecordError> = node.children_mut(OBJECT, |id, _| {
            below.extend(own(&id).then_some(id));
            Ok(())
        });
        noted.unwrap();
        below
            .into_iter()
            .map(|id| 1 + self.reach(self.load(id, &Tag::default()).unwrap()))
            .sum::<usize>()
    }
}
