//! `create`.

use inmost_format::secret::Wiped;

use super::Context;
use crate::tool::failure::Failure;
use crate::tool::wording;
use crate::vfs::edit;
use crate::vfs::path::echo;

impl Context<'_> {
    pub(super) fn create(&self, sent: &str, text: &str) -> Result<Wiped<String>, Failure> {
        let path = self.parse(sent)?;
        self.check_writable()?;
        edit::write(self.session, &path, text, self.options.create_overwrites)?;
        Ok(wording::created(echo(sent)))
    }
}
