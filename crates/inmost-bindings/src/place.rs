//! Where a store is.

use std::io;
use std::path::PathBuf;

use inmost::{Postgres, Session, StoreError, VaultId, VaultOptions};
use inmost_keyd::{OpenStore, Secret};

/// A folder, a URL, or a vault of a pool.
pub enum Place {
    /// A folder.
    Folder(PathBuf),
    /// The URL of a vault in a database.
    Url(String),
    /// A vault of a pool.
    Vault(Postgres, VaultId),
}

impl Place {
    /// Creates a store here.
    ///
    /// # Errors
    /// Those of [`VaultOptions::create_with`], [`VaultOptions::create_url`] and [`VaultOptions::create_in`].
    pub fn create(&self, options: &VaultOptions, secret: &Secret) -> Result<Session, StoreError> {
        match self {
            Self::Folder(path) => options.create_with(path, secret.credential()),
            Self::Url(url) => options.create_url(url, secret.credential()),
            Self::Vault(database, id) => options.create_in(database, *id, secret.credential()),
        }
    }

    /// Unlocks the store here.
    ///
    /// # Errors
    /// Those of [`VaultOptions::open`] and [`inmost::Vault::unlock_with`].
    pub fn open(
        &self,
        options: &VaultOptions,
        secret: &Secret,
        accepts_rollback: bool,
    ) -> Result<Session, StoreError> {
        let mut vault = match self {
            Self::Folder(path) => options.open(path)?,
            Self::Url(url) => options.open_url(url)?,
            Self::Vault(database, id) => options.open_in(database, *id)?,
        };
        if accepts_rollback {
            vault.unlock_accepting_rollback(secret.credential())
        } else {
            vault.unlock_with(secret.credential())
        }
    }

    /// The absolute path of a folder: a program may change its working folder later.
    ///
    /// # Errors
    /// Those of [`std::path::absolute`].
    pub fn folder(&self) -> io::Result<Option<PathBuf>> {
        match self {
            Self::Folder(path) => std::path::absolute(path).map(Some),
            Self::Url(_) | Self::Vault(..) => Ok(None),
        }
    }

    /// Copies a store, with its versions, to this place, and reads the copy back.
    ///
    /// # Errors
    /// Those of a backup; [`StoreError::KeyDaemon`] for a copy into a database of a store that a key daemon holds.
    pub fn fill(&self, store: &OpenStore, progress: &mut dyn FnMut(u64)) -> Result<(), StoreError> {
        match (self, store) {
            (Self::Folder(path), store) => store.backup_with_versions(path, progress).map(drop),
            (Self::Url(url), OpenStore::Here(session)) => session.copy_to_url(url, progress),
            (Self::Vault(database, id), OpenStore::Here(session)) => {
                session.copy_in(database, *id, progress)
            }
            (_, OpenStore::Daemon(_)) => Err(StoreError::KeyDaemon(NO_COPY.to_owned())),
        }
    }
}

/// Why a store that a key daemon holds is not copied into a database.
const NO_COPY: &str = "A key daemon cannot copy the store that it holds into a database.";
