//! `insert`.

use inmost_format::secret::Wiped;

use super::Context;
use super::screened::{self, Seam};
use crate::tool::failure::Failure;
use crate::tool::screen::Cleared;
use crate::tool::wording;
use crate::vfs::edit;
use crate::vfs::guard::{Guard, Surroundings};
use crate::vfs::path::echo;
use crate::vfs::text::is_unclosed;

impl Context<'_> {
    pub(super) fn insert(
        &self,
        sent: &str,
        line: i64,
        text: &str,
    ) -> Result<Wiped<String>, Failure> {
        let path = self.parse(sent)?;
        self.check_writable()?;
        let cleared = match self.options.screen.screen() {
            None => {
                edit::insert(self.session, &path, line, text)?;
                Cleared::default()
            }
            Some(screen) => {
                let insert = |text: &str, guard: &Guard| {
                    edit::insert_guarded(self.session, &path, line, text, guard)
                };
                screened::edit(
                    self.session,
                    screen,
                    &path,
                    text,
                    |around| seam(around, text),
                    insert,
                )?
                .1
            }
        };
        Ok(screened::report(wording::inserted(echo(sent)), &cleared))
    }
}

/// The line break that the rule for line ends adds, as [`insertion`](crate::vfs::text::insertion) does.
fn seam(around: &Surroundings, text: &str) -> Seam {
    if is_unclosed(&around.before) {
        Seam { before: "\n", after: "" }
    } else {
        Seam { before: "", after: if text.ends_with('\n') { "" } else { "\n" } }
    }
}
