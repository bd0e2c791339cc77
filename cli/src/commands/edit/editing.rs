//! One file, from the store to the editor and back.

use super::editor::{Editor, Signals};
use super::private_folder::PrivateFolder;
use crate::exit::{Exit, Failure};
use crate::output::print;
use crate::store::OpenStore;
use crate::store::facts::Text;
use crate::tree;

/// Lets the editor work on the file, and writes what it has changed.
pub(super) fn edit(store: &OpenStore, path: &str, editor: &Editor) -> Result<(), Failure> {
    let before = store.find(path)?;
    if before.is_none() && tree::is_folder(store, path)? {
        return Err(inmost::FileError::AlreadyExists.into());
    }
    // Before there is anything that a signal could leave behind.
    let mut signals = Signals::watch()?;
    let mut folder = PrivateFolder::with_file(path, text(before.as_ref()))?;
    editor.run(&folder, &mut signals)?;
    let after = folder.read().map_err(|failure| folder.keep(failure))?;
    let Ok(after) = std::str::from_utf8(after.expose()) else {
        return Err(folder.keep(not_text()));
    };
    if after == text(before.as_ref()) {
        return print(b"The text was not changed; nothing was written.\n");
    }
    save(store, path, before.as_ref(), after).map_err(|failure| folder.keep(failure))
}

fn not_text() -> Failure {
    Failure::new(
        Exit::Other,
        "The edited text is not UTF-8, so it was not written.",
        "Save it as UTF-8.",
    )
}

fn text(file: Option<&Text>) -> &str {
    file.map_or("", Text::as_str)
}

/// Writes the text, unless the file is no longer what it was. Two who both save at the very same moment can still
/// overtake each other: the store has no write that depends on what is there.
fn save(store: &OpenStore, path: &str, before: Option<&Text>, after: &str) -> Result<(), Failure> {
    let now = store.find(path)?;
    if now.as_ref().map(Text::as_str) != before.map(Text::as_str) {
        return Err(Failure::new(
            Exit::Other,
            "The file was changed in the store meanwhile, so the edited text was not written.",
            "Look at both.",
        ));
    }
    store.write(path, after)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(saved: Result<(), Failure>) -> String {
        match saved {
            Err(Failure::Error { message, .. }) => message.into_owned(),
            _ => String::new(),
        }
    }

    #[test]
    fn a_file_that_was_changed_meanwhile_is_not_overwritten() {
        let (store, path) = (OpenStore::in_memory(), "/memories/a");
        assert_eq!(told(save(&store, path, None, "new")), "");
        let before = store.find(path).unwrap();
        assert_eq!(told(save(&store, path, before.as_ref(), "newer")), "");

        // Changed, made and deleted by another.
        for stale in [before.as_ref(), None] {
            assert!(told(save(&store, path, stale, "mine")).contains("changed in the store"));
        }
        let before = store.find(path).unwrap();
        store.remove(path).unwrap();
        assert!(told(save(&store, path, before.as_ref(), "mine")).contains("changed in the store"));
        assert!(store.find(path).unwrap().is_none());
    }
}
