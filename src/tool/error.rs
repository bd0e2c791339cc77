//! Failures that the model can act on, which a tool result reports.
//!
//! A locked or broken store is not among them; the application must act on that.

use crate::vfs::path::{PathError, echo};
use std::fmt;
use zeroize::Zeroize;

/// A failure that the model can act on. It quotes only text that the model sent, and canonical memory paths.
///
/// `Display` is the exact content of the tool result. Paths are quoted with one final `/` removed.
///
/// # Security
/// Quotes may contain memory text, so log neither this nor its `Debug`. The quotes are wiped on drop, so they cannot be
/// moved out.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ToolError {
    /// The input is not a call of the memory tool.
    InvalidInput {
        /// The reason; quotes nothing.
        reason: &'static str,
    },
    /// The command does not exist; empty if none was sent.
    UnknownCommand {
        /// As sent.
        command: String,
    },
    /// A required field is absent or null.
    MissingParameter {
        /// The field.
        field: &'static str,
        /// The command that needs it.
        command: &'static str,
    },
    /// A field cannot be read as the expected type.
    WrongType {
        /// The field, by the name it was sent under.
        field: &'static str,
        /// The expected type, such as `a string`.
        expected: &'static str,
    },
    /// The path is not below `/memories`.
    OutsideRoot {
        /// As sent.
        path: String,
    },
    /// A segment of the path could lead out of `/memories` if something decoded it.
    Escape {
        /// As sent.
        path: String,
    },
    /// The path contains a forbidden character or exceeds a limit.
    InvalidPath {
        /// As sent.
        path: String,
        /// The broken rule; quotes nothing.
        reason: String,
    },
    /// `view`: the range is malformed, or the file does not have these lines.
    InvalidViewRange {
        /// The range as compact JSON.
        sent: String,
        /// Lines of the file.
        lines: u64,
    },
    /// `view`: the file has more lines than the tool numbers.
    TooManyLines {
        /// As sent.
        path: String,
    },
    /// `view`: the file or folder does not exist.
    NothingToView {
        /// As sent.
        path: String,
    },
    /// `str_replace`: the file does not exist, or the path is a folder.
    NothingToEdit {
        /// As sent.
        path: String,
    },
    /// `insert`, `delete`, `rename`: the file or folder does not exist.
    NotFound {
        /// As sent.
        path: String,
    },
    /// `create`: a file or folder already exists at the path.
    AlreadyExists {
        /// As sent.
        path: String,
    },
    /// `create`, `rename`: a file is in place of a parent folder.
    ParentIsFile {
        /// The canonical path of that file.
        file: String,
    },
    /// `str_replace`: the text to search for is empty.
    EmptyOldStr,
    /// `str_replace`: the text does not occur.
    NoOccurrence {
        /// As sent.
        old_str: String,
        /// As sent.
        path: String,
        /// The line on which the only text begins that differs from it in spaces, tabs or quotes alone.
        near: Option<u64>,
    },
    /// `str_replace`: the text occurs more than once.
    SeveralOccurrences {
        /// As sent.
        old_str: String,
        /// The first lines on which an occurrence starts, at most 100: distinct, ascending, from 1.
        lines: Vec<u64>,
        /// The number of further lines on which one starts.
        more: u64,
    },
    /// `insert`: the file does not have this line.
    InvalidInsertLine {
        /// As sent; saturated to 64 bits.
        insert_line: i64,
        /// Lines of the file.
        lines: u64,
    },
    /// `delete`: the root cannot be deleted.
    DeleteRoot,
    /// `rename`: the root cannot be renamed.
    RenameRoot,
    /// `rename`: a file or folder already exists at the destination.
    DestinationExists {
        /// As sent.
        new_path: String,
    },
    /// `rename`: a folder cannot move below itself.
    IntoItself {
        /// As sent.
        old_path: String,
    },
    /// The file would exceed the application's limit.
    FileTooLarge {
        /// As sent.
        path: String,
        /// The most bytes that a file may have.
        limit: u64,
    },
    /// The store would exceed one of the application's limits.
    MemoryFull(ExceededQuota),
    /// The application allows no changes.
    ReadOnly,
    /// A [`Screen`](crate::Screen) refused the change.
    Screened {
        /// The kinds of what was found, each once.
        kinds: Vec<&'static str>,
    },
}

