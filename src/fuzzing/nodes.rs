//! Nodes without encryption, for the trees alone.

use std::collections::HashMap;

use inmost_format::record::node::Node;
use inmost_format::record::size_class::{BODY_BYTES, NODE_BYTES};
use inmost_format::record::{
    Flaw, Kind, NodeSink, NodeSource, ObjectId, RecordError, RecordId, Tag,
};

/// The only object of a tree under test.
pub(super) const OBJECT: ObjectId = ObjectId([7; 16]);

/// A sink that knows what may be put and what must be there to be removed.
#[derive(Default)]
pub(super) struct Plain(HashMap<RecordId, Node>);

impl NodeSource for Plain {
    fn load(&self, id: RecordId, _tag: &Tag) -> Result<Node, RecordError> {
        self.0.get(&id).cloned().ok_or(RecordError::Damaged { kind: id.kind, flaw: Flaw::Absent })
    }
}

impl NodeSink for Plain {
    fn put(&mut self, id: RecordId, node: Node) {
        let most = if id.kind == Kind::Chunk { BODY_BYTES } else { NODE_BYTES };
        assert!(node.encoded_len().unwrap() <= most, "a node that fits no record");
        assert!(node.kind() == id.kind);
        self.0.insert(id, node);
    }

    fn remove(&mut self, id: RecordId) {
        assert!(self.0.remove(&id).is_some(), "removed what is not there");
    }
}

impl Plain {
    /// Checks that the head's tree reaches each node exactly once, and that the head itself fits its record.
    pub(super) fn check_reachable(&self, head: Node) {
        assert!(head.encoded_len().unwrap() <= BODY_BYTES, "a head that fits no record");
        assert_eq!(self.reach(head), self.0.len(), "nodes that nothing refers to");
    }

    fn reach(&self, mut node: Node) -> usize {
        let mut below = Vec::new();
        // Entries refer to heads of other objects, of which there are none here.
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
