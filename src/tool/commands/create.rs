//! `create`.

use super::Context;
use crate::tool::memory_tool::Failure;
use crate::tool::wording;
use crate::vfs::edit;
use crate::vfs::path::echo;
use inmost_format::secret::Wiped;

impl Context<'_> {
    pub(super) fn create(&self, sent: &str, text: &str) -> Result<Wiped<String>, Failure> {
        let path = self.parse(sent)?;
        self.writable()?;
        edit::write(self.session, &path, text, self.options.create_overwrites)
            .map_err(|error| self.failure(error, sent))?;
        Ok(wording::created(echo(sent)))
    }
}
