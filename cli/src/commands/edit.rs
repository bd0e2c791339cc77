//! `inmost edit`

#[cfg(target_os = "linux")]
mod editing;

use crate::args::{ActorArgs, StoreArgs};
use crate::completion;
use crate::exit::Failure;
use crate::memory_path;

/// Edit a file of the memory with $VISUAL, $EDITOR or vi; a missing file is created
///
/// The editor gets the text in a private folder on an in-memory file system (that of the login session, or /dev/shm). The
/// folder is overwritten and removed when the editor ends, even if a signal ends it. Without such a file system, the command
/// fails. vim, nvim, nano and emacs are started with options that disable swap, backup, undo and history files; for other
/// editors a warning is printed. Editor plugins may still write files elsewhere, and an in-memory file system can be swapped
/// out: encrypt the swap space, or disable it.
///
/// Unchanged text is not written. If the file was changed in the store in the meantime, or cannot be written, or the editor ends
/// with an error, the edited text is kept in memory and its path is printed. The store stays in use until the editor ends, unless
/// a key daemon holds it.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    inmost edit --store notes.inmost /memories/todo.md\n  \
    EDITOR='code --wait' inmost edit --store notes.inmost /memories/todo.md")]
pub(crate) struct Edit {
    #[command(flatten)]
    store: StoreArgs,

    #[command(flatten)]
    actor: ActorArgs,

    /// The file
    #[arg(value_parser = memory_path::of_file, add = completion::memory_path())]
    path: String,
}

impl Edit {
    #[cfg(target_os = "linux")]
    pub(crate) fn run(&self) -> Result<(), Failure> {
        use crate::passphrase::Input;
        use crate::store::opening::OpenOptions;

        let editor = crate::editor::Editor::from_environment()?;
        // The editor reads standard input.
        let options = OpenOptions { input: Input::Taken, ..OpenOptions::changing(&self.actor) };
        let store = self.store.open(&options)?;
        editing::edit(&store, &self.path, &editor)
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let _ = (&self.store, &self.actor, &self.path);
        Err(crate::editor::no_memory_file_system())
    }
}
