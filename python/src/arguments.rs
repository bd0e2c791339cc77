//! Arguments of calls from Python. Their errors name the argument and never show its value, which may be a text of the memory.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;

/// What a call may take as an argument.
pub(crate) trait Argument<'a, 'py>: FromPyObject<'a, 'py> {
    /// The values that it may be, after "must be".
    const WHAT: &'static str;
    /// What stands for a value that is too low.
    const LOWEST: Option<Self> = None;
}

/// Each type with the values that an argument of it may be.
macro_rules! arguments {
    ($($kind:ty: $what:literal,)*) => {
        $(impl Argument<'_, '_> for $kind {
            const WHAT: &'static str = $what;
        })*
    };
}

arguments! {
    bool: "True or False",
    u8: "a whole number from 0 to 255",
    u64: "a whole number from 0 on",
    usize: "a whole number from 0 on",
    NonZeroUsize: "a whole number from 1 on",
    Duration: "a timedelta from 0 on",
    PathBuf: "a str or an os.PathLike",
    Vec<u8>: "bytes",
}

impl Argument<'_, '_> for SystemTime {
    const WHAT: &'static str = "a datetime with a time zone";
    // A store has no earlier times.
    const LOWEST: Option<Self> = Some(UNIX_EPOCH);
}

/// Converts an argument: for `from_py_with`, which names it in the error.
pub(crate) fn argument<'a, 'py, T: Argument<'a, 'py>>(given: &'a Bound<'py, PyAny>) -> PyResult<T> {
    given.extract().or_else(|error: T::Error| {
        let (py, error) = (given.py(), error.into());
        if error.is_instance_of::<PyTypeError>(py) {
            Err(wrong_type(given, T::WHAT))
        } else if error.is_instance_of::<PyValueError>(py)
            || error.is_instance_of::<PyOverflowError>(py)
        {
            T::LOWEST.ok_or_else(|| wrong_value(py, &format!("must be {}", T::WHAT)))
        } else {
            // An exception of the object itself.
            Err(error)
        }
    })
}

/// As [`argument`], for one that may be `None`.
pub(crate) fn optional<'a, 'py, T: Argument<'a, 'py>>(
    given: &'a Bound<'py, PyAny>,
) -> PyResult<Option<T>> {
    if given.is_none() { Ok(None) } else { argument(given).map(Some) }
}

/// Names the argument in an error, where no function call does.
pub(crate) fn named<T>(py: Python<'_>, name: &str, given: PyResult<T>) -> PyResult<T> {
    given.inspect_err(|error| {
        // The form in which PyO3 names an argument. Any other exception gets a note.
        let note = format!("while processing '{name}'");
        drop(error.value(py).call_method1("add_note", (note,)));
    })
}

/// The exception for an argument of another type than `what`.
pub(crate) fn wrong_type(given: &Bound<'_, PyAny>, what: &str) -> PyErr {
    let kind = given.get_type().name();
    let kind = kind.map(|name| name.to_string()).unwrap_or_default();
    // A naive datetime is a datetime.
    let not = if what.contains(&kind) { String::new() } else { format!(", not {kind}") };
    exception(given.py(), "ArgumentTypeError", &format!("must be {what}{not}"))
}

/// The exception for an argument with a value of which `predicate` holds.
pub(crate) fn wrong_value(py: Python<'_>, predicate: &str) -> PyErr {
    exception(py, "ArgumentValueError", predicate)
}

/// An exception whose message begins with the name of the argument, once it is known.
fn exception(py: Python<'_>, class: &str, predicate: &str) -> PyErr {
    let made = py
        .import("inmost._arguments")
        .and_then(|module| module.getattr(class)?.call1((predicate,)));
    made.map_or_else(|error| error, PyErr::from_value)
}
