//! The class `inmost.Sync`.

use std::path::PathBuf;
use std::sync::Arc;

use inmost_keyd::OpenSync;
use inmost_sync::SyncError;
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::arguments::argument;
use crate::progress::Progress;
use crate::records::{self, Record};
use crate::shared::Shared;
use crate::text::Text;

/// The part of a store in a circle of devices.
#[pyclass(frozen, module = "inmost")]
pub(crate) struct Sync {
    shared: Arc<Shared>,
}

impl Sync {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    fn with<T: Send>(
        &self,
        py: Python<'_>,
        progress: Option<Progress>,
        work: impl FnOnce(&OpenSync<'_>, &mut dyn FnMut(u64)) -> Result<T, SyncError> + Send,
    ) -> PyResult<T> {
        self.shared.reporting(py, progress, |store, progress| {
            let folder = self.shared.folder().ok_or(SyncError::NoFolder)?;
            work(&store.sync(folder), progress)
        })
    }
}

#[pymethods]
#[expect(clippy::needless_pass_by_value, reason = "pyo3 converts arguments to owned values")]
impl Sync {
    /// Begins a circle of devices in a place.
    fn init(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = argument)] place: PathBuf,
        name: Text<'_>,
    ) -> PyResult<()> {
        self.with(py, None, |circle, _| circle.init(&place, &name))
    }

    /// Joins the circle of an invitation.
    fn join(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = argument)] place: PathBuf,
        invitation: Text<'_>,
        name: Text<'_>,
    ) -> PyResult<()> {
        self.with(py, None, |circle, _| circle.join(&place, &invitation, &name))
    }

    /// Goes on in a new place with a new key, without the devices of these names.
    fn remove(
        &self,
        py: Python<'_>,
        names: Vec<String>,
        #[pyo3(from_py_with = argument)] to: PathBuf,
    ) -> PyResult<()> {
        self.with(py, None, |circle, _| circle.remove(&names, &to))
    }

    /// Follows the other devices into the place that they have gone on in.
    fn follow(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = argument)] place: PathBuf,
        invitation: Text<'_>,
    ) -> PyResult<()> {
        self.with(py, None, |circle, _| circle.follow(&place, &invitation))
    }

    /// The invitation for another device: a secret.
    fn invitation<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        let invitation = self.with(py, None, |circle, _| circle.invitation())?;
        Ok(PyString::new(py, invitation.as_str()))
    }

    /// Sends what has changed, reads what the others have sent, and shows both.
    #[pyo3(signature = (*, progress=None))]
    fn run<'py>(&self, py: Python<'py>, progress: Option<Progress>) -> Record<'py> {
        let report = self.with(py, progress, |circle, progress| circle.run(progress))?;
        records::sync_report(py, report)
    }

    /// The devices, and what waits.
    fn status<'py>(&self, py: Python<'py>) -> Record<'py> {
        records::sync_status(py, self.with(py, None, |circle, _| circle.status())?)
    }

    /// Leaves the circle. The files stay everywhere.
    fn leave(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, None, |circle, _| circle.leave())
    }
}
