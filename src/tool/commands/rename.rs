//! `rename`.

use super::Context;
use crate::tool::error::ToolError;
use crate::tool::memory_tool::Failure;
use crate::tool::wording;
use crate::vfs::path::echo;
use crate::vfs::{FileError, arrange};
use inmost_format::secret::Wiped;

impl Context<'_> {
    pub(super) fn rename(&self, old_sent: &str, new_sent: &str) -> Result<Wiped<String>, Failure> {
        let old = self.parse(old_sent)?;
        let new = self.parse(new_sent)?;
        self.writable()?;
        arrange::rename(self.session, &old, &new).map_err(|error| match error {
            FileError::Root => ToolError::RenameRoot.into(),
            FileError::NotFound => self.failure(FileError::NotFound, old_sent),
            FileError::AlreadyExists => {
                ToolError::DestinationExists { new_path: echo(new_sent).to_owned() }.into()
            }
            FileError::IntoItself => {
                ToolError::IntoItself { old_path: echo(old_sent).to_owned() }.into()
            }
            error => self.failure(error, new_sent),
        })?;
        Ok(wording::renamed(echo(old_sent), echo(new_sent)))
    }
}
