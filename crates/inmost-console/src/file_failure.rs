//! Failures of operations on files of the memory. They name the path, with control characters escaped.

use inmost::FileError;

use crate::display;
use crate::exit::{Exit, Failure};

const GLOB_ADVICE: &str =
    "Only `grep` takes patterns as paths. Name the files themselves; `inmost ls` lists them.";

impl Failure {
    /// The failure of an operation on the file or folder at this path.
    pub fn at(path: &str, error: FileError) -> Self {
        let shown = display::path(path);
        let named = match &error {
            FileError::NotFound => format!("There is no file or folder at {shown}."),
            FileError::AlreadyExists => format!("There is already a file or folder at {shown}."),
            FileError::InvalidPath(reason) if !path.is_empty() => {
                format!("The path {shown} is not valid: {reason}.")
            }
            _ => return error.into(),
        };
        let is_glob = matches!(error, FileError::NotFound) && path.contains(['*', '?']);
        match error.into() {
            Self::Error { exit, .. } if is_glob => Self::new(exit, named, GLOB_ADVICE),
            Self::Error { exit, advice, .. } => Self::new(exit, named, advice),
            failure => failure,
        }
    }

    /// The failure to write a file at this path. Files are replaced, so only a folder can be in the way.
    pub fn writing(path: &str, error: FileError) -> Self {
        match error {
            FileError::AlreadyExists => FileError::IsAFolder(path.to_owned().into()).into(),
            error => Self::at(path, error),
        }
    }
}

impl From<FileError> for Failure {
    fn from(error: FileError) -> Self {
        let (exit, advice) = match error {
            FileError::Store(error) => return error.into(),
            FileError::InvalidPath(_) | FileError::PathBelow(_) => {
                (Exit::Usage, "A valid path looks like /memories/notes/today.md.")
            }
            FileError::AlreadyExists => {
                (Exit::Other, "Choose another path, or remove the existing file or folder first.")
            }
            FileError::NotFound => (Exit::NoSuchPath, "List the existing files with `inmost ls`."),
            FileError::IsAFolder(folder) => {
                return Self::new(
                    Exit::Other,
                    format!("{} is a folder, not a file.", display::path(folder.as_str())),
                    "List it with `inmost ls`, or name a file in it.",
                );
            }
            FileError::NotAFolder(file) => {
                return Self::new(
                    Exit::Other,
                    format!("{} is a file, not a folder.", display::path(file.as_str())),
                    "Choose a path that does not go through a file.",
                );
            }
            FileError::InvalidPattern(reason) => {
                return Self::usage(
                    format!("Invalid pattern: {reason}."),
                    "Correct or shorten the pattern, or add -F if it is plain text.",
                );
            }
            FileError::FileTooLarge(_) => (Exit::Other, "Split the text into several files."),
            FileError::TooManyFiles(_) | FileError::TooMuchText(_) => {
                (Exit::Other, "Remove files that are no longer needed.")
            }
            FileError::NoSuchVersion(_) => (
                Exit::Other,
                "List the versions with `inmost log`. A version goes when its time is over, or when it is forgotten.",
            ),
            FileError::VersionGone(_) => (
                Exit::Other,
                "It was forgotten or dropped for lack of room, or this change deleted the file: see `inmost log`. `inmost restore PATH` brings a deleted file back while its text is kept.",
            ),
            FileError::Changed(_) => {
                (Exit::Other, "Look at its newest changes with `inmost log`, and try again.")
            }
            _ => (Exit::Other, "Choose another path."),
        };
        Self::new(exit, error.to_string(), advice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(failure: Failure) -> String {
        match failure {
            Failure::Error { message, .. } => message.into_owned(),
            _ => String::new(),
        }
    }

    #[test]
    fn paths_are_named_with_control_characters_escaped() {
        let (path, text) = ("/memories/a\u{1b}[2J", || "/memories/a\u{1b}[2J".to_owned().into());
        for (failure, expected) in [
            (
                Failure::at(path, FileError::NotFound),
                "There is no file or folder at /memories/a\\u{1b}[2J.",
            ),
            (
                Failure::at(path, FileError::AlreadyExists),
                "There is already a file or folder at /memories/a\\u{1b}[2J.",
            ),
            (
                Failure::at(path, FileError::InvalidPath("it is odd".to_owned())),
                "The path /memories/a\\u{1b}[2J is not valid: it is odd.",
            ),
            (
                Failure::writing(path, FileError::AlreadyExists),
                "/memories/a\\u{1b}[2J is a folder, not a file.",
            ),
            (
                FileError::NotAFolder(text()).into(),
                "/memories/a\\u{1b}[2J is a file, not a folder.",
            ),
            (
                Failure::at("", FileError::InvalidPath("it is odd".to_owned())),
                "The path is not valid: it is odd.",
            ),
        ] {
            assert_eq!(message(failure), expected);
        }
    }
}
