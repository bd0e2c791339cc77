//! Changes that a screen lets through.

use inmost_format::secret::Wiped;

use super::Context;
use crate::tool::failure::Failure;
use crate::tool::screen::{Cleared, Refused, ScreenInput, UNSCREENED, review};
use crate::tool::wording;
use crate::vfs::FileError;
use crate::vfs::guard::{Guard, Surroundings};
use crate::vfs::path::MemoryPath;

impl Context<'_> {
    /// Screens a new path, and the whole text of the file if that is new too. If the screen refuses, the checks of the
    /// command come first.
    pub(super) fn screen_path(
        &self,
        path: &MemoryPath,
        text: &str,
        check: impl FnOnce() -> Result<(), FileError>,
    ) -> Result<Cleared, Failure> {
        let Some(screen) = self.options.screen.screen() else { return Ok(Cleared::default()) };
        match review(screen, &ScreenInput::of_path(path.as_str(), text)) {
            Ok(cleared) => Ok(cleared),
            Err(refused) => {
                check()?;
                Err(refused.into())
            }
        }
    }

    /// Makes an edit with the text that the screen lets through.
    ///
    /// The screen sees the text around the edit, but must not run in the writer queue. So the edit is planned once without
    /// being made, which makes the checks of the command and shows the surroundings. It is made only where they are still
    /// the same; otherwise what is there now is screened.
    ///
    /// On a store that hosts share, the first look is at the state that the session knows, which costs no round trip. Only if the
    /// screen refuses that, the newest state is looked at, and the refusal counts if it is for that state.
    pub(super) fn edit<T>(
        &self,
        path: &MemoryPath,
        new: &str,
        seam_in: impl Fn(&Surroundings) -> Seam,
        make: impl Fn(&str, &Guard) -> Result<T, FileError>,
    ) -> Result<(T, Cleared), Failure> {
        let mut cleared = Cleared::default();
        let Some(screen) = self.options.screen.screen() else {
            return Ok((make(new, &Guard::open())?, cleared));
        };
        let mut is_newest = self.session.knows_newest();
        let mut guard = Guard::expecting(None, is_newest);
        for _ in 0..ATTEMPTS {
            let result = make(cleared.text(new), &guard);
            let Some(around) = guard.into_found() else { return Ok((result?, cleared)) };
            let Seam { before, after } = seam_in(&around);
            let before = Wiped::new([around.before.as_str(), before].concat());
            let after = Wiped::new([after, around.after.as_str()].concat());
            match review(screen, &ScreenInput::of_text(path.as_str(), &before, new, &after)) {
                Ok(passed) => {
                    cleared = passed;
                    guard = Guard::expecting(Some(around), is_newest);
                }
                Err(_) if !is_newest => {
                    is_newest = true;
                    guard = Guard::expecting(None, is_newest);
                }
                Err(refused) => return Err(refused.into()),
            }
        }
        Err(Refused(vec![UNSCREENED]).into())
    }
}

/// What a command adds on both sides of the text that it was given.
#[derive(Default)]
pub(super) struct Seam {
    pub(super) before: &'static str,
    pub(super) after: &'static str,
}

/// Adds the line about what was redacted to the result of a successful call.
pub(super) fn report(content: Wiped<String>, cleared: &Cleared) -> Wiped<String> {
    if cleared.redacted == 0 {
        return content;
    }
    let line = wording::redacted(cleared.redacted, &cleared.kinds);
    let end = if content.ends_with('\n') { "" } else { "\n" };
    Wiped::new([content.as_str(), end, line.as_str()].concat())
}

/// Attempts to make an edit. One fails if another call changes the surroundings in between; a call that is refused after
/// so many of them can be made again.
const ATTEMPTS: usize = 100;
