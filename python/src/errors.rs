//! Python exceptions for the errors of the library: one class for each fact, in the Python module `inmost.errors`.
//!
//! No message contains a path or a text of the memory. Where an error names a path, it is an attribute of the exception,
//! so that a traceback in a log does not show it.

use inmost::{FileError, StoreError};
use inmost_agent::AgentError;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;

use crate::records;

/// Attributes of an exception besides its message and its advice.
type Fields = Vec<(&'static str, PyResult<Py<PyAny>>)>;

/// The exception for an error of the store.
pub(crate) fn of_store(py: Python<'_>, error: &StoreError) -> PyErr {
    let number = |number: u64| number.into_py_any(py);
    let text = |text: &str| text.into_py_any(py);
    let (class, fields): (_, Fields) = match error {
        StoreError::AlreadyExists => ("StoreAlreadyExists", vec![]),
        StoreError::Damaged(_) => ("Damaged", vec![]),
        StoreError::DiskFull => ("DiskFull", vec![]),
        StoreError::Forked => ("Forked", vec![]),
        StoreError::EngineNotBuilt => ("EngineNotBuilt", vec![]),
        StoreError::Halted => ("Halted", vec![]),
        StoreError::ForeignAnchor => ("ForeignAnchor", vec![]),
        StoreError::HeaderDamaged => ("HeaderDamaged", vec![]),
        StoreError::RecordsBehindHeader { expected, found } => (
            "RecordsBehindHeader",
            vec![("expected", number(*expected)), ("found", number(*found))],
        ),
        StoreError::HeaderRolledBack { expected, found } => {
            ("HeaderRolledBack", vec![("expected", number(*expected)), ("found", number(*found))])
        }
        StoreError::InMemory => ("InMemory", vec![]),
        StoreError::CopyNotVerified { copy, .. } => ("CopyNotVerified", vec![("copy", text(copy))]),
        StoreError::AnchorUnavailable => ("AnchorUnavailable", vec![]),
        StoreError::InUse(process) => ("InUse", vec![("process", process.into_py_any(py))]),
        StoreError::Io(error) => ("Io", vec![("errno", error.raw_os_error().into_py_any(py))]),
        StoreError::KeyAgent(_) => ("KeyAgent", vec![]),
        StoreError::KdfOutOfBounds(_) => ("KdfOutOfBounds", vec![]),
        StoreError::LastSlot => ("LastSlot", vec![]),
        StoreError::Locked => ("Locked", vec![]),
        StoreError::NoSuchSlot(slot) => ("NoSuchSlot", vec![("slot", slot.into_py_any(py))]),
        StoreError::NotAStore => ("NotAStore", vec![]),
        StoreError::OutOfMemory => ("OutOfMemory", vec![]),
        StoreError::UntrustedFile(_) => ("UntrustedFile", vec![]),
        StoreError::OutcomeUnknown => ("OutcomeUnknown", vec![]),
        StoreError::RandomnessFailed => ("RandomnessFailed", vec![]),
        StoreError::RolledBack { expected, found } => {
            ("RolledBack", vec![("expected", number(*expected)), ("found", number(*found))])
        }
        StoreError::OldRecordsRemain(_) => ("OldRecordsRemain", vec![]),
        StoreError::SlotsFull => ("SlotsFull", vec![]),
        StoreError::Storage(_) => ("Storage", vec![]),
        StoreError::SubtreeIsFile => ("SubtreeIsFile", vec![]),
        StoreError::Tampered { .. } => ("Tampered", vec![]),
        StoreError::TooLarge => ("TooLarge", vec![]),
        StoreError::UnknownFormat { version, .. } => {
            ("UnknownFormat", vec![("version", version.into_py_any(py))])
        }
        StoreError::WrongKey(kind) => ("WrongKey", vec![("kind", text(&kind.to_string()))]),
        StoreError::WrongPassphrase => ("WrongPassphrase", vec![]),
        _ => ("StoreError", vec![]),
    };
    exception(py, class, &error.to_string(), advice(error), fields)
}

/// What to do, in terms of the Python package.
fn advice(error: &StoreError) -> &'static str {
    match error {
        StoreError::Forked => {
            "Open the store after the fork, in a process that was started anew (multiprocessing with `spawn`), or hold it with `inmost unlock` and let each process use Store.connect."
        }
        StoreError::InUse(_) => {
            "Close the other program that uses the store, or wait for it. If `inmost unlock` holds it, use Store.connect."
        }
        StoreError::RolledBack { .. } | StoreError::RecordsBehindHeader { .. } => {
            "Look for a newer copy of the store. Without one, accept the older state on purpose, with `inmost accept-rollback`."
        }
        error => error.advice(),
    }
}

