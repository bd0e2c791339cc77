//! An unlocked store, held by this process or by a key daemon.

use std::path::Path;

use inmost::{
    BackupOptions, BackupReport, CheckReport, Expiry, ExpiryStore, Files, History, HistoryStore,
    MemoryTool, Session, SessionStatus, SetAside, SlotInfo, StorageEngine, StoreError, ToolOptions,
    UnlockedStore, VerifiedCopy,
};

use crate::circle::OpenSync;
use crate::client::Client;
use crate::error::DaemonError;
use crate::facts::DaemonFacts;
use crate::secret::{Secret, SlotOptions};

/// An unlocked store that this process holds, or a key daemon: for programs that work the same on either. A cheap handle that
/// clones and threads share.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use inmost_keyd::OpenStore;
///
/// let store = OpenStore::from(inmost::Session::in_memory()?);
/// store.files().write("/memories/tea.md", "Green.\n")?;
/// assert_eq!(store.status()?.files, 1);
/// store.close()?;
/// assert!(store.is_locked()?);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
#[allow(clippy::exhaustive_enums, reason = "there is no third place for a session")]
pub enum OpenStore {
    /// This process holds it.
    Here(Session),
    /// A key daemon holds it.
    Daemon(Client),
}

/// Does the same with the session or with the client.
macro_rules! either {
    ($store:expr, $it:ident => $what:expr) => {
        match $store {
            OpenStore::Here($it) => $what,
            OpenStore::Daemon($it) => $what,
        }
    };
}

impl OpenStore {
    /// The operations of the store, in pages where they are long.
    #[must_use]
    pub fn unlocked(&self) -> &dyn UnlockedStore {
        either!(self, it => it)
    }

    /// The operations on its history, in pages where they are long.
    #[must_use]
    pub fn versions(&self) -> &dyn HistoryStore {
        either!(self, it => it)
    }

