//! `delete`.

use super::Context;
use crate::tool::error::ToolError;
use crate::tool::memory_tool::Failure;
use crate::tool::wording;
use crate::vfs::path::echo;
use crate::vfs::{FileError, arrange};
use inmost_format::secret::Wiped;

impl Context<'_> {
    pub(super) fn delete(&self, sent: &str) -> Result<Wiped<String>, Failure> {
        let path = self.parse(sent)?;
        self.writable()?;
        arrange::delete(self.session, &path).map_err(|error| match error {
            FileError::Root => ToolError::DeleteRoot.into(),
            error => self.failure(error, sent),
        })?;
        Ok(wording::deleted(echo(sent)))
    }
}
