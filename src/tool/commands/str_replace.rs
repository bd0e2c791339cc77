//! `str_replace`.

use super::{Context, numbered};
use crate::tool::error::ToolError;
use crate::tool::memory_tool::Failure;
use crate::tool::wording;
use crate::vfs::path::echo;
use crate::vfs::{FileError, edit};
use inmost_format::secret::Wiped;

impl Context<'_> {
    pub(super) fn str_replace(
        &self,
        sent: &str,
        old: &str,
        new: &str,
    ) -> Result<Wiped<String>, Failure> {
        let path = self.parse(sent)?;
        self.writable()?;
        let limit = self.options.ranged_view_characters;
        let snippet =
            edit::replace(self.session, &path, old, new, limit).map_err(|error| match error {
                FileError::NotFound => {
                    ToolError::NothingToEdit { path: echo(sent).to_owned() }.into()
                }
                FileError::EmptySearch => ToolError::EmptyOldStr.into(),
                FileError::NoMatch => {
                    let path = echo(sent).to_owned();
                    ToolError::NoOccurrence { old_str: old.to_owned(), path }.into()
                }
                FileError::SeveralMatches(lines) => {
                    ToolError::SeveralOccurrences { old_str: old.to_owned(), lines }.into()
                }
                error => self.failure(error, sent),
            })?;
        let lines = (snippet.first, snippet.last, snippet.lines);
        Ok(numbered(wording::edited_with_snippet(), &snippet.text, lines, limit))
    }
}
