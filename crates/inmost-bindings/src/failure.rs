//! Failed calls, from which each language makes exceptions: one code for each fact, which is the name that the library has
//! for it.
//!
//! No message contains a path or a text of the memory. Where an error names a path, it is among the details, so that a
//! traceback in a log does not show it.

use std::fmt::Display;

use inmost::{FileError, FileVersion, StoreError};
use inmost_keyd::DaemonError;
use inmost_sync::SyncError;

/// Why a call failed.
#[must_use]
pub struct Failure {
    /// The family of the exception's class.
    pub family: Family,
    /// The name of the fact.
    pub code: &'static str,
    /// What happened.
    pub message: String,
    /// What to do; may be empty.
    pub advice: &'static str,
    /// What else is known.
    pub details: Vec<(&'static str, Detail)>,
}

/// A family of classes of exceptions.
#[derive(Clone, Copy)]
pub enum Family {
    /// The store.
    Store,
    /// An operation on a file.
    File,
    /// A circle of devices.
    Sync,
    /// A credential that no store could have.
    Credential,
    /// A mistake of the program.
    Argument,
}

/// A value of a detail.
pub enum Detail {
    /// A number.
    Number(u64),
    /// A text.
    Text(String),
    /// Numbers of lines.
    Lines(Vec<u64>),
    /// The state of a file.
    Version(FileVersion),
    /// What is not known, or not there.
    Nothing,
}

impl Failure {
    /// A failure without details.
    pub fn new(family: Family, code: &'static str, message: String, advice: &'static str) -> Self {
        Self { family, code, message, advice, details: Vec::new() }
    }

    /// The failure for a store that no key daemon holds.
    pub fn no_daemon() -> Self {
        let advice = "Run `inmost unlock` first, or open the store with Store.open.";
        let message = "No key daemon holds the store.".to_owned();
        Self::new(Family::Store, "NoKeyDaemon", message, advice)
    }

    /// The failure for a credential that no store could have.
    pub fn invalid_credential(reason: &dyn Display) -> Self {
        let message = format!("The credential is not valid: {reason}.");
        Self::new(Family::Credential, "InvalidCredential", message, "")
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        use Detail::{Nothing, Number, Text};
        let details = match &error {
            StoreError::RecordsBehindHeader { expected, found }
            | StoreError::HeaderRolledBack { expected, found }
            | StoreError::RolledBack { expected, found } => {
                vec![("expected", Number(*expected)), ("found", Number(*found))]
            }
            StoreError::CopyNotVerified { copy, .. } => vec![("copy", Text(copy.clone()))],
            StoreError::InUse(process) => {
                vec![("process", process.map_or(Nothing, |process| Number(process.into())))]
            }
            StoreError::Io(error) => {
                let errno = error.raw_os_error().and_then(|errno| u64::try_from(errno).ok());
                vec![("errno", errno.map_or(Nothing, Number))]
            }
            StoreError::NoSuchSlot(slot) => vec![("slot", Number((*slot).into()))],
            StoreError::UnknownFormat { version, .. } => {
                vec![("version", Number(u64::from(*version)))]
            }
            StoreError::WrongKey(kind) => vec![("kind", Text(kind.to_string()))],
            _ => vec![],
        };
        let code = match &error {
            // A file operation has a fact of the same name.
            StoreError::AlreadyExists => "StoreAlreadyExists",
            error => error.name(),
        };
        Self { details, ..Self::new(Family::Store, code, error.to_string(), error.advice()) }
    }
}

impl From<FileError> for Failure {
    fn from(error: FileError) -> Self {
        use Detail::{Number, Text};
        let message = match &error {
            FileError::IsAFolder(_) => "The path is a folder, not a file.".to_owned(),
            FileError::NotAFolder(_) => "The path is a file, not a folder.".to_owned(),
            error => error.to_string(),
        };
        let code = error.name();
        let details = match error {
            FileError::Store(error) => return error.into(),
            FileError::Changed(current) => {
                let current = current.map_or(Detail::Nothing, |current| Detail::Version(*current));
                vec![("current", current)]
            }
            FileError::FileTooLarge(limit)
            | FileError::TooManyFiles(limit)
            | FileError::TooMuchText(limit) => vec![("limit", Number(limit))],
            FileError::IsAFolder(path) | FileError::NotAFolder(path) => {
                vec![("path", Text(path.as_str().to_owned()))]
            }
            FileError::NoSuchLine(lines) => vec![("lines", Number(lines))],
            FileError::NoSuchVersion(version) | FileError::VersionGone(version) => {
                vec![("version", Number(version))]
            }
            FileError::SeveralMatches { lines, more } => {
                vec![("lines", Detail::Lines(lines)), ("more", Number(more))]
            }
            _ => vec![],
        };
        Self { details, ..Self::new(Family::File, code, message, "") }
    }
}

impl From<DaemonError> for Failure {
    fn from(error: DaemonError) -> Self {
        match error {
            DaemonError::Store(error) => error.into(),
            error => Self::new(Family::Store, "KeyDaemon", error.to_string(), error.advice()),
        }
    }
}

impl From<SyncError> for Failure {
    fn from(error: SyncError) -> Self {
        match error {
            SyncError::Store(error) => error.into(),
            SyncError::File(error) => error.into(),
            error => Self::new(Family::Sync, error.name(), error.to_string(), error.advice()),
        }
    }
}
