//! Where a store is: the first argument of `Store.create` and `Store.open`.

use std::num::NonZeroUsize;

use inmost::{
    Postgres as Database, PostgresConfig, PostgresUrl, StoreError, VaultId, VaultOptions,
};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::arguments::{argument, optional, wrong_type};
use crate::credential;
use crate::errors;
use crate::options;
use crate::text::Text;

/// A folder, a URL, or a vault of a pool.
pub(crate) struct Place(pub(crate) inmost_bindings::Place);

impl<'py> FromPyObject<'_, 'py> for Place {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(vault) = given.cast::<Vault>() {
            let vault = vault.get();
            return Ok(Self(inmost_bindings::Place::Vault(vault.database.clone(), vault.id)));
        }
        // A path may have bytes that are no UTF-8, which a `str` keeps as lone surrogates.
        if let Ok(text) = given.extract::<Text<'_>>()
            && VaultOptions::is_url(&text)
        {
            return Ok(Self(inmost_bindings::Place::Url(text.to_string())));
        }
        argument(&given).map(|path| Self(inmost_bindings::Place::Folder(path))).map_err(|error| {
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
            None => config
                .password_from_environment()
                .map_err(|error| errors::of(py, StoreError::Unavailable(error.to_string())))?,
        };
        let database = Database::new(config).map_err(|error| errors::of(py, error))?;
        Ok(Self { database })
    }

    /// The vault with this id; one with a new random id if none is given.
    #[pyo3(signature = (id=None))]
    fn vault(&self, py: Python<'_>, id: Option<Text<'_>>) -> PyResult<Vault> {
        let id = match id {
            Some(id) => {
                id.parse().map_err(|error| PyValueError::new_err(format!("id: {error}")))?
            }
            None => Database::new_id().map_err(|error| errors::of(py, error))?,
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
        py.detach(|| self.database.destroy(self.id)).map_err(|error| errors::of(py, error))
    }

    fn __repr__(&self) -> String {
        format!("<inmost.Vault {}>", self.id)
    }

    fn __reduce__(_this: &Bound<'_, Self>) -> PyResult<()> {
        options::not_picklable()
    }
}
