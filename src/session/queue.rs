//! The state that the threads of a session share: the group being formed and the group being stored.

use inmost_format::record::ObjectId;

use super::overlay::Overlay;

/// The group being formed.
#[derive(Default)]
pub(super) struct Queue {
    pub(super) group: Overlay,
    /// Groups closed so far, and the number of the one being formed.
    pub(super) number: u64,
    /// An object in the system folder that is being written and must not be reaped.
    pub(super) staged: Option<ObjectId>,
}

/// The state that waiting threads check.
#[derive(Default)]
pub(super) struct Progress {
    /// Every group of a lower number is durable.
    pub(super) durable: u64,
    /// A thread is committing.
    pub(super) leading: bool,
    /// A thread that waits for the expected calls will lead once the time for that is over, if no other has led before.
    pub(super) gathering: bool,
}
