//! What the threads of a session share about the group that is being formed and the one that is being stored.

use inmost_format::record::ObjectId;

use super::overlay::Overlay;

/// The group that is being formed.
#[derive(Default)]
pub(super) struct Queue {
    pub(super) group: Overlay,
    /// Groups closed so far, and the number of the one being formed.
    pub(super) number: u64,
    /// An object in the system folder that is being written and must not be reaped.
    pub(super) staged: Option<ObjectId>,
}

/// What those who wait look at.
#[derive(Default)]
pub(super) struct Progress {
    /// Groups of a lower number are durable.
    pub(super) durable: u64,
    /// Somebody is committing.
    pub(super) leading: bool,
}
