//! One file a command: from what was sent to what is answered.
//!
//! Each checks in the order of the contract. What needs no store comes first, so that a mistake in a path reads
//! the same whether or not the store is locked.

mod create;
mod delete;
mod insert;
mod rename;
mod str_replace;
mod view;

use super::command::Command;
use super::error::{Full, ToolError};
use super::memory_tool::{Failure, Options};
use super::result::ToolResult;
use super::wording;
use crate::session::{Session, StoreError};
use crate::vfs::FileError;
use crate::vfs::path::{MemoryPath, echo};
use crate::vfs::text::{self, Cut, Shown};
use inmost_format::record::RecordError;
use inmost_format::secret::Wiped;

/// Runs a command.
pub(super) fn run(
    session: &Session,
    options: &Options,
    command: &Command,
) -> Result<ToolResult, Failure> {
    let call = Context { session, options };
    let content = match command {
        Command::View { path, view_range } => call.view(path, view_range.as_ref())?,
        Command::Create { path, file_text } => call.create(path, file_text)?,
        Command::StrReplace { path, old_str, new_str } => {
            call.str_replace(path, old_str, new_str.as_deref().unwrap_or_default())?
        }
        Command::Insert { path, insert_line, insert_text } => {
            call.insert(path, *insert_line, insert_text)?
        }
        Command::Delete { path } => call.delete(path)?,
        Command::Rename { old_path, new_path } => call.rename(old_path, new_path)?,
    };
    Ok(ToolResult::success(content))
}

struct Context<'a> {
    session: &'a Session,
    options: &'a Options,
}

impl Context<'_> {
    /// A store that is locked says so before a read-only tool says that.
    fn writable(&self) -> Result<(), Failure> {
        self.session.read(|_| Ok::<(), StoreError>(()))?;
        if self.options.read_only { Err(ToolError::ReadOnly.into()) } else { Ok(()) }
    }

    fn parse(&self, sent: &str) -> Result<MemoryPath, ToolError> {
        MemoryPath::parse_in(&self.options.subtree, sent)
            .map_err(|error| ToolError::of_path(error, sent))
    }

    /// The failures that read the same in every command; `sent` is the path they quote.
    fn failure(&self, error: FileError, sent: &str) -> Failure {
        let path = || echo(sent).to_owned();
        let error = match error {
            FileError::AlreadyExists => ToolError::AlreadyExists { path: path() },
            FileError::FileTooLarge(limit) => ToolError::FileTooLarge { path: path(), limit },
            FileError::InvalidPath(reason) | FileError::PathBelow(reason) => {
                ToolError::InvalidPath { path: path(), reason }
            }
            FileError::NotAFolder(file) => {
                ToolError::ParentIsFile { file: file.as_str().to_owned() }
            }
            FileError::TooManyFiles(_) | FileError::TooMuchText(_)
                if !self.options.subtree.is_whole() =>
            {
                // The quota less what the model can see is how much others have.
                ToolError::MemoryFull(Full::Shared)
            }
            FileError::TooManyFiles(files) => ToolError::MemoryFull(Full::Files(files)),
            FileError::TooMuchText(bytes) => ToolError::MemoryFull(Full::Bytes(bytes)),
            FileError::Store(error) => return error.into(),
            // The rest is answered by the command itself; nothing of it reaches this point.
            _ => ToolError::NotFound { path: path() },
        };
        error.into()
    }
}

/// Numbers the part of the requested lines that fits a view, and says so if it is not all of them.
fn numbered(
    header: &str,
    requested: &str,
    (first, last, total): (u64, u64, u64),
    limit: usize,
) -> Wiped<String> {
    let Cut { text, shown } = text::cut(requested, first, limit);
    let notice = match shown {
        Shown::All => None,
        shown => wording::cut_notice(shown, first, last, total),
    };
    let notice = notice.unwrap_or_default();
    // One allocation of final size: a copy that growth left behind would not be wiped.
    let capacity = header.len() + text::numbered_size(text) + notice.len() + 2;
    let mut content = Wiped::new(String::with_capacity(capacity));
    content.push_str(header);
    if !text.is_empty() {
        if !content.ends_with('\n') {
            content.push('\n');
        }
        text::number_lines(first, text, &mut content);
    }
    if !notice.is_empty() {
        content.push('\n');
        content.push_str(&notice);
    }
    content
}

impl From<RecordError> for Failure {
    fn from(error: RecordError) -> Self {
        StoreError::from(error).into()
    }
}
