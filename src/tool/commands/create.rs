//! `create`.

use inmost_format::secret::Wiped;

use super::{Context, screened};
use crate::tool::failure::Failure;
use crate::tool::wording;
use crate::vfs::edit;
use crate::vfs::path::echo;

impl Context<'_> {
    pub(super) fn create(&self, sent: &str, text: &str) -> Result<Wiped<String>, Failure> {
        let path = self.parse(sent)?;
        self.check_writable()?;
        let overwrite = self.options.create_overwrites;
        let check = || edit::check_target(self.session, &path, overwrite);
        let cleared = self.screen_path(&path, text, check)?;
        edit::write(self.session, &path, cleared.text(text), overwrite)?;
        Ok(screened::report(wording::created(echo(sent)), &cleared))
    }
}
