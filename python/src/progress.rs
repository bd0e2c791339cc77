//! The callback `progress` of long calls.

#![allow(
    clippy::missing_const_for_thread_local,
    reason = "it is const; for Windows the lint does not see that"
)]

use std::cell::Cell;
use std::ptr;
use std::time::{Duration, Instant};

use inmost_bindings::Failure;
use inmost_keyd::OpenStore;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::arguments::wrong_type;
use crate::errors;
use crate::shared::Shared;

/// A callback that gets the count of a long call, a few times a second and at its end.
pub(crate) struct Progress {
    callback: Py<PyAny>,
    last_call: Option<Instant>,
    /// A count that the callback has not got yet.
    unreported: Option<u64>,
    error: Option<PyErr>,
    /// The address of the store that works meanwhile; 0 for none.
    store: usize,
}

thread_local! {
    /// The store whose progress a function of this thread is told.
    static TOLD: Cell<usize> = const { Cell::new(0) };
}

impl Progress {
    /// Takes a count. Nothing can stop the work here, so an exception of the callback waits for its end.
    fn at(&mut self, count: u64) {
        self.unreported = Some(count);
        // Each call waits for the lock of the interpreter.
        if self.last_call.is_none_or(|last| last.elapsed() >= PAUSE) {
            self.last_call = Some(Instant::now());
            Python::attach(|py| self.report(py));
        }
    }

    fn report(&mut self, py: Python<'_>) {
        if let Some(count) = self.unreported.take()
            && self.error.is_none()
        {
            let before = TOLD.replace(self.store);
            self.error = self.callback.call1(py, (count,)).err();
            TOLD.set(before);
        }
    }

    fn end(mut self, py: Python<'_>) -> PyResult<()> {
        self.report(py);
        self.error.map_or(Ok(()), Err)
    }
}

impl<'py> FromPyObject<'_, 'py> for Progress {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if given.is_callable() {
            let callback = given.to_owned().unbind();
            return Ok(Self { callback, last_call: None, unreported: None, error: None, store: 0 });
        }
        Err(wrong_type(&given, "a function of one number, or None"))
    }
}

/// Runs `work`, which reports its progress, without the lock of the interpreter.
pub(crate) fn reporting<T: Send, E: Into<Failure> + Send>(
    py: Python<'_>,
    mut progress: Option<Progress>,
    work: impl FnOnce(&mut dyn FnMut(u64)) -> Result<T, E> + Send,
) -> PyResult<T> {
    let done = py.detach(|| {
        work(&mut |count| {
            if let Some(progress) = &mut progress {
                progress.at(count);
            }
        })
    });
    let value = done.map_err(|error| errors::of(py, error))?;
    progress.map_or(Ok(()), |progress| progress.end(py))?;
    Ok(value)
}

impl Shared {
    /// Refuses a call from the function that is told the progress of this store: the call would wait for itself for ever.
    pub(crate) fn refuse_in_progress(&self) -> PyResult<()> {
        if TOLD.get() == ptr::from_ref(self).addr() {
            return Err(PyRuntimeError::new_err("a progress function must not use its store"));
        }
        Ok(())
    }

    /// As [`Shared::with`], for work that reports its progress.
    pub(crate) fn reporting<T: Send, E: Into<Failure> + Send>(
        &self,
        py: Python<'_>,
        mut progress: Option<Progress>,
        work: impl FnOnce(&OpenStore, &mut dyn FnMut(u64)) -> Result<T, E> + Send,
    ) -> PyResult<T> {
        self.refuse_in_progress()?;
        if let Some(progress) = &mut progress {
            progress.store = ptr::from_ref(self).addr();
        }
        reporting(py, progress, |progress| work(&self.handle(), progress))
    }
}

/// Time between two calls of the callback.
const PAUSE: Duration = Duration::from_millis(100);
