//! What the objects of one store share: its session, or its connection to a key daemon.

use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock, TryLockError};

use inmost::{FreshnessMark, Session, StoreError};
use inmost_keyd::{Client, OpenStore};

/// A store that one or more objects use.
pub struct Shared(Store);

enum Store {
    /// Opened by this process, and its folder if it has one.
    Session(Session, Option<PathBuf>),
    /// Held by a key daemon.
    Daemon(Connection),
}

/// A connection to a key daemon, until it is closed.
struct Connection {
    /// `None` once closed.
    client: RwLock<Option<Client>>,
    /// A locked store, which replaces the connection once it is closed. It belongs to the process that connected, so a
    /// forked child gets the error for that.
    closed: Session,
    /// The process that connected.
    process: u32,
}

impl Shared {
    /// A store that this process opened, for the actor if one is given, and its folder if it has one.
    #[must_use]
    pub fn of_session(session: Session, folder: Option<PathBuf>, actor: Option<&str>) -> Self {
        let session = match actor {
            Some(actor) => session.acting_as(actor),
            None => session,
        };
        Self(Store::Session(session, folder))
    }

    /// A store that a key daemon holds.
    ///
    /// # Errors
    /// Those of [`Session::in_memory`].
    pub fn of_client(client: Client) -> Result<Self, StoreError> {
        let closed = Session::in_memory()?;
        closed.lock();
        let (client, process) = (RwLock::new(Some(client)), std::process::id());
        Ok(Self(Store::Daemon(Connection { client, closed, process })))
    }

    /// The folder of the store. A key daemon knows that of its own.
    #[must_use]
    pub fn folder(&self) -> Option<&Path> {
        match &self.0 {
            Store::Session(_, folder) => folder.as_deref(),
            Store::Daemon(_) => Some(Path::new("")),
        }
    }

    /// A handle for one call.
    #[must_use]
    pub fn handle(&self) -> OpenStore {
        match &self.0 {
            Store::Session(session, _) => OpenStore::Here(session.clone()),
            Store::Daemon(connection) => {
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
    #[must_use]
    pub fn is_locked_here(&self) -> bool {
        match self.handle() {
            OpenStore::Here(session) => session.is_locked(),
            OpenStore::Daemon(_) => false,
        }
    }

    /// How far the store has come, sealed.
    ///
    /// # Errors
    /// Those of [`Session::mark`]; [`StoreError::KeyDaemon`] for a store that a key daemon holds.
    pub fn mark(&self) -> Result<FreshnessMark, StoreError> {
        match self.handle() {
            OpenStore::Here(session) => session.mark(),
            OpenStore::Daemon(_) => Err(StoreError::KeyDaemon(NO_MARK.to_owned())),
        }
    }

    /// Ends the use of the store through this object: locks a session, and closes a connection. The key daemon goes on. In
    /// a forked child this does nothing.
    ///
    /// # Errors
    /// [`StoreError::FilesReplaced`]. The store is locked all the same.
    pub fn close(&self) -> Result<(), StoreError> {
        match &self.0 {
            Store::Session(session, _) => return OpenStore::Here(session.clone()).close(),
            Store::Daemon(connection) if connection.process != std::process::id() => {}
            Store::Daemon(connection) => {
                let mut client = connection.client.write().unwrap_or_else(PoisonError::into_inner);
                drop(client.take());
            }
        }
        Ok(())
    }
}

/// Why a store that a key daemon holds gives no mark.
const NO_MARK: &str =
    "A key daemon keeps the freshness of the store that it holds, and gives no mark of it.";
