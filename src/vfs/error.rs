//! Errors of file operations.

use std::fmt;

use super::file_text::FileText;
use super::path::PathError;
use super::precondition::FileVersion;
use crate::session::StoreError;
use inmost_format::record::RecordError;
use inmost_format::secret;

/// A file operation failed and changed nothing.
#[derive(Debug)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum FileError {
    /// A file or folder already exists at the path or at the destination.
    AlreadyExists,
    /// The file is not as the caller expects, because someone else changed it. Contains what is there now; `None` if there is
    /// no file.
    Changed(Option<Box<FileVersion>>),
    /// The text to search for is empty.
    EmptySearch,
    /// The file would be larger than this many bytes.
    FileTooLarge(u64),
    /// The search pattern is not a valid regular expression. Contains the reason.
    InvalidPattern(String),
    /// The path is a folder, but the operation needs a file. Contains the path.
    IsAFolder(FileText),
    /// A folder cannot move into itself.
    IntoItself,
    /// The path is not valid. Contains the reason, in general words.
    InvalidPath(String),
    /// The line does not exist. Contains the number of lines in the file.
    NoSuchLine(u64),
    /// The history has no version of this number: it was never kept, its time is over, or it is of another store.
    NoSuchVersion(u64),
    /// The text to search for does not occur in the file.
    NoMatch {
        /// The line on which the only text begins that differs from it in spaces, tabs or quotes alone.
        near: Option<u64>,
    },
    /// No file or folder exists at the path, or none of the kind that the operation needs.
    NotFound,
    /// The path is a file, but the operation needs a folder. Contains the path.
    NotAFolder(FileText),
    /// A path below a moved folder would not be valid. Contains the reason, in general words.
    PathBelow(String),
    /// The root folder cannot be moved, replaced or deleted.
    Root,
    /// The text to search for occurs more than once.
    SeveralMatches {
        /// The first lines on which it starts, at most 100.
        lines: Vec<u64>,
        /// The number of further lines on which it starts.
        more: u64,
    },
    /// The store itself failed.
    Store(StoreError),
    /// The store already has this many files, its maximum.
    TooManyFiles(u64),
    /// The store would exceed its maximum of this many bytes of text.
    TooMuchText(u64),
    /// The text of the version of this number is not kept: it was forgotten or dropped for lack of room, or the
    /// change deleted the file.
    VersionGone(u64),
}

impl FileError {
    /// The name of the fact, such as `NotFound`. It is that of the variant, or for an error of the store itself the
    /// [name](StoreError::name) of that one, and never changes its meaning.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::AlreadyExists => "AlreadyExists",
            Self::Changed(_) => "Changed",
            Self::EmptySearch => "EmptySearch",
            Self::FileTooLarge(_) => "FileTooLarge",
            Self::IntoItself => "IntoItself",
            Self::InvalidPath(_) => "InvalidPath",
            Self::InvalidPattern(_) => "InvalidPattern",
            Self::IsAFolder(_) => "IsAFolder",
            Self::NoMatch { .. } => "NoMatch",
            Self::NoSuchLine(_) => "NoSuchLine",
            Self::NoSuchVersion(_) => "NoSuchVersion",
            Self::NotAFolder(_) => "NotAFolder",
            Self::NotFound => "NotFound",
            Self::PathBelow(_) => "PathBelow",
            Self::Root => "Root",
            Self::SeveralMatches { .. } => "SeveralMatches",
            Self::Store(error) => error.name(),
            Self::TooManyFiles(_) => "TooManyFiles",
            Self::TooMuchText(_) => "TooMuchText",
            Self::VersionGone(_) => "VersionGone",
        }
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AlreadyExists => f.write_str("A file or folder already exists at this path."),
            Self::Changed(_) => f.write_str("The file was changed by someone else meanwhile."),
            Self::EmptySearch => f.write_str("The text to search for is empty."),
            Self::FileTooLarge(bytes) => write!(f, "A file may have at most {bytes} bytes."),
            Self::InvalidPattern(reason) => write!(f, "The pattern is not valid: {reason}."),
            Self::IsAFolder(path) => f.write_str(&secret::format(format_args!(
                "{} is a folder, not a file.",
                path.as_str()
            ))),
            Self::IntoItself => f.write_str("A folder cannot be moved into itself."),
            Self::InvalidPath(reason) => write!(f, "The path is not valid: {reason}."),
            Self::NoSuchLine(lines) => {
                write!(f, "There is no such line: the number of lines is {lines}.")
            }
            Self::NoSuchVersion(number) => {
                write!(f, "The history has no version {number}.")
            }
            Self::NoMatch { .. } => f.write_str("The text to search for does not occur."),
            Self::NotFound => f.write_str("There is no such file or folder."),
            // Written as one string, so that a caller that makes a string of it can wipe every copy.
            Self::NotAFolder(path) => f.write_str(&secret::format(format_args!(
                "{} is a file, not a folder.",
                path.as_str()
            ))),
            Self::PathBelow(reason) => {
                write!(f, "A path below the folder would not be valid: {reason}.")
            }
            Self::Root => f.write_str("The root folder cannot be moved, replaced or deleted."),
            Self::SeveralMatches { .. } => {
                f.write_str("The text to search for occurs more than once.")
            }
            Self::Store(error) => error.fmt(f),
            Self::TooManyFiles(files) => write!(f, "The store may hold at most {files} files."),
            Self::TooMuchText(bytes) => {
                write!(f, "The store may hold at most {bytes} bytes of text.")
            }
            Self::VersionGone(number) => {
                write!(f, "The text of version {number} is not kept.")
            }
        }
    }
}

