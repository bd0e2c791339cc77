//! What the objects of one store share, and the calls on it.

use std::ops::Deref;
use std::sync::Arc;

use inmost_bindings::Failure;
use inmost_keyd::OpenStore;
use pyo3::prelude::*;

use crate::errors;

/// A store that one or more Python objects use.
pub(crate) struct Shared(inmost_bindings::Shared);

impl Shared {
    pub(crate) fn new(shared: inmost_bindings::Shared) -> Arc<Self> {
        Arc::new(Self(shared))
    }

    /// Runs `work` on the store, without the lock of the interpreter.
    pub(crate) fn with<T: Send, E: Into<Failure> + Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&OpenStore) -> Result<T, E> + Send,
    ) -> PyResult<T> {
        self.refuse_in_progress()?;
        py.detach(|| work(&self.handle())).map_err(|error| errors::of(py, error))
    }
}

impl Deref for Shared {
    type Target = inmost_bindings::Shared;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}
