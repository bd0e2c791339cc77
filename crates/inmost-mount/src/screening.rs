//! Screening of what programs write, before it is saved: private keys, API keys, card numbers and IBANs.
//!
//! A screen is a heuristic; docs/PROGRAM.md says what it finds. What the store has already is not screened, and neither are scratch
//! files, which it never has.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use fuser::Errno;
use inmost::{FileError, Screen, ScreenFind, ScreenInput, ScreenVerdict, Wiped};
use inmost_screen::SecretScreen;

use crate::tree::Tree;

impl Tree {
    /// Screens a new path. It is refused in both cases: a name has no place for a mark.
    ///
    /// # Errors
    /// `EACCES`.
    pub(crate) fn screen_path(&self, path: &str) -> Result<(), Errno> {
        if self.screen.is_none() {
            return Ok(());
        }
        let input = ScreenInput::of_path(path, "");
        let verdict = catch_unwind(AssertUnwindSafe(|| SecretScreen::refusing().screen(&input)));
        if verdict.is_ok_and(|verdict| verdict == ScreenVerdict::Allow) {
            Ok(())
        } else {
            Err(Errno::EACCES)
        }
    }

    /// Screens the whole text of a file. Returns what is to be saved in its place; `None` if it is saved as it is. A find that the
    /// file has in the store is no new one.
    ///
    /// # Errors
    /// `EACCES` if it must not be saved.
    pub(crate) fn screened(
        &mut self,
        path: &str,
        text: &str,
    ) -> Result<Option<Wiped<String>>, Errno> {
        let Some(screen) = self.screen else { return Ok(None) };
        let mut finds = find(text)?;
        if finds.is_empty() {
            return Ok(None);
        }
        let old = match self.reader()?.files().read(path) {
            Ok(old) => old,
            Err(FileError::NotFound | FileError::IsAFolder(_)) => String::new().into(),
            Err(error) => return Err(self.fail(&error)),
        };
        let known = find(old.as_str())?;
        let known: HashSet<_> =
            known.iter().filter_map(|find| old.as_str().get(find.range.clone())).collect();
        finds.retain(|find| text.get(find.range.clone()).is_none_or(|find| !known.contains(find)));
        if finds.is_empty() {
            return Ok(None);
        }
        if screen.is_redacting() { Ok(Some(redacted(text, &finds))) } else { Err(Errno::EACCES) }
    }
}

/// The finds in a text. A panic would end the mount, so it is a refusal.
fn find(text: &str) -> Result<Vec<ScreenFind>, Errno> {
    catch_unwind(|| SecretScreen::refusing().find(text)).map_err(|_| Errno::EACCES)
}

/// A text with a mark in the place of each find. Finds that overlap are one, with the mark of the first.
fn redacted(text: &str, finds: &[ScreenFind]) -> Wiped<String> {
    let room = finds.iter().map(|find| find.mark().len()).sum::<usize>();
    let mut redacted = Wiped::new(String::with_capacity(text.len().saturating_add(room)));
    let mut kept_to = 0;
    for find in finds {
        if find.range.start >= kept_to {
            redacted.push_str(text.get(kept_to..find.range.start).unwrap_or_default());
            redacted.push_str(&find.mark());
        }
        kept_to = kept_to.max(find.range.end);
    }
    redacted.push_str(text.get(kept_to..).unwrap_or_default());
    redacted
}
