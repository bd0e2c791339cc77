//! Stores that are named by a URL, in builds with and without the engine for it.

use super::{Vault, VaultOptions};
use crate::session::commit::handle::Session;
use crate::session::error::StoreError;
use inmost_format::header::Credential;

impl VaultOptions {
    /// Whether this text is the URL of a vault in a `PostgreSQL` database, and not a path. Does no I/O.
    #[must_use]
    pub fn is_url(text: &str) -> bool {
        text.starts_with("postgres://") || text.starts_with("postgresql://")
    }

    /// Opens the vault that a URL names: `postgres://USER@HOST/DATABASE?vault=ID`. The password of the database comes from
    /// where `PostgreSQL`'s own programs take it: `PGPASSWORD`, `PGPASSFILE`, `~/.pgpass`. An application that opens many
    /// vaults shares their connections with `open_in`.
    ///
    /// # Errors
    /// Those of [`open`](VaultOptions::open); [`StoreError::Unavailable`], also for a URL that is not valid or contains a
    /// password; [`StoreError::EngineNotBuilt`] in builds without the feature `postgres`.
    pub fn open_url(&self, url: &str) -> Result<Vault, StoreError> {
        #[cfg(feature = "postgres")]
        {
            let (database, id) = super::database::locate(url)?;
            self.open_in(&database, id)
        }
        #[cfg(not(feature = "postgres"))]
        {
            let _ = url;
            Err(StoreError::EngineNotBuilt)
        }
    }

    /// Creates the vault that a URL names; see [`open_url`](VaultOptions::open_url).
    ///
    /// # Errors
    /// Those of [`create`](VaultOptions::create) and [`open_url`](VaultOptions::open_url).
    pub fn create_url<'a>(
        &self,
        url: &str,
        credential: impl Into<Credential<'a>>,
    ) -> Result<Session, StoreError> {
        #[cfg(feature = "postgres")]
        {
            let (database, id) = super::database::locate(url)?;
            self.create_in(&database, id, credential)
        }
        #[cfg(not(feature = "postgres"))]
        {
            let _ = (url, credential.into());
            Err(StoreError::EngineNotBuilt)
        }
    }
}
