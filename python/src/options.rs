//! Options of a memory tool, and what no object allows.

use inmost::ToolOptions;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// What happens to a secret that the model writes, by its name in Python.
pub(crate) fn screen(options: ToolOptions, name: Option<&str>) -> PyResult<ToolOptions> {
    inmost_bindings::screen(options, name)
        .ok_or_else(|| PyValueError::new_err("screen is 'redact', 'refuse' or None"))
}

/// Makes it impossible to pickle an object, with the reason.
pub(crate) fn not_picklable<T>() -> PyResult<T> {
    Err(pyo3::exceptions::PyTypeError::new_err(
        "a store belongs to the process that opened it and cannot be pickled; open it in the other process, or hold it with `inmost unlock` and use Store.connect there",
    ))
}
