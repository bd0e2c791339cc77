//! A store that a key daemon holds.

mod store;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use inmost::{
    BackupOptions, BackupReport, CheckReport, FileError, SessionStatus, SetAside, SlotInfo,
    StorageEngine, StoreError, ToolOptions, VerifiedCopy,
};

use crate::body;
use crate::connection::{ConnectOptions, Connection, connect, lock};
use crate::error::DaemonError;
use crate::facts::DaemonFacts;
use crate::request::Request;
use crate::requests::{
    AddSlot, Backup, BackupWithVersions, Check, ClientMessage, Compact, CompactionDue,
    DiscardSetAside, Facts, ListSetAside, Migrate, Purge, RemoveSlot, ReplaceSlot, Rotate, Slots,
    Status,
};
use crate::secret::{Secret, SlotOptions};

/// A store that a key daemon holds: a cheap handle that clones and threads share, as a [`Session`](inmost::Session) is.
///
/// Its calls go through one connection, one after the other; connect more clients for calls in parallel. A call from the
/// progress callback of the same client waits forever. After the daemon has locked the store, every call returns
/// [`StoreError::Locked`]; a change that was under way then returns [`StoreError::OutcomeUnknown`]. In a child that `fork`
/// makes, every call returns [`StoreError::Forked`]; the child can connect a client of its own.
#[derive(Clone)]
pub struct Client {
    shared: Arc<Shared>,
}

struct Shared {
    store: PathBuf,
    process: u32,
    /// The process that connected.
    owner: u32,
    connection: Mutex<Connection>,
}

impl ConnectOptions {
    /// Connects to the daemon that holds the store in this folder; `None` if no daemon does.
    ///
    /// # Errors
    /// If the daemon refuses this client or cannot be reached. If the options of tool calls have a
    /// [`screen`](inmost::ToolOptions::screen) without a name, which the daemon cannot run.
    pub fn connect(&self, store: impl AsRef<Path>) -> Result<Option<Client>, DaemonError> {
        if let Some(tool) = &self.hello.tool {
            check_screen(tool)?;
        }
        // Without a working folder, a relative path names no store.
        let Ok(absolute) = std::path::absolute(store.as_ref()) else { return Ok(None) };
        let connection = connect(store.as_ref(), self)?;
        Ok(connection.map(|(connection, process)| Client {
            shared: Arc::new(Shared {
                // Absolute: a program that changes its working folder must still lock this store, and no other.
                store: absolute,
                process,
                owner: std::process::id(),
                connection: Mutex::new(connection),
            }),
        }))
    }
}

impl Client {
    /// Connects to the daemon that holds the store in this folder; `None` if no daemon does.
    ///
    /// # Errors
    /// If the daemon refuses this client or cannot be reached.
    pub fn connect(store: impl AsRef<Path>) -> Result<Option<Self>, DaemonError> {
        ConnectOptions::new().connect(store)
    }

    /// The daemon's process.
    #[must_use]
    pub fn process(&self) -> u32 {
        self.shared.process
    }

    /// Asks the daemon to lock the store, and waits until its process has ended.
    ///
    /// # Errors
    /// As for [`lock`](crate::lock); [`StoreError::Forked`] in a forked child.
    pub fn lock(&self) -> Result<(), DaemonError> {
        if self.is_forked() {
            return Err(StoreError::Forked.into());
        }
        lock(&self.shared.store).map(drop)
    }

    /// The facts that the daemon reports about itself. Does not keep the store unlocked.
    ///
    /// # Errors
    /// [`StoreError::Locked`], [`StoreError::KeyDaemon`].
    pub fn daemon(&self) -> Result<DaemonFacts, StoreError> {
        self.ask(Facts {})
    }

    /// As [`Session::status`](inmost::Session::status). Does not keep the store unlocked.
    ///
    /// # Errors
    /// The same as there, and [`StoreError::KeyDaemon`].
    pub fn status(&self) -> Result<SessionStatus, StoreError> {
        self.ask(Status {})
    }

    /// As [`Session::compaction_due`](inmost::Session::compaction_due).
    ///
    /// # Errors
    /// The same as there, and [`StoreError::KeyDaemon`].
    pub fn compaction_due(&self) -> Result<bool, StoreError> {
        self.ask(CompactionDue {})
    }

    /// As [`Session::check`](inmost::Session::check); `progress` gets the number of records read so far.
    ///
    /// # Errors
    /// The same as there, and [`StoreError::KeyDaemon`].
    pub fn check(&self, mut progress: impl FnMut(u64)) -> Result<CheckReport, StoreError> {
        self.call(Check {}, &[], &mut progress)
    }

    /// As [`Session::purge`](inmost::Session::purge); `progress` gets the number of records written so far.
    ///
    /// # Errors
    /// The same as there, [`StoreError::OutcomeUnknown`] and [`StoreError::KeyDaemon`].
    pub fn purge(&self, mut progress: impl FnMut(u64)) -> Result<(), StoreError> {
        self.call(Purge {}, &[], &mut progress)
    }

    /// As [`Session::compact`](inmost::Session::compact); `progress` gets the number of records written so far.
    ///
    /// # Errors
    /// The same as there, [`StoreError::OutcomeUnknown`] and [`StoreError::KeyDaemon`].
    pub fn compact(&self, mut progress: impl FnMut(u64)) -> Result<(), StoreError> {
        self.call(Compact {}, &[], &mut progress)
    }

    /// As [`Session::migrate`](inmost::Session::migrate); `progress` gets the number of records written so far.
    ///
    /// # Errors
    /// The same as there, [`StoreError::OutcomeUnknown`] and [`StoreError::KeyDaemon`].
    pub fn migrate(
        &self,
        engine: StorageEngine,
        mut progress: impl FnMut(u64),
    ) -> Result<(), StoreError> {
        self.call(Migrate { engine }, &[], &mut progress)
    }