impl std::error::Error for FileError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Store(error) => Some(error),
            _ => None,
        }
    }
}

impl From<StoreError> for FileError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<RecordError> for FileError {
    fn from(error: RecordError) -> Self {
        Self::Store(error.into())
    }
}

impl From<PathError> for FileError {
    fn from(error: PathError) -> Self {
        Self::InvalidPath(match error {
            PathError::Prefix => "it must start with /memories".to_owned(),
            PathError::Escape => "it would escape /memories".to_owned(),
            PathError::Invalid(reason) => reason.describe(),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error;

    use super::FileError as E;
    use super::*;
    use crate::vfs::name::InvalidPath;
    use inmost_storage::every_variant;

    #[test]
    fn every_error_has_a_message_of_one_sentence() {
        let table = every_variant!(FileError {
            E::AlreadyExists => [E::AlreadyExists, "A file or folder already exists at this path."];
            E::Changed(_) => [E::Changed(None), "The file was changed by someone else meanwhile."];
            E::EmptySearch => [E::EmptySearch, "The text to search for is empty."];
            E::FileTooLarge(_) => [E::FileTooLarge(7), "A file may have at most 7 bytes."];
            E::InvalidPattern(_) => [
                E::InvalidPattern("unclosed group".to_owned()),
                "The pattern is not valid: unclosed group."
            ];
            E::IsAFolder(_) => [
                E::IsAFolder(FileText::from("/memories/a".to_owned())),
                "/memories/a is a folder, not a file."
            ];
            E::IntoItself => [E::IntoItself, "A folder cannot be moved into itself."];
            E::InvalidPath(_) => [
                PathError::Prefix.into(),
                "The path is not valid: it must start with /memories."
            ], [
                PathError::Escape.into(),
                "The path is not valid: it would escape /memories."
            ], [
                PathError::Invalid(InvalidPath::Nul).into(),
                "The path is not valid: it contains a NUL character."
            ];
            E::NoSuchLine(_) => [E::NoSuchLine(3), "There is no such line: the number of lines is 3."];
            E::NoSuchVersion(_) => [E::NoSuchVersion(7), "The history has no version 7."];
            E::NoMatch { .. } => [
                E::NoMatch { near: None },
                "The text to search for does not occur."
            ];
            E::NotFound => [E::NotFound, "There is no such file or folder."];
            E::NotAFolder(_) => [
                E::NotAFolder(FileText::from("/memories/a".to_owned())),
                "/memories/a is a file, not a folder."
            ];
            E::PathBelow(_) => [
                E::PathBelow(InvalidPath::LongPath(1_024).describe()),
                "A path below the folder would not be valid: it is longer than 1024 bytes."
            ];
            E::Root => [E::Root, "The root folder cannot be moved, replaced or deleted."];
            E::SeveralMatches { .. } => [
                E::SeveralMatches { lines: vec![1, 2], more: 0 },
                "The text to search for occurs more than once."
            ];
            E::Store(_) => [E::Store(StoreError::Locked), "The store is locked."], [
                RecordError::Randomness.into(),
                "The operating system returned no random bytes."
            ];
            E::TooManyFiles(_) => [E::TooManyFiles(9), "The store may hold at most 9 files."];
            E::TooMuchText(_) => [
                E::TooMuchText(8),
                "The store may hold at most 8 bytes of text."
            ];
            E::VersionGone(_) => [E::VersionGone(7), "The text of version 7 is not kept."];
        });
        for (error, sentence) in table {
            assert_eq!(error.to_string(), sentence);
            let variant = format!("{error:?}");
            let inner = variant.strip_prefix("Store(").unwrap_or(&variant);
            assert!(inner.starts_with(error.name()), "{}", error.name());
        }
    }

    #[test]
    fn the_error_of_the_store_is_the_source_of_its_own() {
        let error = FileError::from(StoreError::Halted);
        let source = error.source().and_then(|source| source.downcast_ref());
        assert!(matches!(source, Some(StoreError::Halted)));
        assert!(FileError::NotFound.source().is_none());
    }
}
