//! Seals leaves before their group is closed.
//!
//! One thread seals a group, and the others wait for it meanwhile. Most of that work is in the records that hold text. No tag
//! of another record goes into them, so the thread of each call seals its own, while other calls still join the group. The
//! leader takes the records that are ready, and seals the rest itself.

use std::sync::{Arc, Mutex, Weak};

use super::handle::{Session, lock, read};
use super::overlay::Overlay;
use inmost_format::record::tree::Body;
use inmost_format::record::{ByRecord, Node, RecordId, Sealed};
#[cfg(test)]
use inmost_storage::Address;

/// The leaves of a group that are sealed early. The group owns them: when it is sealed or dropped, so is their text.
pub(super) type EarlySeals = ByRecord<Arc<EarlySeal>>;

/// A leaf, and its record once that is sealed.
pub(super) struct EarlySeal {
    id: RecordId,
    node: Node,
    record: Mutex<Option<Sealed>>,
}

impl EarlySeal {
    /// Takes the record, if it is ready.
    pub(super) fn take(&self) -> Option<Sealed> {
        lock(&self.record).take()
    }
}

impl Overlay {
    /// Has the leaves that hold text sealed early. If a later call of the group changes a leaf, the group drops it from these.
    pub(super) fn begin_early_seals(&mut self) -> Vec<Weak<EarlySeal>> {
        let nodes = self.nodes.iter().filter_map(|(id, node)| Some((*id, node.as_ref()?)));
        self.early = nodes
            .filter(|(_, node)| is_text(node))
            .map(|(id, node)| (id, EarlySeal { id, node: node.clone(), record: Mutex::default() }))
            .map(|(id, leaf)| (id, Arc::new(leaf)))
            .collect();
        self.early.values().map(Arc::downgrade).collect()
    }
}

impl Session {
    /// Seals leaves of a call that has joined a group. An error is left to the leader, which seals the leaf again.
    pub(super) fn seal_early(&self, leaves: &[Weak<EarlySeal>]) {
        for leaf in leaves {
            // A lock of the session waits for this guard, so no text outlives it.
            let state = read(&self.shared.state);
            let Ok(open) = state.open() else { return };
            let Some(leaf) = leaf.upgrade() else { continue };
            let sealed = open.sealer.seal(leaf.id, &leaf.node).ok();
            *lock(&leaf.record) = sealed;
        }
    }

    /// The records of the open group that are sealed already.
    #[cfg(test)]
    pub(crate) fn sealed_early(&self) -> Vec<(Address, Vec<u8>)> {
        let queue = lock(&self.shared.queue);
        let records = queue.group.early.values().map(|leaf| lock(&leaf.record));
        records.filter_map(|it| it.as_ref().map(|it| (it.address, it.value.clone()))).collect()
    }
}

/// Whether a node holds text and no references.
fn is_text(node: &Node) -> bool {
    match node {
        Node::Chunk(_) => true,
        Node::File(file) => matches!(file.body, Body::Inline(_)),
        _ => false,
    }
}