    /// The files of the store.
    #[must_use]
    pub fn files(&self) -> Files<'_> {
        Files::new(self.unlocked())
    }

    /// The history of the store.
    #[must_use]
    pub fn history(&self) -> History<'_> {
        History::new(self.versions())
    }

    /// The expiry of unused files.
    #[must_use]
    pub fn expiry(&self) -> Expiry<'_> {
        let store: &dyn ExpiryStore = either!(self, it => it);
        Expiry::new(store)
    }

    /// Its part in a circle of devices; `folder` is the folder of the store.
    pub fn sync<'s>(&'s self, folder: &'s Path) -> OpenSync<'s> {
        OpenSync { store: self, folder }
    }

    /// A memory tool on the store.
    #[must_use]
    pub fn tool(&self, options: ToolOptions) -> MemoryTool {
        either!(self, it => MemoryTool::with_options(it.clone(), options))
    }

    /// Counts and sizes.
    ///
    /// # Errors
    /// Those of [`Session::status`] and [`Client::status`].
    pub fn status(&self) -> Result<SessionStatus, StoreError> {
        either!(self, it => it.status())
    }

    /// Whether the store is locked, has halted, or is not usable in this process, which a fork made.
    ///
    /// # Errors
    /// [`StoreError::KeyDaemon`] if the key daemon does not say.
    pub fn is_locked(&self) -> Result<bool, StoreError> {
        match self {
            Self::Here(session) => Ok(session.is_locked()),
            Self::Daemon(client) => match client.status() {
                Ok(_) => Ok(false),
                Err(
                    StoreError::Locked
                    | StoreError::Halted
                    | StoreError::FilesReplaced(_)
                    | StoreError::Forked,
                ) => Ok(true),
                Err(error) => Err(error),
            },
        }
    }

    /// The state of the key daemon, if one holds the store.
    ///
    /// # Errors
    /// Those of [`Client::daemon`].
    pub fn daemon(&self) -> Result<Option<DaemonFacts>, StoreError> {
        match self {
            Self::Here(_) => Ok(None),
            Self::Daemon(client) => client.daemon().map(Some),
        }
    }

    /// As [`Session::compaction_due`].
    ///
    /// # Errors
    /// Those of [`Session::compaction_due`] and [`Client::compaction_due`].
    pub fn compaction_due(&self) -> Result<bool, StoreError> {
        either!(self, it => it.compaction_due())
    }

    /// As [`Session::check`]; `progress` gets the number of records.
    ///
    /// # Errors
    /// Those of [`Session::check`] and [`Client::check`].
    pub fn check(&self, mut progress: impl FnMut(u64)) -> Result<CheckReport, StoreError> {
        match self {
            Self::Here(session) => session.check_reporting(&mut progress),
            Self::Daemon(client) => client.check(progress),
        }
    }

    /// As [`Session::purge`]; `progress` gets the number of records.
    ///
    /// # Errors
    /// Those of [`Session::purge`] and [`Client::purge`].
    pub fn purge(&self, mut progress: impl FnMut(u64)) -> Result<(), StoreError> {
        match self {
            Self::Here(session) => session.purge_reporting(&mut progress),
            Self::Daemon(client) => client.purge(progress),
        }
    }

    /// As [`Session::compact`]; `progress` gets the number of records.
    ///
    /// # Errors
    /// Those of [`Session::compact`] and [`Client::compact`].
    pub fn compact(&self, mut progress: impl FnMut(u64)) -> Result<(), StoreError> {
        match self {
            Self::Here(session) => session.compact_reporting(&mut progress),
            Self::Daemon(client) => client.compact(progress),
        }
    }

    /// As [`Session::migrate`]; `progress` gets the number of records.
    ///
    /// # Errors
    /// Those of [`Session::migrate`] and [`Client::migrate`].
    pub fn migrate(
        &self,
        engine: StorageEngine,
        mut progress: impl FnMut(u64),
    ) -> Result<(), StoreError> {
        match self {
            Self::Here(session) => session.migrate_reporting(engine, &mut progress),
            Self::Daemon(client) => client.migrate(engine, progress),
        }
    }

    /// As [`Session::backup_into`].
    ///
    /// # Errors
    /// Those of [`Session::backup_into`] and [`Client::backup_into`].
    pub fn backup_into(
        &self,
        folder: &Path,
        options: &BackupOptions,
        mut progress: impl FnMut(u64),
    ) -> Result<BackupReport, StoreError> {
        match self {
            Self::Here(session) => session.backup_into(folder, options, &mut progress),
            Self::Daemon(client) => client.backup_into(folder, options, progress),
        }
    }

    /// As [`Session::backup_with_versions`]; `progress` gets the number of records.
    ///
    /// # Errors
    /// Those of [`Session::backup_with_versions`] and [`Client::backup_with_versions`].
    pub fn backup_with_versions(
        &self,
        to: &Path,
        mut progress: impl FnMut(u64),
    ) -> Result<VerifiedCopy, StoreError> {
        match self {
            Self::Here(session) => session.backup_with_versions_reporting(to, &mut progress),
            Self::Daemon(client) => client.backup_with_versions(to, progress),
        }
    }

    /// As [`Session::set_aside`].
    ///
    /// # Errors
    /// Those of [`Session::set_aside`] and [`Client::set_aside`].
    pub fn set_aside(&self) -> Result<Vec<SetAside>, StoreError> {
        either!(self, it => it.set_aside())
    }

    /// As [`Session::discard_set_aside`].
    ///
    /// # Errors
    /// Those of [`Session::discard_set_aside`] and [`Client::discard_set_aside`].
    pub fn discard_set_aside(&self, number: u64) -> Result<(), StoreError> {
        either!(self, it => it.discard_set_aside(number))
    }

    /// As [`Session::slots`].
    ///
    /// # Errors
    /// Those of [`Session::slots`] and [`Client::slots`].
    pub fn slots(&self) -> Result<Vec<SlotInfo>, StoreError> {
        either!(self, it => it.slots())
    }

    /// As [`Session::add_slot`].
    ///
    /// # Errors
    /// Those of [`Session::add_slot`] and [`Client::add_slot`].
    pub fn add_slot(&self, secret: &Secret, options: SlotOptions) -> Result<u8, StoreError> {
        match self {
            Self::Here(session) => session.add_slot(&options.slot(secret)),
            Self::Daemon(client) => client.add_slot(secret, options),
        }
    }

    /// As [`Session::replace_slot`].
    ///
    /// # Errors
    /// Those of [`Session::replace_slot`] and [`Client::replace_slot`].
    pub fn replace_slot(
        &self,
        number: u8,
        secret: &Secret,
        options: SlotOptions,
    ) -> Result<(), StoreError> {
        match self {
            Self::Here(session) => session.replace_slot(number, &options.slot(secret)),
            Self::Daemon(client) => client.replace_slot(number, secret, options),
        }
    }

    /// As [`Session::remove_slot`].
    ///
    /// # Errors
    /// Those of [`Session::remove_slot`] and [`Client::remove_slot`].
    pub fn remove_slot(&self, number: u8) -> Result<(), StoreError> {
        either!(self, it => it.remove_slot(number))
    }

    /// As [`Session::rotate`]; `progress` gets the number of records.
    ///
    /// # Errors
    /// Those of [`Session::rotate`] and [`Client::rotate`].
    pub fn rotate(
        &self,
        keep: &Secret,
        mut progress: impl FnMut(u64),
    ) -> Result<Vec<SlotInfo>, StoreError> {
        match self {
            Self::Here(session) => session.rotate_reporting(keep.credential(), &mut progress),
            Self::Daemon(client) => client.rotate(keep, progress),
        }
    }

    /// Locks the store. A key daemon locks it for all programs, and its process ends. In a forked child this does nothing.
    ///
    /// # Errors
    /// Those of [`Session::lock_checking_files`] but `Forked`, and of [`Client::lock`].
    pub fn lock(&self) -> Result<(), DaemonError> {
        match self {
            Self::Here(session) => match session.lock_checking_files() {
                Err(StoreError::Forked) => {}
                locked => locked?,
            },
            Self::Daemon(client) => match client.lock() {
                Err(DaemonError::Store(StoreError::Forked)) => {}
                locked => return locked,
            },
        }
        Ok(())
    }

    /// Locks a store that this process holds. A key daemon keeps it unlocked. In a forked child this does nothing.
    ///
    /// # Errors
    /// Those of [`Session::lock_checking_files`] but `Forked`. The store is locked all the same.
    pub fn close(&self) -> Result<(), StoreError> {
        match self {
            Self::Here(session) => match session.lock_checking_files() {
                Err(StoreError::Forked) => Ok(()),
                locked => locked,
            },
            Self::Daemon(_) => Ok(()),
        }
    }
}

impl From<Session> for OpenStore {
    fn from(session: Session) -> Self {
        Self::Here(session)
    }
}

impl From<Client> for OpenStore {
    fn from(client: Client) -> Self {
        Self::Daemon(client)
    }
}
