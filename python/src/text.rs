//! Texts from Python.

use std::ops::Deref;

use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::arguments::{wrong_type, wrong_value};

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
        <&str>::extract(given).map(Self).map_err(|_| {
            if given.is_instance_of::<PyString>() {
                wrong_value(given.py(), "has a lone surrogate, which is not valid Unicode")
            } else {
                wrong_type(&given, "a str")
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
