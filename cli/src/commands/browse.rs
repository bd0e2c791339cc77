//! `inmost browse`

#[cfg(unix)]
mod editing;

use std::time::Duration;

use crate::args::{ActorArgs, StoreArgs};
use crate::exit::Failure;
use crate::times::parse_length;

/// Browse the memory in the terminal: the tree, texts, their versions, a search
///
/// The tree is on the left, the text of the selected file on the right. Press ? for the keys: / searches names and texts as
/// you type, v lists what changed, when and by whom, e edits the file in $VISUAL or $EDITOR as `inmost edit` does, r
/// restores a version, d deletes, F forgets versions, L locks the store, q quits.
///
/// An edit is saved only if nobody else has changed the file meanwhile. Otherwise both texts are kept: yours is saved
/// beside the file, as `todo.edited.md` beside `todo.md`.
///
/// Texts are shown on the alternate screen of the terminal, which is cleared when the store is locked and when the browser
/// ends. Control characters in texts and names are shown as escapes. With a key daemon, changes of other programs appear
/// within a second or two. There are no colours if the variable `NO_COLOR` is set.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    inmost browse --store notes.inmost\n  \
    inmost browse --store notes.inmost --idle 5m")]
pub(crate) struct Browse {
    #[command(flatten)]
    store: StoreArgs,

    #[command(flatten)]
    actor: ActorArgs,

    /// Lock after this long without a key: a number with s, m, h or d. A key daemon has its own time, see `inmost unlock`
    #[arg(long, value_name = "TIME", default_value = "15m", value_parser = parse_length)]
    idle: Duration,
}

impl Browse {
    #[cfg(unix)]
    pub(crate) fn run(&self) -> Result<(), Failure> {
        use crate::passphrase::Input;
        use crate::store::opening::{OpenOptions, Readings};
        use crate::streams;
        use crate::style::Style;

        if !streams::is_attended() {
            return Err(Failure::usage(
                "The browser needs a terminal, and one of the standard streams is not one.",
                "Use `inmost ls`, `inmost cat` and `inmost grep` in scripts.",
            ));
        }
        let open = || {
            // The browser reads standard input.
            let store = self.store.open(&OpenOptions {
                input: Input::Taken,
                readings: Readings::DoNotCount,
                actor: self.actor.actor(),
                ..OpenOptions::default()
            });
            store.map(|store| -> inmost_browse::Guard { Box::new(store) })
        };
        let place = self.store.place()?;
        let name = place.file_name().unwrap_or(place.as_os_str());
        inmost_browse::run(&inmost_browse::Options {
            name: name.to_string_lossy().into_owned(),
            has_colours: Style::of_output().is_on(),
            idle: self.idle,
            open: &open,
            edit: &editing::edit,
        })
    }

    #[cfg(not(unix))]
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let _ = (&self.store, &self.actor, self.idle);
        Err(Failure::usage(
            "The browser does not run on this system yet.",
            "Use `inmost ls`, `inmost cat` and `inmost grep`.",
        ))
    }
}
