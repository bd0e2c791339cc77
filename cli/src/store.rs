//! The open store that a command works on: a session of this process, or a client of the key agent.

pub(crate) mod naming;
pub(crate) mod no_store;
pub(crate) mod opening;
pub(crate) mod place;
pub(crate) mod restrictions;
pub(crate) mod unlocking;

use std::path::Path;

use inmost::{
    Expiry, ExpiryStore, FileError, FileText, Files, History, HistoryStore, MemoryTool, Session,
    SessionStatus, SetAside, SlotInfo, StorageEngine, StoreError, UnlockedStore, VerifiedCopy,
};
use inmost_agent::{AgentFacts, Client, Secret, SlotOptions};

use self::restrictions::Restrictions;
use crate::exit::Failure;

/// An unlocked store. It behaves the same whether this process or the key agent holds it.
pub(crate) enum OpenStore {
    Here(Session),
    Agent(Client),
}

impl OpenStore {
    /// The operations of the store, in pages where they are long.
    pub(crate) fn unlocked(&self) -> &dyn UnlockedStore {
        match self {
            Self::Here(session) => session,
            Self::Agent(client) => client,
        }
    }

    /// The files of the store.
    pub(crate) fn files(&self) -> Files<'_> {
        Files::new(self.unlocked())
    }

    /// The history of the store.
    pub(crate) fn history(&self) -> History<'_> {
        let store: &dyn HistoryStore = match self {
            Self::Here(session) => session,
            Self::Agent(client) => client,
        };
        History::new(store)
    }

    /// The expiry of unused files.
    pub(crate) fn expiry(&self) -> Expiry<'_> {
        let store: &dyn ExpiryStore = match self {
            Self::Here(session) => session,
            Self::Agent(client) => client,
        };
        Expiry::new(store)
    }

    /// The memory tool on the store.
    pub(crate) fn tool(&self, restrictions: &Restrictions) -> Result<MemoryTool, Failure> {
        match self {
            Self::Here(session) => restrictions.tool(session.clone()),
            Self::Agent(client) => restrictions.tool(client.clone()),
        }
    }

    /// The text of a file; `None` if there is no file at the path.
    pub(crate) fn find(&self, path: &str) -> Result<Option<FileText>, FileError> {
        match self.files().read(path) {
            Ok(text) => Ok(Some(text)),
            Err(FileError::NotFound | FileError::IsAFolder(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The state of the key agent, if one holds the store.
    pub(crate) fn agent(&self) -> Result<Option<AgentFacts>, StoreError> {
        match self {
            Self::Here(_) => Ok(None),
            Self::Agent(client) => client.agent().map(Some),
        }
    }

    pub(crate) fn status(&self) -> Result<SessionStatus, StoreError> {
        match self {
            Self::Here(session) => session.status(),
            Self::Agent(client) => client.status(),
        }
    }

    pub(crate) fn compaction_due(&self) -> Result<bool, StoreError> {
        match self {
            Self::Here(session) => session.compaction_due(),
            Self::Agent(client) => client.compaction_due(),
        }
    }

    pub(crate) fn purge(&self, progress: impl FnMut(u64)) -> Result<(), StoreError> {
        match self {
            Self::Here(session) => session.with_progress(progress).purge(),
            Self::Agent(client) => client.purge(progress),
        }
    }

    /// As [`purge`](Self::purge), with the versions that the history keeps.
    pub(crate) fn compact(&self, progress: impl FnMut(u64)) -> Result<(), StoreError> {
        match self {
            Self::Here(session) => session.with_progress(progress).compact(),
            Self::Agent(client) => client.compact(progress),
        }
    }

    pub(crate) fn migrate(
        &self,
        engine: StorageEngine,
        progress: impl FnMut(u64),
    ) -> Result<(), StoreError> {
        match self {
            Self::Here(session) => session.with_progress(progress).migrate(engine),
            Self::Agent(client) => client.migrate(engine, progress),
        }
    }

    pub(crate) fn backup(&self, to: &Path, progress: impl FnMut(u64)) -> Result<(), StoreError> {
        match self {
            Self::Here(session) => session.with_progress(progress).backup(to),
            Self::Agent(client) => client.backup(to, progress),
        }
    }

    pub(crate) fn backup_verified(
        &self,
        to: &Path,
        progress: impl FnMut(u64),
    ) -> Result<VerifiedCopy, StoreError> {
        match self {
            Self::Here(session) => session.with_progress(progress).backup_verified(to),
            Self::Agent(client) => client.backup_verified(to, progress),
        }
    }

    pub(crate) fn backup_with_versions(
        &self,
        to: &Path,
        progress: impl FnMut(u64),
    ) -> Result<VerifiedCopy, StoreError> {
        match self {
            Self::Here(session) => session.with_progress(progress).backup_with_versions(to),
            Self::Agent(client) => client.backup_with_versions(to, progress),
        }
    }

    pub(crate) fn set_aside(&self) -> Result<Vec<SetAside>, StoreError> {
        match self {
            Self::Here(session) => session.set_aside(),
            Self::Agent(client) => client.set_aside(),
        }
    }

    pub(crate) fn discard_set_aside(&self, number: u64) -> Result<(), StoreError> {
        match self {
            Self::Here(session) => session.discard_set_aside(number),
            Self::Agent(client) => client.discard_set_aside(number),
        }
    }

    pub(crate) fn slots(&self) -> Result<Vec<SlotInfo>, StoreError> {
        match self {
            Self::Here(session) => session.slots(),
            Self::Agent(client) => client.slots(),
        }
    }

    /// Adds a keyslot for a credential, and returns its number.
    pub(crate) fn add_slot(&self, secret: &Secret, options: SlotOptions) -> Result<u8, StoreError> {
        match self {
            Self::Here(session) => session.add_slot(&options.slot(secret)),
            Self::Agent(client) => client.add_slot(secret, options),
        }
    }

    pub(crate) fn replace_slot(
        &self,
        number: u8,
        secret: &Secret,
        options: SlotOptions,
    ) -> Result<(), StoreError> {
        match self {
            Self::Here(session) => session.replace_slot(number, &options.slot(secret)),
            Self::Agent(client) => client.replace_slot(number, secret, options),
        }
    }

    pub(crate) fn remove_slot(&self, number: u8) -> Result<(), StoreError> {
        match self {
            Self::Here(session) => session.remove_slot(number),
            Self::Agent(client) => client.remove_slot(number),
        }
    }

    /// Replaces every key, and returns the dropped keyslots.
    pub(crate) fn rotate(
        &self,
        keep: &Secret,
        progress: impl FnMut(u64),
    ) -> Result<Vec<SlotInfo>, StoreError> {
        match self {
            Self::Here(session) => session.with_progress(progress).rotate(keep.credential()),
            Self::Agent(client) => client.rotate(keep, progress),
        }
    }

    /// Wipes the keys if this process holds the store. A key agent keeps the store unlocked.
    pub(crate) fn close(&self) {
        if let Self::Here(session) = self {
            session.lock();
        }
    }
}
