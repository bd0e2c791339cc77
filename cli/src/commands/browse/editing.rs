//! Takes a file to the editor and back, and loses neither the edit nor a change that someone else made meanwhile.

use inmost_browse::Problem;

use crate::store::OpenStore;

/// Lets the person edit a file. Returns a sentence on what was saved.
#[cfg(target_os = "linux")]
pub(super) fn edit(store: &OpenStore, path: &str) -> Result<String, Problem> {
    use crate::editor::Editor;

    let editor = Editor::from_environment().map_err(inmost_browse::of_failure)?;
    linux::edit(store, path, &editor)
}

#[cfg(not(target_os = "linux"))]
pub(super) fn edit(_store: &OpenStore, _path: &str) -> Result<String, Problem> {
    Err(inmost_browse::of_failure(crate::editor::no_memory_file_system()))
}

#[cfg(target_os = "linux")]
mod linux {
    use inmost::{FileError, Precondition, StoreError};
    use inmost_browse::{Problem, of_failure, problem};

    use crate::display;
    use crate::editor::{Edited, Editor};
    use crate::exit::Failure;
    use crate::store::OpenStore;

    pub(super) fn edit(store: &OpenStore, path: &str, editor: &Editor) -> Result<String, Problem> {
        let files = store.files();
        // Before the text: a change in between must be noticed.
        let state = files.version(path).map_err(|error| problem(path, error))?;
        let state = state.ok_or(Problem::Gone)?;
        let before = files.read(path).map_err(|error| problem(path, error))?;
        let mut edited = Edited::of(editor, path, before.as_str()).map_err(of_failure)?;
        if edited.text() == before.as_str() {
            return Ok("The text was not changed.".to_owned());
        }
        save(store, path, &Precondition::Version(state.version), edited.text())
            .map_err(|error| kept(path, error, &mut edited))
    }

    /// Writes the text. If the file was changed meanwhile, writes it to a new file beside it.
    fn save(
        store: &OpenStore,
        path: &str,
        state: &Precondition,
        text: &str,
    ) -> Result<String, FileError> {
        let files = store.files();
        match files.write_if(path, text, state) {
            Ok(_) => return Ok(format!("Saved {}.", display::path(path))),
            Err(FileError::Changed(_)) => {}
            Err(error) => return Err(error),
        }
        for number in 1..=MOST_COPIES {
            let beside = beside(path, number);
            match files.write_if(&beside, text, &Precondition::Absent) {
                Ok(_) => {
                    return Ok(format!(
                        "{} was changed by someone else. Both are kept: your text is {}.",
                        display::path(path),
                        display::path(&beside)
                    ));
                }
                Err(FileError::Changed(_) | FileError::AlreadyExists) => {}
                Err(error) => return Err(error),
            }
        }
        Err(FileError::Changed(None))
    }

    /// The problem, with the place of the edited text in it.
    fn kept(path: &str, error: FileError, edited: &mut Edited) -> Problem {
        let is_locked =
            matches!(&error, FileError::Store(StoreError::Locked | StoreError::KeyDaemon(_)));
        match edited.keep(Failure::writing(path, error)) {
            Failure::Error { message, advice, .. } if is_locked => {
                Problem::Locked(format!("{message} {advice}"))
            }
            failure => of_failure(failure),
        }
    }

    /// The path of a copy: `/memories/todo.edited.md` beside `/memories/todo.md`.
    fn beside(path: &str, number: u32) -> String {
        let mark = match number {
            1 => ".edited".to_owned(),
            number => format!(".edited-{number}"),
        };
        let start = path.rfind('/').map_or(0, |at| at.saturating_add(1));
        let dot = path.get(start..).and_then(|name| name.rfind('.'));
        // A dot at the start of a name begins no extension.
        let dot = dot.filter(|dot| *dot > 0);
        let at = dot.map_or(path.len(), |dot| start.saturating_add(dot));
        let (stem, extension) = path.split_at_checked(at).unwrap_or((path, ""));
        [stem, &mark, extension].concat()
    }

    /// Copies of one file that are tried.
    const MOST_COPIES: u32 = 99;

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn both_texts_are_kept_if_someone_else_changed_the_file() {
            let store = OpenStore::Here(inmost::Session::in_memory().unwrap());
            let (files, path) = (store.files(), "/memories/todo.md");
            files.write(path, "old").unwrap();
            let state = Precondition::Version(files.version(path).unwrap().unwrap().version);
            assert_eq!(save(&store, path, &state, "mine").unwrap(), "Saved /memories/todo.md.");

            // The state is the old one now, as after a change by another program.
            for copy in ["todo.edited.md", "todo.edited-2.md"] {
                let said = save(&store, path, &state, copy).unwrap();
                assert!(said.ends_with(&format!("your text is /memories/{copy}.")), "{said}");
                assert_eq!(files.read(&format!("/memories/{copy}")).unwrap().as_str(), copy);
                assert_eq!(files.read(path).unwrap().as_str(), "mine");
            }
        }

        #[test]
        fn a_copy_keeps_the_extension() {
            for (path, expected) in [
                ("/memories/a.md", "/memories/a.edited.md"),
                ("/memories/a.b/c", "/memories/a.b/c.edited"),
                ("/memories/.b", "/memories/.b.edited"),
                ("/memories/\u{e9}.\u{e9}", "/memories/\u{e9}.edited.\u{e9}"),
            ] {
                assert_eq!(beside(path, 1), expected);
            }
            assert_eq!(beside("/memories/a.md", 2), "/memories/a.edited-2.md");
        }
    }
}
