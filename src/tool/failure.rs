//! Failures of commands, and their mapping to errors for the model or for the application.

use inmost_format::record::RecordError;

use super::command::ToolCommand;
use super::error::{ExceededQuota, ToolError};
use super::options::ToolOptions;
use super::result::ToolResult;
use super::screen::Refused;
use super::wording;
use crate::session::StoreError;
use crate::vfs::FileError;
use crate::vfs::path::echo;

/// The reason why a command failed.
pub(super) enum Failure {
    /// A check of the command itself failed.
    Tool(ToolError),
    /// A file operation was refused, or the store failed.
    File(FileError),
}

impl Failure {
    /// The error for the model.
    ///
    /// # Errors
    /// [`StoreError`] if the application must act instead.
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
        // The path that a refusal concerns, where a command has two.
        let (source, target) = command.paths();
        Ok(match (error, command) {
            (FileError::Root, ToolCommand::Rename { .. }) => ToolError::RenameRoot,
            (FileError::Root, _) => ToolError::DeleteRoot,
            (
                FileError::NotFound | FileError::IsAFolder(_),
                ToolCommand::View { path, .. } | ToolCommand::Search { path, .. },
            ) => ToolError::NothingToView { path: quoted(path) },
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
            (FileError::NoMatch { near }, ToolCommand::StrReplace { path, old_str, .. }) => {
                ToolError::NoOccurrence { old_str: old_str.clone(), path: quoted(path), near }
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
            // The quota minus the visible part would reveal how much others have stored.
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
            // The remaining errors belong to other commands.
            _ => ToolError::NotFound { path: quoted(source) },
        })
    }
}

impl From<ToolError> for Failure {
    fn from(error: ToolError) -> Self {
        Self::Tool(error)
    }
}

impl From<Refused> for Failure {
    fn from(Refused(kinds): Refused) -> Self {
        Self::Tool(ToolError::Screened { kinds })
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

impl StoreError {
    /// The result that the model reads in place of this error. It reports a locked store or an unknown outcome, and no
    /// other reason.
    #[must_use]
    pub fn for_model(&self) -> ToolResult {
        self.for_model_with(None)
    }

    /// As [`for_model`](Self::for_model), with the host's sentence on how to unlock a locked store.
    pub(crate) fn for_model_with(&self, locked_hint: Option<&str>) -> ToolResult {
        ToolResult::failure(match self {
            Self::Locked => wording::locked(locked_hint),
            Self::OutcomeUnknown | Self::CommitUnknown => {
                wording::outcome_unknown().to_owned().into()
            }
            _ => wording::unavailable().to_owned().into(),
        })
    }
}
