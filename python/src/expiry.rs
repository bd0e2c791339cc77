//! The class `inmost.Expiry`.

use std::sync::Arc;
use std::time::Duration;

use inmost::ExpirySettings;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arguments::{argument, optional};
use crate::progress::Progress;
use crate::records::{self, Record};
use crate::shared::Shared;

/// The expiry of unused files.
#[pyclass(frozen, module = "inmost")]
pub(crate) struct Expiry {
    shared: Arc<Shared>,
}

impl Expiry {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }
}

#[pymethods]
impl Expiry {
    /// The settings, and what is recorded.
    fn status<'py>(&self, py: Python<'py>) -> Record<'py> {
        let status = self.shared.with(py, |store| store.expiry().status())?;
        records::expiry_status(py, &status)
    }

    /// Sets whether readings are recorded, and whether files expire at an unlock.
    #[pyo3(signature = (record, *, at_unlock=None))]
    fn set(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = argument)] record: bool,
        #[pyo3(from_py_with = optional)] at_unlock: Option<Duration>,
    ) -> PyResult<()> {
        let settings = match (record, at_unlock) {
            (true, Some(unused_for)) => ExpirySettings::at_unlock(unused_for),
            (true, None) => ExpirySettings::record(),
            (false, None) => ExpirySettings::off(),
            (false, Some(_)) => {
                return Err(PyValueError::new_err("no file expires unless readings are recorded"));
            }
        };
        self.shared.with(py, |store| store.expiry().set(settings))
    }

    /// Deletes the files that were unused for this long, or only lists them.
    #[pyo3(signature = (unused_for, *, dry_run=false, progress=None))]
    fn expire<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = argument)] unused_for: Duration,
        #[pyo3(from_py_with = argument)] dry_run: bool,
        progress: Option<Progress>,
    ) -> Record<'py> {
        let report = self.shared.reporting(py, progress, |store, progress| {
            store.expiry().expire(unused_for, dry_run, progress)
        })?;
        records::expiry_report(py, &report)
    }
}
