//! `rename`.

use inmost_format::secret::Wiped;

use super::Context;
use crate::tool::failure::Failure;
use crate::tool::wording;
use crate::vfs::arrange;
use crate::vfs::path::echo;

impl Context<'_> {
    pub(super) fn rename(&self, old_sent: &str, new_sent: &str) -> Result<Wiped<String>, Failure> {
        let old = self.parse(old_sent)?;
        let new = self.parse(new_sent)?;
        self.check_writable()?;
        self.screen_path(&new, "", || arrange::check_rename(self.session, &old, &new))?;
        arrange::rename(self.session, &old, &new)?;
        Ok(wording::renamed(echo(old_sent), echo(new_sent)))
    }
}
