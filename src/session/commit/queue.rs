//! The state that the threads of a session share: the group being formed and the group being stored.

use std::collections::HashMap;

use inmost_format::record::ObjectId;

use crate::session::shared::Refusal;
use crate::session::transaction::overlay::Overlay;

/// The group being formed.
#[derive(Default)]
pub(crate) struct Queue {
    pub(crate) group: Overlay,
    /// The version of the state that the group was made on, for a shared store.
    pub(crate) base: u64,
    /// Groups closed so far, and the number of the one being formed.
    pub(crate) number: u64,
    /// An object in the system folder that is being written and must not be reaped.
    pub(crate) staged: Option<ObjectId>,
}

/// The state that waiting threads check.
#[derive(Default)]
pub(crate) struct Progress {
    /// Every group of a lower number is durable, or was refused.
    pub(crate) durable: u64,
    /// Groups that were not stored, with the reason and the number of their calls that do not know it yet.
    pub(crate) refused: HashMap<u64, (Refusal, usize)>,
    /// A thread is committing.
    pub(crate) leading: bool,
    /// A thread that waits for the expected calls will lead once the time for that is over, if no other has led before.
    pub(crate) gathering: bool,
}

impl Progress {
    /// Tells one call of a finished group why the group was refused, if it was.
    pub(crate) fn take_refusal(&mut self, number: u64) -> Option<Refusal> {
        let (refusal, calls) = self.refused.get_mut(&number)?;
        let refusal = refusal.clone();
        *calls = calls.saturating_sub(1);
        if *calls == 0 {
            self.refused.remove(&number);
        }
        Some(refusal)
    }
}
