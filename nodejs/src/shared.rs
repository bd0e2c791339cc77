//! What the objects of one store share: its session, or its connection to a key daemon.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use inmost::{Session, StoreError};
use inmost_keyd::{Client, OpenStore};

/// A store that one or more objects use.
pub(crate) enum Shared {
    /// Opened by this process, with its folder unless it is in memory or in a database.
    Session(Session, Option<PathBuf>),
    /// Held by a key daemon.
    Daemon(Connection),
}

/// A connection to a key daemon, until it is closed.
pub(crate) struct Connection {
    /// `None` once closed.
    client: RwLock<Option<Client>>,
    /// A locked store, which replaces the connection once it is closed.
    closed: Session,
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
        Ok(Arc::new(Self::Daemon(Connection { client: RwLock::new(Some(client)), closed })))
    }

    /// A handle for one call.
    pub(crate) fn handle(&self) -> OpenStore {
        match self {
            Self::Session(session, _) => OpenStore::Here(session.clone()),
            Self::Daemon(connection) => {
                let client = connection.client.read().unwrap_or_else(PoisonError::into_inner);
                client
                    .clone()
                    .map_or_else(|| OpenStore::Here(connection.closed.clone()), OpenStore::Daemon)
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

    /// Ends the use of the store through this object: locks a session, and closes a connection. The key daemon goes on.
    ///
    /// # Errors
    /// [`StoreError::FilesReplaced`]. The store is locked all the same.
    pub(crate) fn close(&self) -> Result<(), StoreError> {
        match self {
            Self::Session(session, _) => return OpenStore::Here(session.clone()).close(),
            Self::Daemon(connection) => {
                let mut client = connection.client.write().unwrap_or_else(PoisonError::into_inner);
                drop(client.take());
            }
        }
        Ok(())
    }
}
