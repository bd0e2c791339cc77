//! Where a store is: the first argument of `Store.create` and `Store.open`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use inmost::{
    Postgres as Database, PostgresConfig, PostgresUrl, Session, StoreError, VaultId, VaultOptions,
};
use inmost_keyd::{OpenStore, Secret};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::arguments::{argument, optional, wrong_type};
use crate::credential;
use crate::errors;
use crate::options;
use crate::text::Text;

/// A folder, a URL, or a vault of a pool.
pub(crate) enum Place {
    Folder(PathBuf),
    Url(String),
    Vault(Database, VaultId),
}

impl Place {
    pub(crate) fn create(
        self,
        options: &VaultOptions,
        secret: &Secret,
    ) -> Result<Session, StoreError> {
        match self {
            Self::Folder(path) => options.create_with(path, secret.credential()),
            Self::Url(url) => options.create_url(&url, secret.credential()),
            Self::Vault(database, id) => options.create_in(&database, id, secret.credential()),
        }
    }

    pub(crate) fn open(
        self,
        options: &VaultOptions,
        secret: &Secret,
        accepts_rollback: bool,
    ) -> Result<Session, StoreError> {
        let mut vault = match self {
            Self::Folder(path) => options.open(path)?,
            Self::Url(url) => options.open_url(&url)?,
            Self::Vault(database, id) => options.open_in(&database, id)?,
        };
        if accepts_rollback {
            vault.unlock_accepting_rollback(secret.credential())
        } else {
            vault.unlock_with(secret.credential())
        }
    }

    /// The absolute path of a folder: a program may change its working folder later.
    pub(crate) fn folder(&self) -> Option<PathBuf> {
        match self {
            Self::Folder(path) => std::path::absolute(path).ok(),
            Self::Url(_) | Self::Vault(..) => None,
        }
    }

    /// Copies a store, with its versions, to this place, and reads the copy back.
    pub(crate) fn fill(
        &self,
        store: &OpenStore,
        progress: &mut dyn FnMut(u64),
    ) -> Result<(), StoreError> {
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

impl<'py> FromPyObject<'_, 'py> for Place {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(vault) = given.cast::<Vault>() {
            let vault = vault.get();
            return Ok(Self::Vault(vault.database.clone(), vault.id));
        }
        // A path may have bytes that are no UTF-8, which a `str` keeps as lone surrogates.
        if let Ok(text) = given.extract::<Text<'_>>()
            && VaultOptions::is_url(&text)
        {
            return Ok(Self::Url(text.to_string()));
        }
        argument(&given).map(Self::Folder).map_err(|error| {
            if error.is_instance_of::<PyTypeError>(given.py()) {
                wrong_type(&given, "a str, an os.PathLike or an inmost.Vault")
            } else {
                error
            }
        })
    }
}

/// A PostgreSQL database with vaults, and the pool of connections to it.
#[pyclass(frozen, module = "inmost")]
pub(crate) struct Postgres {
    database: Database,
}

#[pymethods]
impl Postgres {
    #[new]
    #[pyo3(signature = (url, *, size=None, password=None))]
    fn new(
        py: Python<'_>,
        url: Text<'_>,
        #[pyo3(from_py_with = optional)] size: Option<NonZeroUsize>,
        password: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let invalid = |error: &dyn std::fmt::Display| PyValueError::new_err(error.to_string());
        let url = PostgresUrl::parse(&url).map_err(|error| invalid(&error))?;
        let mut config = PostgresConfig::new(&url);
        if let Some(size) = size {
            config = config.max_connections(size.get());
        }
        config = match password {
            Some(password) => config.password(&*credential::bytes_of(password, "password")?),
            None => config.password_from_environment().map_err(|error| {
                errors::of_store(py, &StoreError::Unavailable(error.to_string()))
            })?,
        };
        let database = Database::new(config).map_err(|error| errors::of_store(py, &error))?;
        Ok(Self { database })
    }

    /// The vault with this id; one with a new random id if none is given.
    #[pyo3(signature = (id=None))]
    fn vault(&self, py: Python<'_>, id: Option<Text<'_>>) -> PyResult<Vault> {
        let id = match id {
            Some(id) => {
                id.parse().map_err(|error| PyValueError::new_err(format!("id: {error}")))?
            }
            None => Database::new_id().map_err(|error| errors::of_store(py, &error))?,
        };
        Ok(Vault { database: self.database.clone(), id })
    }

    fn __reduce__(_this: &Bound<'_, Self>) -> PyResult<()> {
        options::not_picklable()
    }
}

/// The place of one store in a database.
#[pyclass(frozen, module = "inmost")]
pub(crate) struct Vault {
    database: Database,
    id: VaultId,
}

#[pymethods]
impl Vault {
    /// The id: 32 hexadecimal digits.
    #[getter]
    fn id(&self) -> String {
        self.id.to_string()
    }

    /// Destroys the store. Needs no passphrase.
    fn destroy(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.database.destroy(self.id)).map_err(|error| errors::of_store(py, &error))
    }

    fn __repr__(&self) -> String {
        format!("<inmost.Vault {}>", self.id)
    }

    fn __reduce__(_this: &Bound<'_, Self>) -> PyResult<()> {
        options::not_picklable()
    }
}

/// Why a store that a key daemon holds is not copied into a database.
const NO_COPY: &str = "A key daemon cannot copy the store that it holds into a database.";
