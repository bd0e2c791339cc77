//! The commands, one in each file: each turns a typed command into its result.
//!
//! Each checks in the order of the contract. Checks that need no store come first, so that a mistake in a path reads
//! the same whether or not the store is locked.

mod create;
mod delete;
mod insert;
mod rename;
mod screened;
mod str_replace;
mod view;

use inmost_format::secret::Wiped;

use super::command::ToolCommand;
use super::error::ToolError;
use super::failure::Failure;
use super::options::ToolOptions;
use super::result::ToolResult;
use super::wording;
use crate::session::{Session, StoreError};
use crate::vfs::path::MemoryPath;
use crate::vfs::text::{self, Cut, Shown};

/// Runs a command. A mistake of the model is an `Ok` result.
pub(crate) fn run(
    session: &Session,
    options: &ToolOptions,
    command: &ToolCommand,
) -> Result<ToolResult, StoreError> {
    let session = &match &options.actor {
        Some(actor) => session.acting_as(actor),
        None => session.clone(),
    };
    let session = session.within(options.quotas);
    let session = &if options.delete_forgets { session.without_texts() } else { session };
    let call = Context { session, options };
    let content = match command {
        ToolCommand::View { path, view_range } => call.view(path, view_range.as_ref()),
        ToolCommand::Create { path, file_text } => call.create(path, file_text),
        ToolCommand::StrReplace { path, old_str, new_str } => {
            call.str_replace(path, old_str, new_str.as_deref().unwrap_or_default())
        }
        ToolCommand::Insert { path, insert_line, insert_text } => {
            call.insert(path, *insert_line, insert_text)
        }
        ToolCommand::Delete { path } => call.delete(path),
        ToolCommand::Rename { old_path, new_path } => call.rename(old_path, new_path),
    };
    match content {
        Ok(content) => Ok(ToolResult::success(content)),
        Err(failure) => failure.tool_error(command, options).map(ToolResult::from),
    }
}

struct Context<'a> {
    session: &'a Session,
    options: &'a ToolOptions,
}

impl Context<'_> {
    /// A locked store is reported before a read-only tool.
    fn check_writable(&self) -> Result<(), Failure> {
        if self.options.read_only {
            self.session.read(|_| Ok::<(), StoreError>(()))?;
            return Err(ToolError::ReadOnly.into());
        }
        // Without a look at what other hosts have changed: the change itself learns that.
        Ok(self.session.read_once(|_| Ok::<(), StoreError>(()))?)
    }

    fn parse(&self, sent: &str) -> Result<MemoryPath, ToolError> {
        self.options.parse_path(sent)
    }
}

/// Numbers the requested lines that fit a view, and adds a notice if some do not.
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
    // One allocation of the final size: a copy left behind by growth would not be wiped.
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
