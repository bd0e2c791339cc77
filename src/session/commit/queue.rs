//! The state that the threads of a session share: the group being formed and the group being stored.

use std::collections::HashMap;

use inmost_format::record::ObjectId;

use crate::session::error::StoreError;
use crate::session::transaction::overlay::Overlay;

/// The group being formed.
#[derive(Default)]
pub(crate) struct Queue {
    pub(crate) group: Overlay,
    /// The version of the state that the group was made on.
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
    /// Whether a group found no room on the disk.
    pub(super) fn is_refused_as_full(&self, number: u64) -> bool {
        matches!(self.refused.get(&number), Some((Refusal::Failed(StoreError::DiskFull), _)))
    }

    /// Tells one call of a finished group why the group was refused, if it was.
    pub(crate) fn take_refusal(&mut self, number: u64) -> Option<Refusal> {
        let (refusal, calls) = self.refused.get_mut(&number)?;
        let refusal = refusal.for_call();
        *calls = calls.saturating_sub(1);
        if *calls == 0 {
            self.refused.remove(&number);
        }
        Some(refusal)
    }
}

/// Why the calls of a group were refused.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// Another host was faster. The calls run again.
    Overtaken,
    /// This error. Unless it says otherwise, nothing has changed.
    Failed(StoreError),
}

impl Refusal {
    pub(super) fn of(error: StoreError) -> Self {
        match error {
            // The calls run again and find out for themselves.
            StoreError::Locked | StoreError::Halted => Self::Overtaken,
            error => Self::Failed(error),
        }
    }

    /// The same for one call of the group.
    fn for_call(&self) -> Self {
        let Self::Failed(error) = self else { return Self::Overtaken };
        Self::Failed(match *error {
            StoreError::DiskFull => StoreError::DiskFull,
            StoreError::CommitUnknown => StoreError::CommitUnknown,
            StoreError::HeaderDamaged => StoreError::HeaderDamaged,
            StoreError::NotAStore => StoreError::NotAStore,
            StoreError::TooLarge => StoreError::TooLarge,
            StoreError::RandomnessFailed => StoreError::RandomnessFailed,
            StoreError::RolledBack { expected, found } => {
                StoreError::RolledBack { expected, found }
            }
            StoreError::HeaderRolledBack { expected, found } => {
                StoreError::HeaderRolledBack { expected, found }
            }
            StoreError::Tampered { what, how } => StoreError::Tampered { what, how },
            StoreError::Unavailable(ref why) => StoreError::Unavailable(why.clone()),
            StoreError::FilesReplaced(ref what) => StoreError::FilesReplaced(what.clone()),
            StoreError::Storage(ref what) => StoreError::Storage(what.clone()),
            ref error => StoreError::Storage(error.to_string()),
        })
    }
}
