//! The classes `NativePostgres` and `NativeVault`, and where a store is.

use std::path::PathBuf;

use inmost::{
    Postgres, PostgresConfig, PostgresUrl, Session, StoreError, Vault, VaultId, VaultOptions,
};
use inmost_keyd::{OpenStore, Secret};
use napi::Env;
use napi::bindgen_prelude::{AsyncTask, Either, Uint8Array};
use napi_derive::napi;

use crate::credential::Copied;
use crate::errors::{self, Failure};
use crate::task::{self, Work};

/// A folder, a URL, or a vault of a pool.
pub(crate) enum Place {
    Named(String),
    Vault(Postgres, VaultId),
}

impl Place {
    pub(crate) fn new(path: String, vault: Option<&NativeVault>) -> Self {
        match vault {
            Some(vault) => Self::Vault(vault.database.clone(), vault.id),
            None => Self::Named(path),
        }
    }

    /// The folder of a store that has one. The working folder may be another one later.
    pub(crate) fn folder(&self) -> Result<Option<PathBuf>, Failure> {
        match self {
            Self::Named(path) if !VaultOptions::is_url(path) => {
                Ok(Some(std::path::absolute(path).map_err(StoreError::Io)?))
            }
            _ => Ok(None),
        }
    }

    pub(crate) fn create(
        &self,
        options: &VaultOptions,
        secret: &Secret,
    ) -> Result<Session, StoreError> {
        match self {
            Self::Vault(database, id) => options.create_in(database, *id, secret.credential()),
            Self::Named(url) if VaultOptions::is_url(url) => {
                options.create_url(url, secret.credential())
            }
            Self::Named(path) => options.create_with(path, secret.credential()),
        }
    }

    pub(crate) fn open(&self, options: &VaultOptions) -> Result<Vault, StoreError> {
        match self {
            Self::Vault(database, id) => options.open_in(database, *id),
            Self::Named(url) if VaultOptions::is_url(url) => options.open_url(url),
            Self::Named(path) => options.open(path),
        }
    }

    /// Copies a store, with its versions, to this place, and reads the copy back.
    pub(crate) fn fill(
        &self,
        store: &OpenStore,
        progress: &mut dyn FnMut(u64),
    ) -> Result<(), StoreError> {
        match (self, store) {
            (Self::Named(path), store) if !VaultOptions::is_url(path) => {
                store.backup_with_versions(path.as_ref(), progress).map(drop)
            }
            (Self::Named(url), OpenStore::Here(session)) => session.copy_to_url(url, progress),
            (Self::Vault(database, id), OpenStore::Here(session)) => {
                session.copy_in(database, *id, progress)
            }
            (_, OpenStore::Daemon(_)) => Err(StoreError::KeyDaemon(NO_COPY.to_owned())),
        }
    }
}

/// A `PostgreSQL` database with vaults, and the pool of connections to it.
#[napi]
pub struct NativePostgres {
    database: Postgres,
}

#[napi]
impl NativePostgres {
    #[napi(constructor)]
    pub fn new(
        env: Env,
        url: String,
        size: Option<i64>,
        password: Option<Either<String, Uint8Array>>,
    ) -> napi::Result<Self> {
        connect(&url, size, password.map(Copied::new)).map_err(|error| error.into_error(&env))
    }

    /// The vault with this id; one with a new random id if none is given.
    #[napi]
    pub fn vault(&self, env: Env, id: Option<String>) -> napi::Result<NativeVault> {
        let id = match id {
            Some(id) => id.parse().map_err(|error| errors::argument(&format!("id: {error}."))),
            None => Postgres::new_id().map_err(Failure::from),
        };
        let id = id.map_err(|error| error.into_error(&env))?;
        Ok(NativeVault { database: self.database.clone(), id })
    }
}

fn connect(
    url: &str,
    size: Option<i64>,
    password: Option<Copied>,
) -> Result<NativePostgres, Failure> {
    let url = PostgresUrl::parse(url).map_err(|error| errors::argument(&format!("{error}.")))?;
    let mut config = PostgresConfig::new(&url);
    if let Some(size) = size {
        config = config.max_connections(crate::options::size(size));
    }
    config = match password {
        Some(password) => config.password(password.bytes()),
        None => config
            .password_from_environment()
            .map_err(|error| StoreError::Unavailable(error.to_string()))?,
    };
    Ok(NativePostgres { database: Postgres::new(config)? })
}

/// The place of one store in a database.
#[napi]
pub struct NativeVault {
    database: Postgres,
    id: VaultId,
}

#[napi]
impl NativeVault {
    /// The id: 32 hexadecimal digits.
    #[napi(getter)]
    pub fn id(&self) -> String {
        self.id.to_string()
    }

    /// Destroys the store. Needs no passphrase.
    #[napi(ts_return_type = "Promise<void>")]
    pub fn destroy(&self) -> AsyncTask<Work<()>> {
        let (database, id) = (self.database.clone(), self.id);
        task::start(move || Ok(database.destroy(id)?))
    }
}

/// Why a store that a key daemon holds is not copied into a database.
const NO_COPY: &str = "A key daemon cannot copy the store that it holds into a database.";