impl ToolError {
    /// The failure for a path that the model sent as `sent`.
    pub(crate) fn of_path(error: PathError, sent: &str) -> Self {
        let path = echo(sent).to_owned();
        match error {
            PathError::Prefix => Self::OutsideRoot { path },
            PathError::Escape => Self::Escape { path },
            PathError::Invalid(invalid) => Self::InvalidPath { path, reason: invalid.describe() },
        }
    }
}

impl fmt::Display for ToolError {
    /// Written as one string, so that a caller that makes a string of it can wipe every copy.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence())
    }
}

impl Drop for ToolError {
    fn drop(&mut self) {
        match self {
            Self::UnknownCommand { command: text }
            | Self::OutsideRoot { path: text }
            | Self::Escape { path: text }
            | Self::InvalidPath { path: text, reason: _ }
            | Self::InvalidViewRange { sent: text, lines: _ }
            | Self::TooManyLines { path: text }
            | Self::NothingToView { path: text }
            | Self::NothingToEdit { path: text }
            | Self::NotFound { path: text }
            | Self::AlreadyExists { path: text }
            | Self::ParentIsFile { file: text }
            | Self::SeveralOccurrences { old_str: text, lines: _, more: _ }
            | Self::DestinationExists { new_path: text }
            | Self::IntoItself { old_path: text }
            | Self::FileTooLarge { path: text, limit: _ } => text.zeroize(),
            Self::NoOccurrence { old_str, path, near: _ } => {
                old_str.zeroize();
                path.zeroize();
            }
            Self::InvalidInput { .. }
            | Self::MissingParameter { .. }
            | Self::WrongType { .. }
            | Self::EmptyOldStr
            | Self::InvalidInsertLine { .. }
            | Self::DeleteRoot
            | Self::RenameRoot
            | Self::MemoryFull(_)
            | Self::ReadOnly
            | Self::Screened { .. } => {}
        }
    }
}

impl std::error::Error for ToolError {}

