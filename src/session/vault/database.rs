//! Stores in a `PostgreSQL` database, which several hosts may use at once.

use std::fmt;
use std::sync::Arc;

use super::{Vault, VaultOptions, occupied};
use crate::session::commit::handle::Session;
use crate::session::error::StoreError;
use inmost_format::crypto::rng;
use inmost_format::header::Credential;
use inmost_postgres::{PostgresConfig, PostgresStorage, PostgresUrl, Server, ServerFacts, VaultId};
use inmost_storage::EngineKind;

/// A `PostgreSQL` database with vaults, and the pool of connections to it. Clones share the pool: a process needs one for all
/// of its vaults. Its tables are made once, by their owner, from the text of [`PostgresSchema`](crate::PostgresSchema).
///
/// The server sees ciphertext only, but also when a vault is used and from where, and which records change together. It can
/// withhold and destroy what it stores, and return to an older state. [`VaultOptions::freshness_anchor`] detects that.
///
/// ```no_run
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use inmost::{Passphrase, Postgres, PostgresConfig, PostgresUrl, VaultOptions};
///
/// let url = PostgresUrl::parse("postgres://inmost_app@db.example/memories")?;
/// let database = Postgres::new(PostgresConfig::new(&url).password_from_environment()?)?;
/// let passphrase = Passphrase::new("correct horse battery staple")?;
///
/// let id = Postgres::new_id()?; // kept with the user's account
/// VaultOptions::new().create_in(&database, id, &passphrase)?.lock();
/// let session = VaultOptions::new().open_in(&database, id)?.unlock(&passphrase)?;
/// # session.lock();
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Postgres(Server);

impl Postgres {
    /// Makes the pool. Connects when a vault is first used.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] if this machine has no certificates to verify the server with.
    pub fn new(config: PostgresConfig) -> Result<Self, StoreError> {
        Ok(Self(Server::new(config)?))
    }

    /// Draws the id of a new vault at random.
    ///
    /// # Errors
    /// [`StoreError::RandomnessFailed`].
    pub fn new_id() -> Result<VaultId, StoreError> {
        Ok(VaultId(rng::array()?))
    }

    /// Asks the server for its version, its replication and the like.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    pub fn facts(&self) -> Result<ServerFacts, StoreError> {
        Ok(self.0.facts()?)
    }

    /// Returns how many round trips to the server the pool has made, without those of connecting.
    #[must_use]
    pub fn round_trips(&self) -> u64 {
        self.0.round_trips()
    }

    pub(crate) fn server(&self) -> &Server {
        &self.0
    }

    /// Destroys a vault. Needs no passphrase and no intact vault. The header, which alone holds the keys, goes first.
    ///
    /// # Errors
    /// [`StoreError::NotAStore`], [`StoreError::Unavailable`].
    ///
    /// # Security
    /// The server keeps deleted rows until it vacuums them, and longer in its write-ahead log, its standbys and its backups.
    /// Anyone with one of them and a credential of that time can read the vault.
    pub fn destroy(&self, id: VaultId) -> Result<(), StoreError> {
        Ok(PostgresStorage::destroy(&self.0, id)?)
    }
}

impl fmt::Debug for Postgres {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Postgres")
    }
}

impl VaultOptions {
    /// Opens a vault in a database. Other hosts may have it open too.
    ///
    /// # Errors
    /// Those of [`open`](VaultOptions::open); [`StoreError::Unavailable`].
    pub fn open_in(&self, database: &Postgres, id: VaultId) -> Result<Vault, StoreError> {
        self.open_storage(Arc::new(PostgresStorage::open(&database.0, id)?))
    }

    /// Creates a vault in a database, and unlocks it.
    ///
    /// # Errors
    /// Those of [`create`](VaultOptions::create); [`StoreError::Unavailable`].
    pub fn create_in<'a>(
        &self,
        database: &Postgres,
        id: VaultId,
        credential: impl Into<Credential<'a>>,
    ) -> Result<Session, StoreError> {
        let storage = PostgresStorage::create(&database.0, id).map_err(occupied)?;
        self.create_shared(Arc::new(storage), EngineKind::Postgres, credential)
    }
}

/// The database of a URL, with the password of the environment, and the vault that the URL names.
pub(crate) fn locate(url: &str) -> Result<(Postgres, VaultId), StoreError> {
    let unusable = |error: &dyn fmt::Display| StoreError::Unavailable(error.to_string());
    let url = PostgresUrl::parse(url).map_err(|error| unusable(&error))?;
    let id = url.vault.ok_or_else(|| unusable(&"the URL names no vault; add ?vault=ID"))?;
    let config = PostgresConfig::new(&url).password_from_environment();
    Ok((Postgres::new(config.map_err(|error| unusable(&error))?)?, id))
}
