//! Nodes without encryption and a seeded generator, for tests of shapes.
#![allow(
    clippy::unwrap_used,
    clippy::len_without_is_empty,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::missing_panics_doc,
    reason = "for tests, which panic and never need `is_empty`"
)]

use std::collections::HashMap;

use super::{Flaw, Node, NodeSink, NodeSource, ObjectId, RecordError, RecordId, Tag};

/// Loading a node that was removed or never written returns the error of a damaged store.
#[derive(Default)]
pub struct Plain(HashMap<RecordId, Node>);

impl Plain {
    /// The number of nodes.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Every node with its name, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (&RecordId, &Node)> {
        self.0.iter()
    }
}

impl NodeSource for Plain {
    fn load(&self, id: RecordId, _tag: &Tag) -> Result<Node, RecordError> {
        self.0.get(&id).cloned().ok_or(RecordError::Damaged { kind: id.kind, flaw: Flaw::Absent })
    }
}

impl NodeSink for Plain {
    fn put(&mut self, id: RecordId, node: Node) {
        assert!(node.encoded_len().unwrap() <= 4_069);
        self.0.insert(id, node);
    }

    fn remove(&mut self, id: RecordId) {
        assert!(self.0.remove(&id).is_some(), "removed an absent node");
    }
}

/// The object that the nodes belong to.
pub const OBJECT: ObjectId = ObjectId([7; 16]);

/// A linear congruential generator: the same numbers on every machine.
pub struct Random(pub u64);

impl Random {
    /// A number below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % bound
    }
}