/// The quota of the whole store that is used up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ExceededQuota {
    /// The most files that the store may hold.
    Files(u64),
    /// The most bytes of text that the store may hold.
    Bytes(u64),
    /// One of these two, for a tool that shows only a part of the store: the model must not learn how much the rest
    /// holds.
    Shared,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vfs::path::MemoryPath;

    #[test]
    #[expect(clippy::too_many_lines, reason = "a table of every failure")]
    fn failures_read_as_the_contract_has_them() {
        let path = || "/memories/a".to_owned();
        let old_str = || "x$".to_owned();
        for (error, expected) in [
            (ToolError::InvalidInput { reason: "r" }, "Error: Invalid tool input: r"),
            (
                ToolError::UnknownCommand { command: String::new() },
                "Error: Unknown command: . Valid commands: view, create, str_replace, insert, delete, rename",
            ),
            (
                ToolError::MissingParameter { field: "path", command: "view" },
                "Error: Missing required parameter `path` for command view",
            ),
            (
                ToolError::WrongType { field: "path", expected: "a string" },
                "Error: Invalid parameter `path`: expected a string",
            ),
            (
                ToolError::WrongType { field: "insert_line", expected: "an integer" },
                "Error: Invalid parameter `insert_line`: expected an integer",
            ),
            (
                ToolError::OutsideRoot { path: path() },
                "Error: Path must start with /memories, got: /memories/a",
            ),
            (
                ToolError::Escape { path: path() },
                "Error: Path /memories/a would escape /memories directory",
            ),
            (
                ToolError::InvalidPath { path: path(), reason: "r".to_owned() },
                "Error: Invalid path /memories/a: r",
            ),
            (
                ToolError::InvalidViewRange { sent: "[4,2]".to_owned(), lines: 3 },
                "Error: Invalid `view_range`: [4,2]. It should be two integers within the lines of the file: [1, 3]",
            ),
            (
                ToolError::TooManyLines { path: path() },
                "File /memories/a exceeds maximum line limit of 999,999 lines.",
            ),
            (
                ToolError::NothingToView { path: path() },
                "The path /memories/a does not exist. Please provide a valid path.",
            ),
            (
                ToolError::NothingToEdit { path: path() },
                "Error: The path /memories/a does not exist. Please provide a valid path.",
            ),
            (ToolError::NotFound { path: path() }, "Error: The path /memories/a does not exist"),
            (ToolError::AlreadyExists { path: path() }, "Error: File /memories/a already exists"),
            (
                ToolError::ParentIsFile { file: path() },
                "Error: /memories/a is a file, not a directory",
            ),
            (ToolError::EmptyOldStr, "Error: The `old_str` parameter must not be empty."),
            (
                ToolError::NoOccurrence { old_str: old_str(), path: path(), near: None },
                "No replacement was performed, old_str `x$` did not appear verbatim in /memories/a.",
            ),
            (
                ToolError::NoOccurrence { old_str: old_str(), path: path(), near: Some(7) },
                "No replacement was performed, old_str `x$` did not appear verbatim in /memories/a.\n[Line 7 differs from it only in spaces, tabs or quotes.]",
            ),
            (
                ToolError::SeveralOccurrences { old_str: old_str(), lines: vec![1, 30], more: 0 },
                "No replacement was performed. Multiple occurrences of old_str `x$` in lines: 1, 30. Please ensure it is unique",
            ),
            (
                ToolError::SeveralOccurrences { old_str: old_str(), lines: vec![1, 30], more: 7 },
                "No replacement was performed. Multiple occurrences of old_str `x$` in lines: 1, 30 and 7 more. Please ensure it is unique",
            ),
            (
                ToolError::InvalidInsertLine { insert_line: -1, lines: 2 },
                "Error: Invalid `insert_line` parameter: -1. It should be within the range of lines of the file: [0, 2]",
            ),
            (ToolError::DeleteRoot, "Error: Cannot delete the /memories directory itself"),
            (ToolError::RenameRoot, "Error: Cannot rename the /memories directory itself"),
            (
                ToolError::DestinationExists { new_path: path() },
                "Error: The destination /memories/a already exists",
            ),
            (
                ToolError::IntoItself { old_path: path() },
                "Error: Cannot move /memories/a into itself",
            ),
            (
                ToolError::FileTooLarge { path: path(), limit: 16_777_216 },
                "Error: File /memories/a would exceed the maximum size of 16777216 bytes.",
            ),
            (
                ToolError::MemoryFull(ExceededQuota::Files(3)),
                "Error: Memory is full: it may hold at most 3 files",
            ),
            (
                ToolError::MemoryFull(ExceededQuota::Bytes(9)),
                "Error: Memory is full: it may hold at most 9 bytes of text",
            ),
            (
                ToolError::MemoryFull(ExceededQuota::Shared),
                "Error: Memory is full: there is no room left",
            ),
            (ToolError::ReadOnly, "Error: Memory is read-only."),
            (
                ToolError::Screened { kinds: vec!["API key"] },
                "Error: Not saved: the text contains API key. Leave it out and try again.",
            ),
            (
                ToolError::Screened { kinds: vec!["private key", "card number"] },
                "Error: Not saved: the text contains private key, card number. Leave it out and try again.",
            ),
        ] {
            assert_eq!(error.to_string(), expected);
        }
    }

    #[test]
    fn a_refused_path_is_echoed_without_one_final_slash() {
        for (sent, expected) in [
            ("", "Error: Path must start with /memories, got: "),
            ("/", "Error: Path must start with /memories, got: /"),
            ("/etc//", "Error: Path must start with /memories, got: /etc/"),
            ("/memories/../", "Error: Path /memories/.. would escape /memories directory"),
            ("/memories/%00/", "Error: Invalid path /memories/%00: it contains a NUL character"),
        ] {
            let error = MemoryPath::parse(sent).unwrap_err();
            assert_eq!(ToolError::of_path(error, sent).to_string(), expected);
        }
    }
}
