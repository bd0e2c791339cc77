//! Failed calls as objects, from which the TypeScript half makes exceptions: one code for each fact, which is the
//! name that the library has for it.
//!
//! No message contains a path or a text of the memory. Where an error names a path, it is among the details.

use inmost::{FileError, FileVersion, StoreError};
use inmost_keyd::DaemonError;
use inmost_sync::SyncError;
use napi::Env;
use napi::bindgen_prelude::{JsValue, Null, Object, Unknown};

use crate::records::{self, number};

/// Why a call failed.
pub struct Failure {
    family: Family,
    code: &'static str,
    message: String,
    advice: String,
    details: Vec<(&'static str, Detail)>,
}

/// The exception's class.
#[derive(Clone, Copy)]
enum Family {
    Store,
    File,
    Sync,
    Credential,
    /// A mistake of the program: a `TypeError`.
    Argument,
}

enum Detail {
    Number(u64),
    Text(String),
    Lines(Vec<u64>),
    Version(FileVersion),
    Nothing,
}

impl Failure {
    /// A rejection or an exception with this failure as its value.
    pub(crate) fn into_error(self, env: &Env) -> napi::Error {
        match self.to_js(env) {
            Ok(object) => napi::Error::from(object),
            Err(error) => error,
        }
    }

    /// The object that the TypeScript half reads. An `Error`, because napi throws nothing else from calls that return at
    /// once.
    pub(crate) fn to_js<'env>(&self, env: &'env Env) -> napi::Result<Unknown<'env>> {
        let mut object = env.create_error(napi::Error::from_reason(""))?;
        object.set("family", self.family.name())?;
        object.set("code", self.code)?;
        object.set("message", self.message.as_str())?;
        object.set("advice", self.advice.as_str())?;
        let mut details = Object::new(env)?;
        for (name, detail) in &self.details {
            match detail {
                Detail::Number(value) => details.set(name, number(*value))?,
                Detail::Text(text) => details.set(name, text.as_str())?,
                Detail::Lines(lines) => {
                    details.set(name, lines.iter().copied().map(number).collect::<Vec<_>>())?;
                }
                Detail::Version(version) => details.set(name, records::file_version(version))?,
                Detail::Nothing => details.set(name, Null)?,
            }
        }
        object.set("details", details)?;
        Ok(object.to_unknown())
    }

    fn new(family: Family, code: &'static str, message: String, advice: &str) -> Self {
        Self { family, code, message, advice: advice.to_owned(), details: Vec::new() }
    }

    fn with(mut self, details: Vec<(&'static str, Detail)>) -> Self {
        self.details = details;
        self
    }
}

impl Family {
    fn name(self) -> &'static str {
        match self {
            Self::Store => "store",
            Self::File => "file",
            Self::Sync => "sync",
            Self::Credential => "credential",
            Self::Argument => "argument",
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        use Detail::{Number, Text};
        let details = match &error {
            StoreError::RecordsBehindHeader { expected, found }
            | StoreError::HeaderRolledBack { expected, found }
            | StoreError::RolledBack { expected, found } => {
                vec![("expected", Number(*expected)), ("found", Number(*found))]
            }
            StoreError::CopyNotVerified { copy, .. } => vec![("copy", Text(copy.clone()))],
            StoreError::InUse(process) => {
                let process = process.map_or(Detail::Nothing, |process| Number(process.into()));
                vec![("process", process)]
            }
            StoreError::Io(error) => {
                let errno = error.raw_os_error().and_then(|errno| u64::try_from(errno).ok());
                vec![("errno", errno.map_or(Detail::Nothing, Number))]
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
        Self::new(Family::Store, code, error.to_string(), error.advice()).with(details)
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
        Self::new(Family::File, code, message, "").with(details)
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

/// The failure for a store that no key daemon holds.
pub(crate) fn no_daemon() -> Failure {
    let advice = "Run `inmost unlock` first, or open the store with Store.open.";
    let message = "No key daemon holds the store.".to_owned();
    Failure::new(Family::Store, "NoKeyDaemon", message, advice)
}

/// The failure for a credential that no store could have.
pub(crate) fn invalid_credential(reason: &dyn std::fmt::Display) -> Failure {
    let message = format!("The credential is not valid: {reason}.");
    Failure::new(Family::Credential, "InvalidCredential", message, "")
}

/// The failure for a mistake of the program.
pub(crate) fn argument(message: &str) -> Failure {
    Failure::new(Family::Argument, "InvalidArgument", message.to_owned(), "")
}

/// The failure of a call that panicked.
pub(crate) fn panicked() -> Failure {
    let message = "The call ended unexpectedly.".to_owned();
    let advice = "Please report it. Every change that the store acknowledged is safe.";
    Failure::new(Family::Store, "StoreError", message, advice)
}
