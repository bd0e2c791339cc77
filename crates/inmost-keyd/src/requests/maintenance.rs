//! Requests for facts about the store, and for maintenance, which takes long.

use inmost::{CheckReport, FileError, SessionStatus, SetAside, StorageEngine, VerifiedCopy};
use serde::{Deserialize, Serialize};

use crate::facts::DaemonFacts;
use crate::request::{Context, Request};
use crate::wire_path;

/// Facts about the daemon.
#[derive(Serialize, Deserialize)]
pub(crate) struct Facts;

impl Request for Facts {
    type Reply = DaemonFacts;

    const IS_USE: bool = false;

    fn is_change(&self) -> bool {
        false
    }

    fn execute(self, _: &[u8], context: &mut Context<'_>) -> Result<DaemonFacts, FileError> {
        Ok((context.facts)())
    }
}

#[derive(Serialize, Deserialize)]
pub(crate) struct Status;

impl Request for Status {
    type Reply = SessionStatus;

    const IS_USE: bool = false;

    fn is_change(&self) -> bool {
        false
    }

    fn execute(self, _: &[u8], context: &mut Context<'_>) -> Result<SessionStatus, FileError> {
        Ok(context.session.status()?)
    }
}

#[derive(Serialize, Deserialize)]
pub(crate) struct CompactionDue;

impl Request for CompactionDue {
    type Reply = bool;

    fn is_change(&self) -> bool {
        false
    }

    fn execute(self, _: &[u8], context: &mut Context<'_>) -> Result<bool, FileError> {
        Ok(context.session.compaction_due()?)
    }
}

#[derive(Serialize, Deserialize)]
pub(crate) struct Check;

impl Request for Check {
    type Reply = CheckReport;

    fn is_change(&self) -> bool {
        false
    }

    fn execute(self, _: &[u8], context: &mut Context<'_>) -> Result<CheckReport, FileError> {
        Ok(context.session.with_progress(&mut *context.progress).check()?)
    }
}

/// Keeps the versions, unlike [`Purge`].
#[derive(Serialize, Deserialize)]
pub(crate) struct Compact;

impl Request for Compact {
    type Reply = ();

    fn is_change(&self) -> bool {
        true
    }

    fn execute(self, _: &[u8], context: &mut Context<'_>) -> Result<(), FileError> {
        Ok(context.session.with_progress(&mut *context.progress).compact()?)
    }
}

#[derive(Serialize, Deserialize)]
pub(crate) struct Purge;

impl Request for Purge {
    type Reply = ();

    fn is_change(&self) -> bool {
        true
    }

    fn execute(self, _: &[u8], context: &mut Context<'_>) -> Result<(), FileError> {
        Ok(context.session.with_progress(&mut *context.progress).purge()?)
    }
}

#[derive(Serialize, Deserialize)]
pub(crate) struct Migrate {
    pub(crate) engine: StorageEngine,
}

impl Request for Migrate {
    type Reply = ();

    fn is_change(&self) -> bool {
        true
    }

    fn execute(self, _: &[u8], context: &mut Context<'_>) -> Result<(), FileError> {
        Ok(context.session.with_progress(&mut *context.progress).migrate(self.engine)?)
    }
}

#[derive(Serialize, Deserialize)]
pub(crate) struct ListSetAside;

impl Request for ListSetAside {
    type Reply = Vec<SetAside>;

    fn is_change(&self) -> bool {
        false
    }

    fn execute(self, _: &[u8], context: &mut Context<'_>) -> Result<Vec<SetAside>, FileError> {
        Ok(context.session.set_aside()?)
    }
}

#[derive(Serialize, Deserialize)]
pub(crate) struct DiscardSetAside {
    pub(crate) number: u64,
}

impl Request for DiscardSetAside {
    type Reply = ();

    fn is_change(&self) -> bool {
        true
    }

    fn execute(self, _: &[u8], context: &mut Context<'_>) -> Result<(), FileError> {
        Ok(context.session.discard_set_aside(self.number)?)
    }
}

/// The body is the absolute path of the copy.
#[derive(Serialize, Deserialize)]
pub(crate) struct Backup;

impl Request for Backup {
    type Reply = ();

    fn is_change(&self) -> bool {
        true
    }

    fn execute(self, body: &[u8], context: &mut Context<'_>) -> Result<(), FileError> {
        let place = wire_path::decode(body);
        Ok(context.session.with_progress(&mut *context.progress).backup(place)?)
    }
}

/// The body is the absolute path of the copy.
#[derive(Serialize, Deserialize)]
pub(crate) struct BackupVerified;

impl Request for BackupVerified {
    type Reply = VerifiedCopy;

    fn is_change(&self) -> bool {
        true
    }

    fn execute(self, body: &[u8], context: &mut Context<'_>) -> Result<VerifiedCopy, FileError> {
        let place = wire_path::decode(body);
        Ok(context.session.with_progress(&mut *context.progress).backup_verified(place)?)
    }
}

/// The body is the absolute path of the copy.
#[derive(Serialize, Deserialize)]
pub(crate) struct BackupWithVersions;

impl Request for BackupWithVersions {
    type Reply = VerifiedCopy;

    fn is_change(&self) -> bool {
        true
    }

    fn execute(self, body: &[u8], context: &mut Context<'_>) -> Result<VerifiedCopy, FileError> {
        let place = wire_path::decode(body);
        Ok(context.session.with_progress(&mut *context.progress).backup_with_versions(place)?)
    }
}
