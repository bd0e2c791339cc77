//! `str_replace`.

use inmost_format::secret::Wiped;

use super::screened::{self, Seam};
use super::{Context, numbered};
use crate::tool::failure::Failure;
use crate::tool::screen::Cleared;
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
        let limit = self.options.range_characters;
        let (snippet, cleared) = match self.options.screen.screen() {
            None => (edit::replace(self.session, &path, old, new, limit)?, Cleared::default()),
            Some(screen) => screened::edit(
                self.session,
                screen,
                &path,
                new,
                |_| Seam::default(),
                |new, guard| edit::replace_guarded(self.session, &path, (old, new), limit, guard),
            )?,
        };
        let lines = (snippet.first, snippet.last, snippet.lines);
        let content = numbered(wording::edited_with_snippet(), &snippet.text, lines, limit);
        Ok(screened::report(content, &cleared))
    }
}
