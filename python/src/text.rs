//! Texts from Python.

use std::ops::Deref;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyString;

/// A `str` as UTF-8, in the memory of the interpreter.
///
/// A lone surrogate has no encoding. The interpreter's own error for it shows the whole text, which may be a passphrase or a text of the
/// memory, so it is replaced by a `ValueError` that shows nothing.
#[derive(Clone, Copy)]
pub(crate) struct Text<'a>(&'a str);

impl Text<'_> {
    /// The folder of everything.
    pub(crate) const ROOT: Text<'static> = Text("/memories");
}

impl<'a, 'py> FromPyObject<'a, 'py> for Text<'a> {
    type Error = PyErr;

    fn extract(given: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        <&str>::extract(given).map(Self).map_err(|error| {
            if given.is_instance_of::<PyString>() {
                PyValueError::new_err("a text has a lone surrogate, which is not valid Unicode")
            } else {
                error
            }
        })
    }
}

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        self.0
    }
}
