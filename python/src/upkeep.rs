//! The classes `inmost.Keyslots` and `inmost.Backups`.

use std::path::PathBuf;
use std::sync::Arc;

use inmost::{SlotInfo, SlotLabel};
use inmost_keyd::{OpenStore, SlotOptions};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::arguments::argument;
use crate::credential::Given;
use crate::errors;
use crate::progress::{self, Progress};
use crate::records::{self, Record};
use crate::shared::Shared;
use crate::text::Text;

/// The keyslots of a store.
#[pyclass(frozen, module = "inmost")]
pub(crate) struct Keyslots {
    shared: Arc<Shared>,
}

impl Keyslots {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }
}

#[pymethods]
impl Keyslots {
    /// The keyslots in use, in the order of their numbers.
    fn list<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        slots(py, &self.shared.with(py, OpenStore::slots)?)
    }

    /// Adds a keyslot for a credential. Returns its number.
    #[pyo3(signature = (*, label=None, **credential), text_signature = "($self, *, passphrase=None, keyfile=None, recovery_key=None, raw_key=None, label=None)")]
    fn add(
        &self,
        py: Python<'_>,
        label: Option<Text<'_>>,
        credential: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<u8> {
        let (secret, options) = (Given::named(credential)?.secret(py)?, labelled(label)?);
        self.shared.with(py, |store| store.add_slot(&secret, options))
    }

    /// Replaces the credential of a keyslot.
    #[pyo3(signature = (number, *, label=None, **credential), text_signature = "($self, number, *, passphrase=None, keyfile=None, recovery_key=None, raw_key=None, label=None)")]
    fn replace(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = argument)] number: u8,
        label: Option<Text<'_>>,
        credential: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        let (secret, options) = (Given::named(credential)?.secret(py)?, labelled(label)?);
        self.shared.with(py, |store| store.replace_slot(number, &secret, options))
    }

    /// Removes a keyslot.
    fn remove(&self, py: Python<'_>, #[pyo3(from_py_with = argument)] number: u8) -> PyResult<()> {
        self.shared.with(py, |store| store.remove_slot(number))
    }

    /// Replaces every key of the store, and keeps one credential. Returns the keyslots that were dropped.
    #[pyo3(signature = (*, progress=None, **credential), text_signature = "($self, *, passphrase=None, keyfile=None, recovery_key=None, raw_key=None, progress=None)")]
    fn rotate<'py>(
        &self,
        py: Python<'py>,
        progress: Option<Progress>,
        credential: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Bound<'py, PyList>> {
        let keep = Given::named(credential)?.secret(py)?;
        let dropped =
            self.shared.reporting(py, progress, |store, progress| store.rotate(&keep, progress))?;
        slots(py, &dropped)
    }
}

/// The backups in a folder.
#[pyclass(frozen, module = "inmost")]
pub(crate) struct Backups {
    backups: inmost::Backups,
}

#[pymethods]
impl Backups {
    /// Lists the backups in a folder.
    #[staticmethod]
    fn open(py: Python<'_>, #[pyo3(from_py_with = argument)] folder: PathBuf) -> PyResult<Self> {
        let backups = py.detach(|| inmost::Backups::open(folder));
        Ok(Self { backups: backups.map_err(|error| errors::of(py, error))? })
    }

    /// The backups, the oldest first.
    fn list<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for info in self.backups.list() {
            list.append(records::backup_info(py, info)?)?;
        }
        Ok(list)
    }

    /// Reads and authenticates every record of a backup.
    #[pyo3(signature = (number, *, progress=None, **credential), text_signature = "($self, number, *, passphrase=None, keyfile=None, recovery_key=None, raw_key=None, progress=None)")]
    fn check<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = argument)] number: u64,
        progress: Option<Progress>,
        credential: Option<&Bound<'_, PyDict>>,
    ) -> Record<'py> {
        let secret = Given::named(credential)?.secret(py)?;
        let report = progress::reporting(py, progress, |progress| {
            self.backups.check(number, secret.credential(), progress)
        })?;
        records::check_report(py, &report)
    }

    /// Restores a backup to a new folder.
    #[pyo3(signature = (number, path, *, progress=None, **credential), text_signature = "($self, number, path, *, passphrase=None, keyfile=None, recovery_key=None, raw_key=None, progress=None)")]
    fn restore<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = argument)] number: u64,
        #[pyo3(from_py_with = argument)] path: PathBuf,
        progress: Option<Progress>,
        credential: Option<&Bound<'_, PyDict>>,
    ) -> Record<'py> {
        let secret = Given::named(credential)?.secret(py)?;
        let copy = progress::reporting(py, progress, |progress| {
            self.backups.restore(number, path, secret.credential(), progress)
        })?;
        records::verified_copy(py, &copy)
    }
}

fn slots<'py>(py: Python<'py>, slots: &[SlotInfo]) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for slot in slots {
        list.append(records::keyslot(py, slot)?)?;
    }
    Ok(list)
}

fn labelled(label: Option<Text<'_>>) -> PyResult<SlotOptions> {
    let label = label.map(|label| SlotLabel::parse(&label)).transpose();
    Ok(SlotOptions::new().label(label.map_err(|error| PyValueError::new_err(error.to_string()))?))
}
