//! `inmost mv`

use inmost::FileError;

use crate::args::{ActorArgs, StoreArgs};
use crate::exit::Failure;
use crate::store::opening::OpenOptions;

/// Move or rename a file or folder of the memory
///
/// An existing file or folder is never overwritten. Missing parent folders of the new path are created.
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  inmost mv --store notes.inmost /memories/todo.md /memories/done.md"
)]
pub(crate) struct Mv {
    #[command(flatten)]
    store: StoreArgs,

    #[command(flatten)]
    actor: ActorArgs,

    /// The file or folder
    old: String,

    /// Its new path
    new: String,
}

impl Mv {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let store = self
            .store
            .open(&OpenOptions { actor: self.actor.actor(), ..OpenOptions::default() })?;
        store.files().rename(&self.old, &self.new).map_err(|error| match error {
            FileError::AlreadyExists => Failure::at(&self.new, error),
            // Either of the paths.
            FileError::InvalidPath(_) => error.into(),
            error => Failure::at(&self.old, error),
        })
    }
}
