//! `inmost edit`

#[cfg(target_os = "linux")]
mod editing;
#[cfg(target_os = "linux")]
mod editor;
#[cfg(target_os = "linux")]
mod private_folder;
mod unsupported;

use crate::args::StoreArgs;
use crate::exit::Failure;

/// Edit a file of the memory with $VISUAL or $EDITOR; a file that is not there is made
///
/// The text goes to the editor in a private folder of a file system in memory (of the login session, or /dev/shm), which is
/// overwritten and removed when the editor ends, however it ends. Where there is none, nothing is edited. vim, nvim,
/// nano and emacs are told to keep no swap, backup, undo or history files; of other editors a warning says that this is
/// not known. Plugins of an editor may keep what they like, and a file system in memory can be swapped out: encrypt
/// the swap space, or have none.
///
/// An unchanged text is not written. If the file was changed in the store meanwhile, or cannot be written, the edited text
/// stays in memory and you are told where. The store is in use until the editor ends, unless a key agent
/// has it.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    inmost edit --store notes.inmost /memories/todo.md\n  \
    EDITOR='code --wait' inmost edit --store notes.inmost /memories/todo.md")]
pub(crate) struct Edit {
    #[command(flatten)]
    store: StoreArgs,

    /// The file
    path: String,
}

impl Edit {
    #[cfg(target_os = "linux")]
    pub(crate) fn run(&self) -> Result<(), Failure> {
        use crate::passphrase::Input;

        let editor = editor::Editor::of_environment()?;
        // Standard input is the editor's.
        self.store.with_store(Input::Taken, |store| editing::edit(store, &self.path, &editor))
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let _ = (&self.store, &self.path);
        Err(unsupported::no_memory_file_system())
    }
}
