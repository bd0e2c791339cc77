//! `inmost mv`

use inmost::FileError;

use crate::args::{ActorArgs, StoreArgs};
use crate::completion;
use crate::display;
use crate::exit::Failure;
use crate::memory_path::{self, last_name};
use crate::store::OpenStore;
use crate::store::opening::OpenOptions;

/// Move or rename files and folders of the memory
///
/// If the last path ends in a slash or is a folder, they are moved into it, one after the other; it is created if it does not
/// exist. Otherwise one file or folder gets the last path. An existing file or folder is never overwritten. Missing parent
/// folders of the new path are created.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    inmost mv --store notes.inmost todo.md done.md\n  \
    inmost mv --store notes.inmost ada.md ben.md people/")]
pub(crate) struct Mv {
    #[command(flatten)]
    store: StoreArgs,

    #[command(flatten)]
    actor: ActorArgs,

    /// The files and folders
    #[arg(required = true, value_parser = memory_path::parse, add = completion::memory_path())]
    old: Vec<String>,

    /// Their new path, or the folder to move them into
    #[arg(value_parser = memory_path::parse, add = completion::memory_path())]
    new: String,
}

impl Mv {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let store = self
            .store
            .open(&OpenOptions { actor: self.actor.actor(), ..OpenOptions::default() })?;
        let into = self.is_into_folder(&store)?;
        for (done, old) in self.old.iter().enumerate() {
            let new = match last_name(old) {
                Some(name) if into => format!("{}/{name}", self.new.trim_end_matches('/')),
                _ => self.new.clone(),
            };
            rename(&store, old, &new).map_err(|failure| after(done, failure))?;
        }
        Ok(())
    }

    /// Whether the last path is a folder that the others are moved into.
    fn is_into_folder(&self, store: &OpenStore) -> Result<bool, Failure> {
        let found = match store.files().metadata(&self.new) {
            Ok(found) => Some(found.is_folder()),
            Err(FileError::NotFound) => None,
            // The move itself reports it.
            Err(_) => return Ok(false),
        };
        let is_folder = found.unwrap_or_else(|| self.new.ends_with('/'));
        if is_folder || self.old.len() == 1 {
            return Ok(is_folder);
        }
        Err(Failure::usage(
            format!(
                "{} is not a folder, and several files are to be moved.",
                display::path(&self.new)
            ),
            "Nothing was moved. To make a folder of this name, end the path with a slash.",
        ))
    }
}

/// The failure of a move that others of the list came before.
fn after(done: usize, failure: Failure) -> Failure {
    match failure {
        Failure::Error { exit, message, advice } if done > 0 => {
            let files = display::count(u64::try_from(done).unwrap_or(u64::MAX), "path", "paths");
            Failure::new(exit, message, format!("{files} before it moved already. {advice}"))
        }
        failure => failure,
    }
}

fn rename(store: &OpenStore, old: &str, new: &str) -> Result<(), Failure> {
    store.files().rename(old, new).map_err(|error| match error {
        FileError::AlreadyExists => Failure::at(new, error),
        // Either of the paths.
        FileError::InvalidPath(_) => error.into(),
        error => Failure::at(old, error),
    })
}
