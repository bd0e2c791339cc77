//! Python exceptions for failures: one class for each fact, in the Python module `inmost.errors`. A class has the name that the
//! library has for the fact; details are attributes of the exception.

use inmost_bindings::{Detail, Failure};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;

use crate::records;

/// The exception for an error.
pub(crate) fn of(py: Python<'_>, error: impl Into<Failure>) -> PyErr {
    let Failure { code, message, advice, details, .. } = error.into();
    let make = || {
        let class = py.import("inmost.errors")?.getattr(code)?;
        let exception = class.call1((message, advice))?;
        for (name, detail) in details {
            let value = match detail {
                Detail::Number(number) => number.into_bound_py_any(py)?,
                Detail::Text(text) => text.into_bound_py_any(py)?,
                Detail::Lines(lines) => lines.into_bound_py_any(py)?,
                Detail::Version(version) => records::file_version(py, &version)?,
                Detail::Nothing => py.None().into_bound(py),
            };
            exception.setattr(name, value)?;
        }
        Ok(exception)
    };
    make().map_or_else(|error| error, PyErr::from_value)
}
