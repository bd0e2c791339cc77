//! Changes that are not committed yet.
//!
//! A call works on an overlay of its own; when it succeeds the overlay joins that of its group, and when
//! it fails it is dropped and nothing has happened. Dirty nodes stay decoded until the group is sealed, so
//! a folder that eight calls touch is sealed once.

use std::collections::HashMap;

use inmost_format::record::{Node, RecordError, RecordId, size_class};

/// Dirty nodes by record; `None` where a record is removed.
#[derive(Default)]
pub(super) struct Overlay {
    pub(super) nodes: HashMap<RecordId, Option<Node>>,
}

impl Overlay {
    pub(super) fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Records of the engine batch that this overlay would become after taking in `other`, with the root, which goes with
    /// every batch and into no overlay before it is sealed.
    pub(super) fn records_with(&self, other: &Overlay) -> usize {
        let new = |id: &&RecordId| **id != RecordId::ROOT && !self.nodes.contains_key(*id);
        let own = self.nodes.keys().filter(|id| **id != RecordId::ROOT).count();
        1 + own + other.nodes.keys().filter(new).count()
    }

    /// Takes in a later overlay, or nothing of it if it holds what no record can.
    pub(super) fn merge(&mut self, other: Overlay) -> Result<(), RecordError> {
        for node in other.nodes.values().flatten() {
            let body = node.encoded_len().map_err(|_| RecordError::TooLarge)?;
            size_class::class_of(body).ok_or(RecordError::TooLarge)?;
        }
        self.nodes.extend(other.nodes);
        Ok(())
    }
}
