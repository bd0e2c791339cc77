//! Why a file operation was refused.

use std::fmt;

use super::file_text::FileText;
use super::path::PathError;
use crate::session::StoreError;
use inmost_format::record::RecordError;
use inmost_format::secret;

/// A file operation changed nothing, for this reason.
#[derive(Debug)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum FileError {
    /// There is a file or folder at the path, or at the destination.
    AlreadyExists,
    /// The text to search for is empty.
    EmptySearch,
    /// The file would be larger than this many bytes.
    FileTooLarge(u64),
    /// What to search for is no regular expression; says why.
    InvalidPattern(String),
    /// This path is a folder, where a file is needed.
    IsAFolder(FileText),
    /// A folder cannot move into itself.
    IntoItself,
    /// The path is not one; in general words.
    InvalidPath(String),
    /// There is no such line; the file has this many.
    NoSuchLine(u64),
    /// The text to search for does not occur.
    NoMatch,
    /// There is nothing at the path, or nothing of the kind that was asked for.
    NotFound,
    /// This path, which would have to be a folder, is a file.
    NotAFolder(FileText),
    /// Something below a moved folder would have an impossible path; in general words.
    PathBelow(String),
    /// The root folder cannot be moved, replaced or deleted.
    Root,
    /// The text to search for occurs more than once.
    SeveralMatches {
        /// The first lines on which it starts, at most 100.
        lines: Vec<u64>,
        /// Further lines on which it starts.
        more: u64,
    },
    /// The store itself failed.
    Store(StoreError),
    /// The store may not hold so many files.
    TooManyFiles(u64),
    /// The store may not hold so many bytes of text.
    TooMuchText(u64),
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AlreadyExists => f.write_str("There is something at this path already."),
            Self::EmptySearch => f.write_str("The text to search for is empty."),
            Self::FileTooLarge(bytes) => write!(f, "A file may have at most {bytes} bytes."),
            Self::InvalidPattern(reason) => write!(f, "The pattern is not valid: {reason}."),
            Self::IsAFolder(path) => f.write_str(&secret::format(format_args!(
                "{} is a folder, not a file.",
                path.as_str()
            ))),
            Self::IntoItself => f.write_str("A folder cannot be moved into itself."),
            Self::InvalidPath(reason) => write!(f, "The path is not valid: {reason}."),
            Self::NoSuchLine(lines) => write!(f, "There is no such line: the file has {lines}."),
            Self::NoMatch => f.write_str("The text to search for does not occur."),
            Self::NotFound => f.write_str("There is no such file or folder."),
            // In one piece, so that whoever makes a string of it can wipe all there is.
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
    fn every_error_says_in_a_sentence_what_happened() {
        let table = every_variant!(FileError {
            E::AlreadyExists => [E::AlreadyExists, "There is something at this path already."];
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
            E::NoSuchLine(_) => [E::NoSuchLine(3), "There is no such line: the file has 3."];
            E::NoMatch => [E::NoMatch, "The text to search for does not occur."];
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
        });
        for (error, sentence) in table {
            assert_eq!(error.to_string(), sentence);
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
