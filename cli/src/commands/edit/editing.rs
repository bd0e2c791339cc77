//! Takes one file from the store to the editor and back.

use inmost::{FileError, FileText, Precondition};

use crate::display;
use crate::editor::{Edited, Editor};
use crate::exit::{Exit, Failure};
use crate::output::print;
use crate::store::OpenStore;

/// Runs the editor on the file, and writes the changed text.
pub(super) fn edit(store: &OpenStore, path: &str, editor: &Editor) -> Result<(), Failure> {
    // Before the text: a change in between must be noticed.
    let state = condition(store, path).map_err(|error| Failure::at(path, error))?;
    let before = match store.files().read(path) {
        Ok(text) => Some(text),
        Err(FileError::NotFound) => None,
        Err(error) => return Err(Failure::at(path, error)),
    };
    let mut edited = Edited::of(editor, path, text(before.as_ref()))?;
    if edited.text() == text(before.as_ref()) {
        return print(b"The text was not changed. Nothing was written.\n");
    }
    save(store, path, &state, edited.text()).map_err(|failure| edited.keep(failure))
}

fn text(file: Option<&FileText>) -> &str {
    file.map_or("", FileText::as_str)
}

/// The file as it is now.
fn condition(store: &OpenStore, path: &str) -> Result<Precondition, FileError> {
    let state = store.files().version(path)?;
    Ok(state.map_or(Precondition::Absent, |state| Precondition::Version(state.version)))
}

/// Writes the text, unless the file has changed since.
fn save(store: &OpenStore, path: &str, state: &Precondition, after: &str) -> Result<(), Failure> {
    store.files().write_if(path, after, state).map(drop).map_err(|error| match error {
        FileError::Changed(_) => Failure::new(
            Exit::Other,
            format!(
                "The edited text was not written: {} was changed in the store in the meantime.",
                display::path(path)
            ),
            "Compare both versions.",
        ),
        error => Failure::writing(path, error),
    })
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
        assert_eq!(message(save(&store, path, &Precondition::Absent, "new")), "");
        let before = condition(&store, path).unwrap();
        assert_eq!(message(save(&store, path, &before, "newer")), "");

        // Changed, created and deleted by another process.
        for stale in [before, Precondition::Absent] {
            assert!(message(save(&store, path, &stale, "mine")).contains("changed in the store"));
        }
        let before = condition(&store, path).unwrap();
        store.files().remove(path).unwrap();
        assert!(message(save(&store, path, &before, "mine")).contains("changed in the store"));
        assert!(store.files().version(path).unwrap().is_none());
    }
}
