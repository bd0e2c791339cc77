//! `insert`.

use inmost_format::secret::Wiped;

use super::Context;
use crate::tool::failure::Failure;
use crate::tool::wording;
use crate::vfs::edit;
use crate::vfs::path::echo;

impl Context<'_> {
    pub(super) fn insert(
        &self,
        sent: &str,
        line: i64,
        text: &str,
    ) -> Result<Wiped<String>, Failure> {
        let path = self.parse(sent)?;
        self.check_writable()?;
        edit::insert(self.session, &path, line, text)?;
        Ok(wording::inserted(echo(sent)))
    }
}
