//! Storing the changes of calls: sealed, submitted, and taken over if the engine took them.

use crate::session::commit::handle::Session;
use crate::session::commit::queue::Queue;
use crate::session::error::StoreError;
use crate::session::open::Open;
use crate::session::sync::{lock, read, write};
use crate::session::transaction::overlay::Overlay;
use crate::session::transaction::sealing::SealedGroup;
use crate::session::upkeep::reap;
use crate::session::upkeep::trim;
use inmost_format::record::{ObjectId, Tag};
use inmost_storage::StorageError;

/// What became of changes that were submitted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stored {
    /// They are durable, with the root of this tag.
    Done(Option<Tag>),
    /// They are not there and never will be: another host has changed the store first.
    Overtaken,
}

/// Why the calls of a group were refused.
#[derive(Clone, Debug)]
pub(crate) enum Refusal {
    /// The disk is full. Nothing has changed.
    DiskFull,
    /// Another host was faster. The calls run again.
    Overtaken,
    /// Nothing has changed, for this reason.
    Unavailable(String),
    /// Nobody can tell.
    Unknown,
    /// The store went back.
    RolledBack { expected: u64, found: u64 },
    /// Stored bytes differ from those that were written.
    Tampered { what: &'static str, how: &'static str },
    /// The engine failed otherwise. Nothing has changed.
    Failed(String),
}

impl Refusal {
    fn of(error: StoreError) -> Self {
        match error {
            // The calls run again and find out for themselves.
            StoreError::Locked | StoreError::Halted => Self::Overtaken,
            StoreError::DiskFull => Self::DiskFull,
            StoreError::Unavailable(why) => Self::Unavailable(why),
            StoreError::CommitUnknown => Self::Unknown,
            StoreError::RolledBack { expected, found } => Self::RolledBack { expected, found },
            StoreError::Tampered { what, how } => Self::Tampered { what, how },
            error => Self::Failed(error.to_string()),
        }
    }

    /// The error of a call that is not to run again; `None` if it is.
    pub(crate) fn error(self) -> Option<StoreError> {
        Some(match self {
            Self::Overtaken => return None,
            Self::DiskFull => StoreError::DiskFull,
            Self::Unavailable(why) => StoreError::Unavailable(why),
            Self::Unknown => StoreError::CommitUnknown,
            Self::RolledBack { expected, found } => StoreError::RolledBack { expected, found },
            Self::Tampered { what, how } => StoreError::Tampered { what, how },
            Self::Failed(what) => StoreError::Storage(what),
        })
    }
}

impl Open {
    /// Adds what is due along with a commit: reaping and the dropping of versions. Both are part of the batch, so they happen
    /// on the state that the batch expects or not at all.
    pub(super) fn keep_house(
        &self,
        group: &mut Overlay,
        staged: Option<ObjectId>,
    ) -> Result<(), StoreError> {
        reap::reap_into(self, group, staged)?;
        trim::trim_into(self, group)?;
        Ok(())
    }
}

impl Session {
    /// Commits the group that has formed, and tells its calls how it ended. Only the leader may call this.
    pub(in crate::session) fn commit_group(&self, queue: &mut Queue, calls: usize) {
        let group = std::mem::take(&mut queue.group);
        queue.number = queue.number.saturating_add(1);
        if !group.is_empty() {
            let refusal = match self.store(group, queue.base, queue.staged) {
                Ok(Stored::Done(_)) => None,
                Ok(Stored::Overtaken) => Some(Refusal::Overtaken),
                Err(error) => Some(Refusal::of(error)),
            };
            if let (Some(refusal), true) = (refusal, calls > 0) {
                let last = queue.number.saturating_sub(1);
                lock(&self.shared.progress).refused.insert(last, (refusal, calls));
            }
        }
        self.publish(queue.number);
    }

    /// Stores changes that were made on a version of the state.
    ///
    /// # Errors
    /// [`StoreError::CommitUnknown`] if it cannot be found out whether they are stored. After any other error they are not.
    pub(super) fn store(
        &self,
        mut group: Overlay,
        version: u64,
        staged: Option<ObjectId>,
    ) -> Result<Stored, StoreError> {
        let sealed = {
            let state = read(&self.shared.state);
            let open = state.open()?;
            if open.version() != version {
                return Ok(Stored::Overtaken);
            }
            open.keep_house(&mut group, staged).and_then(|()| open.seal(group))
        };
        let sealed = match sealed {
            Ok(sealed) => sealed,
            // What was read may have changed meanwhile.
            Err(StoreError::Tampered { .. }) if self.refresh()? != version => {
                return Ok(Stored::Overtaken);
            }
            Err(error) => return Err(error),
        };
        let applied = read(&self.shared.state).open()?.shared_engine()?.commit(&sealed.batch);
        match applied {
            Ok(()) => Ok(self.install(sealed, version)),
            Err(StorageError::Conflict) => self.look_again(&sealed, version),
            Err(StorageError::Unknown(_)) => self.find_out(sealed, version),
            Err(error) => Err(error.into()),
        }
    }

    /// What became of a batch that was made on this version of the state and that the engine has refused. A server that applies
    /// a batch and calls it refused, or a proxy that sends it twice, must not make its calls run twice.
    ///
    /// # Errors
    /// [`StoreError::CommitUnknown`] if the server refuses a batch because of another root, and then has no other root. An
    /// error when learning the newest state.
    pub(super) fn look_again(
        &self,
        sealed: &SealedGroup,
        version: u64,
    ) -> Result<Stored, StoreError> {
        if self.refresh()? == version {
            return Err(StoreError::CommitUnknown);
        }
        let found = read(&self.shared.state).open()?.judge(sealed);
        // So many commits later that the trail does not tell. The refusal does.
        Ok(found.unwrap_or(Stored::Overtaken))
    }

    /// Takes over a batch that the engine has applied, unless another thread has caught up with it, or with more, already.
    pub(super) fn install(&self, sealed: SealedGroup, version: u64) -> Stored {
        let root = sealed.tag();
        let mut state = write(&self.shared.state);
        // A reader may have met a rotation, or a call have locked the session, since. The batch is stored all the same.
        if let Ok(open) = state.open_mut() {
            if open.version() == version {
                open.take_over(sealed);
            }
            open.remember();
        }
        Stored::Done(root)
    }
}
