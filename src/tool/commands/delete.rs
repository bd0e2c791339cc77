//! `delete`.

use inmost_format::secret::Wiped;

use super::Context;
use crate::tool::failure::Failure;
use crate::tool::wording;
use crate::vfs::path::echo;
use crate::vfs::{arrange, versions};

impl Context<'_> {
    pub(super) fn delete(&self, sent: &str) -> Result<Wiped<String>, Failure> {
        let path = self.parse(sent)?;
        self.check_writable()?;
        if self.session.keeps_texts() {
            arrange::delete(self.session, &path)?;
        } else {
            versions::delete(self.session, &path)?;
        }
        Ok(wording::deleted(echo(sent)))
    }
}
