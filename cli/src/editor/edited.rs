//! A text after a person has edited it.

use super::private_folder::PrivateFolder;
use super::process::{Editor, Signals};
use crate::exit::{Exit, Failure};
use inmost_console::Wiped;

/// A text after a person has edited it. It is removed from the private folder on drop.
pub(crate) struct Edited {
    folder: PrivateFolder,
    text: Wiped,
}

impl Edited {
    /// Runs the editor on a text. The path only gives the extension of its file.
    ///
    /// # Errors
    /// If the editor fails, a signal ends the edit, or the result is no text. What was saved is kept, but for a signal.
    pub(crate) fn of(editor: &Editor, path: &str, before: &str) -> Result<Self, Failure> {
        // Before the text leaves the store, so that no signal can end this process without cleaning up.
        let mut signals = Signals::watch()?;
        let mut folder = PrivateFolder::with_file(path, before)?;
        let status = editor.run(&folder, &mut signals)?;
        if !status.success() {
            let message = format!("The editor failed: {status}.");
            let failure = Failure::new(Exit::Other, message, "Nothing was written.");
            let is_unchanged = folder.read().is_ok_and(|text| text.as_slice() == before.as_bytes());
            return Err(if is_unchanged { failure } else { folder.keep(failure) });
        }
        let text = folder.read().map_err(|failure| folder.keep(failure))?;
        if std::str::from_utf8(text.as_slice()).is_err() {
            return Err(folder.keep(not_text()));
        }
        Ok(Self { folder, text })
    }

    pub(crate) fn text(&self) -> &str {
        // It was checked above.
        std::str::from_utf8(self.text.as_slice()).unwrap_or_default()
    }

    /// Keeps the edited text after it could not be written, and adds its path to the failure.
    pub(crate) fn keep(&mut self, failure: Failure) -> Failure {
        self.folder.keep(failure)
    }
}

fn not_text() -> Failure {
    Failure::new(
        Exit::Other,
        "The edited text was not written: it is not UTF-8.",
        "Save it as UTF-8.",
    )
}
