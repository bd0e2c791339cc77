//! `delete`.

use inmost_format::secret::Wiped;

use super::Context;
use crate::tool::failure::Failure;
use crate::tool::wording;
use crate::vfs::arrange;
use crate::vfs::path::echo;

impl Context<'_> {
    pub(super) fn delete(&self, sent: &str) -> Result<Wiped<String>, Failure> {
        let path = self.parse(sent)?;
        self.check_writable()?;
        arrange::delete(self.session, &path)?;
        Ok(wording::deleted(echo(sent)))
    }
}
