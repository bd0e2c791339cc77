//! Python exceptions for the errors of the library: one class for each fact, in the Python module `inmost.errors`. A class has
//! the name that the library has for the fact.
//!
//! No message contains a path or a text of the memory. Where an error names a path, it is an attribute of the exception,
//! so that a traceback in a log does not show it.

use inmost::{FileError, StoreError};
use inmost_keyd::DaemonError;
use inmost_sync::SyncError;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;

use crate::records;

/// Attributes of an exception besides its message and its advice.
type Fields = Vec<(&'static str, PyResult<Py<PyAny>>)>;

/// The exception for an error of the store.
pub(crate) fn of_store(py: Python<'_>, error: &StoreError) -> PyErr {
    let number = |number: u64| number.into_py_any(py);
    let text = |text: &str| text.into_py_any(py);
    let fields: Fields = match error {
        StoreError::RecordsBehindHeader { expected, found }
        | StoreError::HeaderRolledBack { expected, found }
        | StoreError::RolledBack { expected, found } => {
            vec![("expected", number(*expected)), ("found", number(*found))]
        }
        StoreError::CopyNotVerified { copy, .. } => vec![("copy", text(copy))],
        StoreError::InUse(process) => vec![("process", process.into_py_any(py))],
        StoreError::Io(error) => vec![("errno", error.raw_os_error().into_py_any(py))],
        StoreError::NoSuchSlot(slot) => vec![("slot", slot.into_py_any(py))],
        StoreError::UnknownFormat { version, .. } => vec![("version", version.into_py_any(py))],
        StoreError::WrongKey(kind) => vec![("kind", text(&kind.to_string()))],
        _ => vec![],
    };
    let class = match error {
        // A file operation has a fact of the same name.
        StoreError::AlreadyExists => "StoreAlreadyExists",
        error => error.name(),
    };
    exception(py, class, &error.to_string(), error.advice(), fields)
}

/// The exception for an error of a file operation.
pub(crate) fn of_file(py: Python<'_>, error: FileError) -> PyErr {
    let number = |number: u64| number.into_py_any(py);
    let message = match &error {
        FileError::IsAFolder(_) => "The path is a folder, not a file.".to_owned(),
        FileError::NotAFolder(_) => "The path is a file, not a folder.".to_owned(),
        error => error.to_string(),
    };
    let class = error.name();
    let fields: Fields = match error {
        FileError::Store(error) => return of_store(py, &error),
        FileError::Changed(current) => {
            let current = current.map(|current| records::file_version(py, &current)).transpose();
            vec![("current", current.and_then(|current| current.into_py_any(py)))]
        }
        FileError::FileTooLarge(limit)
        | FileError::TooManyFiles(limit)
        | FileError::TooMuchText(limit) => vec![("limit", number(limit))],
        FileError::IsAFolder(path) | FileError::NotAFolder(path) => {
            vec![("path", path.as_str().into_py_any(py))]
        }
        FileError::NoSuchLine(lines) => vec![("lines", number(lines))],
        FileError::NoSuchVersion(version) | FileError::VersionGone(version) => {
            vec![("version", number(version))]
        }
        FileError::SeveralMatches { lines, more } => {
            vec![("lines", lines.into_py_any(py)), ("more", number(more))]
        }
        _ => vec![],
    };
    exception(py, class, &message, "", fields)
}

/// The exception for a key daemon that cannot be used.
pub(crate) fn of_daemon(py: Python<'_>, error: DaemonError) -> PyErr {
    match error {
        DaemonError::Store(error) => of_store(py, &error),
        error => exception(py, "KeyDaemon", &error.to_string(), error.advice(), vec![]),
    }
}

/// The exception for an error of synchronisation.
pub(crate) fn of_sync(py: Python<'_>, error: SyncError) -> PyErr {
    match error {
        SyncError::Store(error) => of_store(py, &error),
        SyncError::File(error) => of_file(py, error),
        error => exception(py, error.name(), &error.to_string(), error.advice(), vec![]),
    }
}

/// The exception for a store that no key daemon holds.
pub(crate) fn no_daemon(py: Python<'_>) -> PyErr {
    let advice = "Run `inmost unlock` first, or open the store with Store.open.";
    exception(py, "NoKeyDaemon", "No key daemon holds the store.", advice, vec![])
}

/// The exception for a credential that no store could have.
pub(crate) fn invalid_credential(py: Python<'_>, reason: &str) -> PyErr {
    let message = format!("The credential is not valid: {reason}.");
    exception(py, "InvalidCredential", &message, "", vec![])
}

fn exception(py: Python<'_>, class: &str, message: &str, advice: &str, fields: Fields) -> PyErr {
    let make = || {
        let class = py.import("inmost.errors")?.getattr(class)?;
        let exception = class.call1((message, advice))?;
        for (name, value) in fields {
            exception.setattr(name, value?)?;
        }
        Ok(exception)
    };
    make().map_or_else(|error| error, PyErr::from_value)
}
