//! Takes one file from the store to the editor and back.

use inmost::{FileError, FileText};

use super::editor::{Editor, Signals};
use super::private_folder::PrivateFolder;
use crate::display;
use crate::exit::{Exit, Failure};
use crate::output::print;
use crate::store::OpenStore;

/// Runs the editor on the file, and writes the changed text.
pub(super) fn edit(store: &OpenStore, path: &str, editor: &Editor) -> Result<(), Failure> {
    let before = match store.files().read(path) {
        Ok(text) => Some(text),
        Err(FileError::NotFound) => None,
        Err(error) => return Err(Failure::at(path, error)),
    };
    // Before the text leaves the store, so that no signal can end this process without cleaning up.
    let mut signals = Signals::watch()?;
    let mut folder = PrivateFolder::with_file(path, text(before.as_ref()))?;
    editor.run(&folder, &mut signals)?;
    let after = folder.read().map_err(|failure| folder.keep(failure))?;
    let Ok(after) = std::str::from_utf8(after.as_slice()) else {
        return Err(folder.keep(not_text()));
    };
    if after == text(before.as_ref()) {
        return print(b"The text was not changed. Nothing was written.\n");
    }
    save(store, path, before.as_ref(), after).map_err(|failure| folder.keep(failure))
}

fn not_text() -> Failure {
    Failure::new(
        Exit::Other,
        "The edited text was not written: it is not UTF-8.",
        "Save it as UTF-8.",
    )
}

fn text(file: Option<&FileText>) -> &str {
    file.map_or("", FileText::as_str)
}

/// Writes the text, unless the file has changed since it was read. Two processes that save at the same moment can still
/// overwrite each other: the store has no conditional write.
fn save(
    store: &OpenStore,
    path: &str,
    before: Option<&FileText>,
    after: &str,
) -> Result<(), Failure> {
    let now = store.find(path)?;
    if now.as_ref().map(FileText::as_str) != before.map(FileText::as_str) {
        return Err(Failure::new(
            Exit::Other,
            format!(
                "The edited text was not written: {} was changed in the store in the meantime.",
                display::path(path)
            ),
            "Compare both versions.",
        ));
    }
    store.files().write(path, after).map_err(|error| Failure::writing(path, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(saved: Result<(), Failure>) -> String {
        match saved {
            Err(Failure::Error { message, .. }) => message.into_owned(),
            _ => String::new(),
        }
    }

    #[test]
    fn a_file_that_was_changed_meanwhile_is_not_overwritten() {
        let (store, path) = (OpenStore::Here(inmost::Session::in_memory().unwrap()), "/memories/a");
        assert_eq!(message(save(&store, path, None, "new")), "");
        let before = store.find(path).unwrap();
        assert_eq!(message(save(&store, path, before.as_ref(), "newer")), "");

        // Changed, created and deleted by another process.
        for stale in [before.as_ref(), None] {
            assert!(message(save(&store, path, stale, "mine")).contains("changed in the store"));
        }
        let before = store.find(path).unwrap();
        store.files().remove(path).unwrap();
        assert!(
            message(save(&store, path, before.as_ref(), "mine")).contains("changed in the store")
        );
        assert!(store.find(path).unwrap().is_none());
    }
}
