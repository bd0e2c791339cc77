//! What the objects of one store share: its session, or its connection to a key daemon.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock, TryLockError};

use inmost::{FileError, Session, StoreError};
use inmost_keyd::{Client, DaemonError, OpenStore};
use pyo3::prelude::*;

use crate::errors;

/// A store that one or more Python objects use.
pub(crate) enum Shared {
    /// Opened by this process, and its folder if it has one.
    Session(Session, Option<PathBuf>),
    /// Held by a key daemon.
    Daemon(Connection),
}

/// A connection to a key daemon, until it is closed.
pub(crate) struct Connection {
    /// `None` once closed.
    client: RwLock<Option<Client>>,
    /// A locked store, which replaces the connection once it is closed. It belongs to the process that connected, so a
    /// forked child gets the error for that.
    closed: Session,
    /// The process that connected.
    process: u32,
}

impl Shared {
    pub(crate) fn of_session(session: Session, folder: Option<PathBuf>) -> Arc<Self> {
        Arc::new(Self::Session(session, folder))
    }

    /// The folder of the store. A key daemon knows that of its own.
    pub(crate) fn folder(&self) -> Option<&Path> {
        match self {
            Self::Session(_, folder) => folder.as_deref(),
            Self::Daemon(_) => Some(Path::new("")),
        }
    }

    pub(crate) fn of_client(client: Client) -> Result<Arc<Self>, StoreError> {
        let closed = Session::in_memory()?;
        closed.lock();
        let (client, process) = (RwLock::new(Some(client)), std::process::id());
        Ok(Arc::new(Self::Daemon(Connection { client, closed, process })))
    }

    /// A handle for one call.
    pub(crate) fn handle(&self) -> OpenStore {
        match self {
            Self::Session(session, _) => OpenStore::Here(session.clone()),
            Self::Daemon(connection) => {
                let client = match connection.client.try_read() {
                    Ok(client) => client.clone(),
                    Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner().clone(),
                    // It is being closed. In a forked child, no thread would ever release the lock.
                    Err(TryLockError::WouldBlock) => None,
                };
                client.map_or_else(|| OpenStore::Here(connection.closed.clone()), OpenStore::Daemon)
            }
        }
    }

    /// Whether this process has locked the store, or closed its connection. Asks nobody, so it is cheap enough for each row.
    pub(crate) fn is_locked_here(&self) -> bool {
        match self.handle() {
            OpenStore::Here(session) => session.is_locked(),
            OpenStore::Daemon(_) => false,
        }
    }

    /// Ends the use of the store through this object: locks a session, and closes a connection. The key daemon goes on. In
    /// a forked child this does nothing.
    ///
    /// # Errors
    /// [`StoreError::FilesReplaced`]. The store is locked all the same.
    pub(crate) fn close(&self) -> Result<(), StoreError> {
        match self {
            Self::Session(session, _) => return OpenStore::Here(session.clone()).close(),
            Self::Daemon(connection) if connection.process != std::process::id() => {}
            Self::Daemon(connection) => {
                let mut client = connection.client.write().unwrap_or_else(PoisonError::into_inner);
                drop(client.take());
            }
        }
        Ok(())
    }

    /// Locks the store; a key daemon locks it for all programs. In a forked child this does nothing.
    pub(crate) fn lock(&self) -> Result<(), DaemonError> {
        self.handle().lock()
    }

    /// Runs `work` on the store, without the lock of the interpreter.
    pub(crate) fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&OpenStore) -> Result<T, FileError> + Send,
    ) -> PyResult<T> {
        self.refuse_in_progress()?;
        py.detach(|| work(&self.handle())).map_err(|error| errors::of_file(py, error))
    }
}
