//! Changes that are not committed yet.
//!
//! A call works on an overlay of its own. If the call succeeds, its overlay is merged into that of its group; if it
//! fails, the overlay is dropped and nothing has changed. Dirty nodes stay decoded until the group is sealed, so a
//! folder that eight calls touch is sealed once.

use inmost_format::record::{ByRecord, Node, RecordError, RecordId};
use inmost_storage::HeaderChange;

/// Dirty nodes by record; `None` where a record is removed.
#[derive(Clone, Default)]
pub(crate) struct Overlay {
    pub(crate) nodes: ByRecord<Option<Node>>,
    /// Calls that have a number of their own.
    pub(crate) versions: u64,
    /// The header that these changes come with, on a shared store.
    pub(crate) header: Option<HeaderChange>,
}

impl Overlay {
    pub(crate) fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The number of records in the batch that this overlay would become after merging `other`. Counts the root, which
    /// is part of every batch but joins an overlay only when it is sealed.
    pub(crate) fn records_with(&self, other: &Overlay) -> usize {
        let new = |id: &&RecordId| **id != RecordId::ROOT && !self.nodes.contains_key(*id);
        let own = self.nodes.keys().filter(|id| **id != RecordId::ROOT).count();
        1 + own + other.nodes.keys().filter(new).count()
    }

    /// Whether each call of both has a number of its own within one commit.
    pub(crate) fn is_numbered_with(&self, other: &Overlay) -> bool {
        self.versions.saturating_add(other.versions) <= VERSIONS_OF_GROUP
    }

    /// Merges a later overlay, or none of it if one of its nodes does not fit a record.
    pub(crate) fn merge(&mut self, other: Overlay) -> Result<(), RecordError> {
        for node in other.nodes.values().flatten() {
            if !node.fits_record() {
                return Err(RecordError::TooLarge);
            }
        }
        self.nodes.extend(other.nodes);
        self.versions = self.versions.saturating_add(other.versions);
        self.header = other.header.or_else(|| self.header.take());
        Ok(())
    }
}

/// The most changes of one commit that have a number of their own.
pub(crate) const VERSIONS_OF_GROUP: u64 = 64;
