//! Seals leaves before their group is closed.
//!
//! One thread seals a group, and the others wait for it meanwhile. Most of that work is in the records that hold text. No tag
//! of another record goes into them, so the thread of each call seals its own, while other calls still join the group. The
//! leader takes the records that are ready, and seals the rest itself.

use std::sync::{Arc, Mutex};

use super::handle::{Session, lock, read};
use super::overlay::Overlay;
use inmost_format::record::tree::Body;
use inmost_format::record::{Node, RecordId, Sealed};
#[cfg(test)]
use inmost_storage::Address;

/// The place of a record that is sealed early. It is empty until then, and if sealing fails.
pub(super) type Slot = Arc<Mutex<Option<Sealed>>>;

/// A leaf to seal, and where its record goes.
pub(super) struct Leaf {
    id: RecordId,
    node: Node,
    slot: Slot,
}

impl Overlay {
    /// Gives each leaf that holds text a slot. If a later call of the group changes the leaf, the group drops the slot.
    pub(super) fn begin_early_seals(&mut self) -> Vec<Leaf> {
        let texts = self.nodes.iter().filter_map(|(id, node)| Some((*id, node.as_ref()?)));
        let leaves: Vec<Leaf> = texts
            .filter(|(_, node)| is_text(node))
            .map(|(id, node)| Leaf { id, node: node.clone(), slot: Slot::default() })
            .collect();
        self.early = leaves.iter().map(|leaf| (leaf.id, Arc::clone(&leaf.slot))).collect();
        leaves
    }
}

impl Session {
    /// Seals leaves of a call that has joined a group. An error is left to the leader, which seals the leaf again.
    pub(super) fn seal_early(&self, leaves: Vec<Leaf>) {
        for Leaf { id, node, slot } in leaves {
            // The group has dropped the slot.
            if Arc::strong_count(&slot) == 1 {
                continue;
            }
            let state = read(&self.shared.state);
            let Ok(open) = state.open() else { return };
            *lock(&slot) = open.sealer.seal(id, &node).ok();
        }
    }

    /// The records of the open group that are sealed already.
    #[cfg(test)]
    pub(crate) fn sealed_early(&self) -> Vec<(Address, Vec<u8>)> {
        let queue = lock(&self.shared.queue);
        let slots = queue.group.early.values();
        slots
            .filter_map(|slot| lock(slot).as_ref().map(|it| (it.address, it.value.clone())))
            .collect()
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