/// The exception for an error of a file operation.
pub(crate) fn of_file(py: Python<'_>, error: FileError) -> PyErr {
    let number = |number: u64| number.into_py_any(py);
    let message = match &error {
        FileError::IsAFolder(_) => "The path is a folder, not a file.".to_owned(),
        FileError::NotAFolder(_) => "The path is a file, not a folder.".to_owned(),
        error => error.to_string(),
    };
    let (class, fields): (_, Fields) = match error {
        FileError::Store(error) => return of_store(py, &error),
        FileError::AlreadyExists => ("AlreadyExists", vec![]),
        FileError::Changed(current) => {
            let current = current.map(|current| records::file_version(py, &current)).transpose();
            ("Changed", vec![("current", current.and_then(|current| current.into_py_any(py)))])
        }
        FileError::CurrentVersion(version) => {
            ("CurrentVersion", vec![("version", number(version))])
        }
        FileError::EmptySearch => ("EmptySearch", vec![]),
        FileError::FileTooLarge(limit) => ("FileTooLarge", vec![("limit", number(limit))]),
        FileError::InvalidPattern(_) => ("InvalidPattern", vec![]),
        FileError::IsAFolder(path) => ("IsAFolder", vec![("path", path.as_str().into_py_any(py))]),
        FileError::IntoItself => ("IntoItself", vec![]),
        FileError::InvalidPath(_) => ("InvalidPath", vec![]),
        FileError::NoSuchLine(lines) => ("NoSuchLine", vec![("lines", number(lines))]),
        FileError::NoSuchVersion(version) => ("NoSuchVersion", vec![("version", number(version))]),
        FileError::NoMatch => ("NoMatch", vec![]),
        FileError::NotFound => ("NotFound", vec![]),
        FileError::NotAFolder(path) => {
            ("NotAFolder", vec![("path", path.as_str().into_py_any(py))])
        }
        FileError::PathBelow(_) => ("PathBelow", vec![]),
        FileError::Root => ("Root", vec![]),
        FileError::SeveralMatches { lines, more } => {
            ("SeveralMatches", vec![("lines", lines.into_py_any(py)), ("more", number(more))])
        }
        FileError::TooManyFiles(limit) => ("TooManyFiles", vec![("limit", number(limit))]),
        FileError::TooMuchText(limit) => ("TooMuchText", vec![("limit", number(limit))]),
        FileError::VersionGone(version) => ("VersionGone", vec![("version", number(version))]),
        _ => ("FileError", vec![]),
    };
    exception(py, class, &message, "", fields)
}

/// The exception for a key agent that cannot be used.
pub(crate) fn of_agent(py: Python<'_>, error: AgentError) -> PyErr {
    match error {
        AgentError::Store(error) => of_store(py, &error),
        error => exception(py, "KeyAgent", &error.to_string(), error.advice(), vec![]),
    }
}

/// The exception for a store that no key agent holds.
pub(crate) fn no_agent(py: Python<'_>) -> PyErr {
    let advice = "Run `inmost unlock` first, or open the store with Store.open.";
    exception(py, "NoKeyAgent", "No key agent holds the store.", advice, vec![])
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
