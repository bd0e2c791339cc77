//! The classes `NativePostgres` and `NativeVault`, and where a store is.

use inmost::{Postgres, PostgresConfig, PostgresUrl, StoreError, VaultId, VaultOptions};
use inmost_bindings::Place;
use napi::Env;
use napi::bindgen_prelude::{AsyncTask, Either, Uint8Array};
use napi_derive::napi;

use crate::credential::Copied;
use crate::errors::{self, Failure, Thrown};
use crate::task::{self, Work};

/// Where a store is, by its path or URL or in a vault.
pub(crate) fn place(path: String, vault: Option<&NativeVault>) -> Place {
    match vault {
        Some(vault) => Place::Vault(vault.database.clone(), vault.id),
        None if VaultOptions::is_url(&path) => Place::Url(path),
        None => Place::Folder(path.into()),
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
