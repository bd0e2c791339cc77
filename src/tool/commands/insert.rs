//! `insert`.

use super::Context;
use crate::tool::error::ToolError;
use crate::tool::memory_tool::Failure;
use crate::tool::wording;
use crate::vfs::path::echo;
use crate::vfs::{FileError, edit};
use inmost_format::secret::Wiped;

impl Context<'_> {
    pub(super) fn insert(
        &self,
        sent: &str,
        line: i64,
        text: &str,
    ) -> Result<Wiped<String>, Failure> {
        let path = self.parse(sent)?;
        self.writable()?;
        edit::insert(self.session, &path, line, text).map_err(|error| match error {
            FileError::NoSuchLine(lines) => {
                ToolError::InvalidInsertLine { insert_line: line, lines }.into()
            }
            error => self.failure(error, sent),
        })?;
        Ok(wording::inserted(echo(sent)))
    }
}
