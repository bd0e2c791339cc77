//! Why a command has no result yet, and the one place where that becomes an error for the model or for the application.

use inmost_format::record::RecordError;

use super::command::ToolCommand;
use super::error::{ExceededQuota, ToolError};
use super::options::ToolOptions;
use crate::session::StoreError;
use crate::vfs::FileError;
use crate::vfs::path::echo;

/// Why a command has no result.
pub(super) enum Failure {
    /// The command itself says what is wrong.
    Tool(ToolError),
    /// The file operation below was refused, or the store failed.
    File(FileError),
}

impl Failure {
    /// What the model is told.
    ///
    /// # Errors
    /// What the application must act on instead.
    pub(super) fn tool_error(
        self,
        command: &ToolCommand,
        options: &ToolOptions,
    ) -> Result<ToolError, StoreError> {
        let error = match self {
            Self::Tool(error) => return Ok(error),
            Self::File(FileError::Store(error)) => return Err(error),
            Self::File(error) => error,
        };
        let quoted = |sent: &str| echo(sent).to_owned();
        // The path that a refusal is about where a command has two.
        let (source, target) = command.paths();
        Ok(match (error, command) {
            (FileError::Root, ToolCommand::Rename { .. }) => ToolError::RenameRoot,
            (FileError::Root, _) => ToolError::DeleteRoot,
            (FileError::NotFound | FileError::IsAFolder(_), ToolCommand::View { path, .. }) => {
                ToolError::NothingToView { path: quoted(path) }
            }
            (
                FileError::NotFound | FileError::IsAFolder(_),
                ToolCommand::StrReplace { path, .. },
            ) => ToolError::NothingToEdit { path: quoted(path) },
            (FileError::AlreadyExists, ToolCommand::Rename { new_path, .. }) => {
                ToolError::DestinationExists { new_path: quoted(new_path) }
            }
            (FileError::AlreadyExists, _) => ToolError::AlreadyExists { path: quoted(target) },
            (FileError::IntoItself, _) => ToolError::IntoItself { old_path: quoted(source) },
            (FileError::NotAFolder(file), _) => {
                ToolError::ParentIsFile { file: file.as_str().to_owned() }
            }
            (FileError::InvalidPath(reason) | FileError::PathBelow(reason), _) => {
                ToolError::InvalidPath { path: quoted(target), reason }
            }
            (FileError::EmptySearch, _) => ToolError::EmptyOldStr,
            (FileError::NoMatch, ToolCommand::StrReplace { path, old_str, .. }) => {
                ToolError::NoOccurrence { old_str: old_str.clone(), path: quoted(path) }
            }
            (
                FileError::SeveralMatches { lines, more },
                ToolCommand::StrReplace { old_str, .. },
            ) => ToolError::SeveralOccurrences { old_str: old_str.clone(), lines, more },
            (FileError::NoSuchLine(lines), ToolCommand::Insert { insert_line, .. }) => {
                ToolError::InvalidInsertLine { insert_line: *insert_line, lines }
            }
            (FileError::FileTooLarge(limit), _) => {
                ToolError::FileTooLarge { path: quoted(target), limit }
            }
            // The quota less what the model can see is how much others have.
            (FileError::TooManyFiles(_) | FileError::TooMuchText(_), _)
                if !options.subtree.is_whole() =>
            {
                ToolError::MemoryFull(ExceededQuota::Shared)
            }
            (FileError::TooManyFiles(files), _) => {
                ToolError::MemoryFull(ExceededQuota::Files(files))
            }
            (FileError::TooMuchText(bytes), _) => {
                ToolError::MemoryFull(ExceededQuota::Bytes(bytes))
            }
            // The rest belongs to commands that cannot fail like this.
            _ => ToolError::NotFound { path: quoted(source) },
        })
    }
}

impl From<ToolError> for Failure {
    fn from(error: ToolError) -> Self {
        Self::Tool(error)
    }
}

impl From<FileError> for Failure {
    fn from(error: FileError) -> Self {
        Self::File(error)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::File(error.into())
    }
}

impl From<RecordError> for Failure {
    fn from(error: RecordError) -> Self {
        Self::File(error.into())
    }
}