    /// As [`Session::backup_into`](inmost::Session::backup_into).
    ///
    /// # Errors
    /// The same as there, [`StoreError::OutcomeUnknown`] and [`StoreError::KeyDaemon`].
    pub fn backup_into(
        &self,
        folder: impl AsRef<Path>,
        options: &BackupOptions,
        mut progress: impl FnMut(u64),
    ) -> Result<BackupReport, StoreError> {
        let folder = body::encode_path(folder.as_ref())?;
        self.call(Backup { options: *options }, &folder, &mut progress)
    }

    /// As [`Session::backup_with_versions`](inmost::Session::backup_with_versions); `progress` gets the number of records
    /// written, then the number read.
    ///
    /// # Errors
    /// The same as there, [`StoreError::OutcomeUnknown`] and [`StoreError::KeyDaemon`].
    pub fn backup_with_versions(
        &self,
        path: impl AsRef<Path>,
        mut progress: impl FnMut(u64),
    ) -> Result<VerifiedCopy, StoreError> {
        let path = body::encode_path(path.as_ref())?;
        self.call(BackupWithVersions {}, &path, &mut progress)
    }

    /// As [`Session::set_aside`](inmost::Session::set_aside).
    ///
    /// # Errors
    /// The same as there, and [`StoreError::KeyDaemon`].
    pub fn set_aside(&self) -> Result<Vec<SetAside>, StoreError> {
        self.ask(ListSetAside {})
    }

    /// As [`Session::discard_set_aside`](inmost::Session::discard_set_aside).
    ///
    /// # Errors
    /// The same as there, [`StoreError::OutcomeUnknown`] and [`StoreError::KeyDaemon`].
    pub fn discard_set_aside(&self, number: u64) -> Result<(), StoreError> {
        self.ask(DiscardSetAside { number })
    }

    /// As [`Session::slots`](inmost::Session::slots); the current keyslot is the one that the daemon used.
    ///
    /// # Errors
    /// The same as there, and [`StoreError::KeyDaemon`].
    pub fn slots(&self) -> Result<Vec<SlotInfo>, StoreError> {
        self.ask(Slots {})
    }

    /// As [`Session::add_slot`](inmost::Session::add_slot).
    ///
    /// # Errors
    /// The same as there, [`StoreError::OutcomeUnknown`] and [`StoreError::KeyDaemon`].
    pub fn add_slot(&self, secret: &Secret, options: SlotOptions) -> Result<u8, StoreError> {
        let request = AddSlot { kind: secret.kind(), options };
        self.call(request, secret.to_bytes().as_slice(), &mut |_| {})
    }

    /// As [`Session::replace_slot`](inmost::Session::replace_slot).
    ///
    /// # Errors
    /// The same as there, [`StoreError::OutcomeUnknown`] and [`StoreError::KeyDaemon`].
    pub fn replace_slot(
        &self,
        number: u8,
        secret: &Secret,
        options: SlotOptions,
    ) -> Result<(), StoreError> {
        let request = ReplaceSlot { number, kind: secret.kind(), options };
        self.call(request, secret.to_bytes().as_slice(), &mut |_| {})
    }

    /// As [`Session::remove_slot`](inmost::Session::remove_slot).
    ///
    /// # Errors
    /// The same as there, [`StoreError::OutcomeUnknown`] and [`StoreError::KeyDaemon`].
    pub fn remove_slot(&self, number: u8) -> Result<(), StoreError> {
        self.ask(RemoveSlot { number })
    }

    /// As [`Session::rotate`](inmost::Session::rotate); `progress` gets the number of records written so far.
    ///
    /// # Errors
    /// The same as there, [`StoreError::OutcomeUnknown`] and [`StoreError::KeyDaemon`].
    pub fn rotate(
        &self,
        keep: &Secret,
        mut progress: impl FnMut(u64),
    ) -> Result<Vec<SlotInfo>, StoreError> {
        let request = Rotate { keep: keep.kind() };
        self.call(request, keep.to_bytes().as_slice(), &mut progress)
    }

    pub(crate) fn ask<R: Request + Into<ClientMessage>>(
        &self,
        request: R,
    ) -> Result<R::Reply, StoreError> {
        self.call(request, &[], &mut |_| {})
    }

    pub(crate) fn call<R: Request + Into<ClientMessage>>(
        &self,
        request: R,
        body: &[u8],
        progress: &mut dyn FnMut(u64),
    ) -> Result<R::Reply, StoreError> {
        self.connection()?.call(request, body, progress).map_err(|error| match error {
            FileError::Store(error) => error,
            error => StoreError::KeyDaemon(error.to_string()),
        })
    }

    /// Whether another process made this client.
    fn is_forked(&self) -> bool {
        self.shared.owner != std::process::id()
    }

    /// Ignores a poisoned lock: the connection itself detects that a request was interrupted.
    ///
    /// # Errors
    /// [`StoreError::Forked`]: the requests of a forked child and of its parent would mix on the one connection, and
    /// another thread of the parent may have held the lock.
    fn connection(&self) -> Result<MutexGuard<'_, Connection>, StoreError> {
        if self.is_forked() {
            return Err(StoreError::Forked);
        }
        Ok(self.shared.connection.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A screen of the application is code of its process. Without it, the daemon would save what it refuses.
fn check_screen(tool: &ToolOptions) -> Result<(), StoreError> {
    if tool.has_unnamed_screen() {
        let what = "The key daemon cannot run a screen of the application.";
        return Err(StoreError::KeyDaemon(what.to_owned()));
    }
    Ok(())
}
