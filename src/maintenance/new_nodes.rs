//! Nodes that a rewrite builds anew and that are not sealed yet.

use inmost_format::record::{
    ByRecord, Flaw, Node, NodeSink, NodeSource, RecordError, RecordId, Tag,
};

/// New nodes of one object.
#[derive(Default)]
pub(super) struct NewNodes(ByRecord<Node>);

impl NewNodes {
    /// Takes a node out, if it is one of these.
    pub(super) fn take(&mut self, id: RecordId) -> Option<Node> {
        self.0.remove(&id)
    }
}

impl NodeSource for NewNodes {
    fn load(&self, id: RecordId, _tag: &Tag) -> Result<Node, RecordError> {
        let absent = RecordError::Damaged { kind: id.kind, flaw: Flaw::Absent };
        self.0.get(&id).cloned().ok_or(absent)
    }
}

impl NodeSink for NewNodes {
    fn put(&mut self, id: RecordId, node: Node) {
        self.0.insert(id, node);
    }

    fn remove(&mut self, id: RecordId) {
        self.0.remove(&id);
    }
}
