//! `str_replace`.

use inmost_format::secret::Wiped;

use super::{Context, numbered};
use crate::tool::failure::Failure;
use crate::tool::wording;
use crate::vfs::edit;

impl Context<'_> {
    pub(super) fn str_replace(
        &self,
        sent: &str,
        old: &str,
        new: &str,
    ) -> Result<Wiped<String>, Failure> {
        let path = self.parse(sent)?;
        self.check_writable()?;
        let limit = self.options.ranged_view_characters;
        let snippet = edit::replace(self.session, &path, old, new, limit)?;
        let lines = (snippet.first, snippet.last, snippet.lines);
        Ok(numbered(wording::edited_with_snippet(), &snippet.text, lines, limit))
    }
}
