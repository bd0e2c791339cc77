//! `inmost rm`

use inmost::FileError;
use serde::Serialize;

use crate::args::{ActorArgs, StoreArgs};
use crate::completion;
use crate::exit::Failure;
use crate::json_line;
use crate::memory_path;
use crate::output::{say, though_unread};
use crate::store::OpenStore;
use crate::store::opening::OpenOptions;
use crate::version::{self, Deletion};
use crate::{confirm, display};

/// Delete files and folders of the memory
///
/// A folder is deleted with everything below it. The command asks first; -r skips the question. If one of the paths does not exist,
/// nothing is deleted.
///
/// While the history is on, the text can come back for its time; then a line says until when, and how to end that.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    inmost rm --store notes.inmost todo.md people/ada.md\n  \
    inmost rm --store notes.inmost -r old")]
pub(crate) struct Rm {
    #[command(flatten)]
    store: StoreArgs,

    #[command(flatten)]
    actor: ActorArgs,

    /// Delete folders with everything below them, without asking
    #[arg(short = 'r', long, visible_alias = "recursive", overrides_with = "yes")]
    yes: bool,

    /// Print one JSON object for each path: path, and version, the number of the deletion in the history, or null
    #[arg(long)]
    json: bool,

    /// The files and folders
    #[arg(required = true, value_name = "PATH", value_parser = memory_path::parse, add = completion::memory_path())]
    paths: Vec<String>,
}

impl Rm {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let store = self.store.open(&OpenOptions::changing(&self.actor))?;
        let mut folders = Vec::new();
        for path in &self.paths {
            let found = store.files().metadata(path).map_err(|error| Failure::at(path, error))?;
            if memory_path::is_root(path) {
                return Err(Failure::at(path, FileError::Root));
            }
            if found.is_folder() {
                folders.push(path.as_str());
            }
        }
        if !self.yes && !folders.is_empty() {
            confirm::ask(false, &question(&store, &folders)?, "yes")?;
        }
        for (done, path) in self.paths.iter().enumerate() {
            match store.files().remove(path) {
                // It was there, so it went with another path of the list: the same one, or a folder above it.
                Err(FileError::NotFound) if done > 0 => continue,
                removed => removed.map_err(|error| Failure::at(path, error))?,
            }
            // The deletion is done: a history that cannot be read must not make it look as if it had failed.
            let deletion = version::deletion(store.history(), path);
            though_unread(if self.json {
                let version = match deletion {
                    Some(Deletion::Kept(number, _)) => Some(number),
                    _ => None,
                };
                json_line::print(&Object { path, version })
            } else {
                say(&deletion.map_or_else(String::new, |it| note(it, path)))
            })?;
        }
        Ok(())
    }
}

/// Names each folder with the number of files that go with it.
fn question(store: &OpenStore, folders: &[&str]) -> Result<String, Failure> {
    let mut lines = String::new();
    for path in folders {
        let mut files = 0;
        for entry in store.files().walk(path) {
            let entry = entry.map_err(|error| Failure::at(path, error))?;
            files += u64::from(!entry.metadata.is_folder());
        }
        let (path, files) = (display::path(path), display::count(files, "file", "files"));
        let line = format!("{path} is a folder with {files}.\n");
        lines.push_str(&line);
    }
    Ok(lines + "Type yes to delete everything in it: ")
}

/// A deletion as JSON.
#[derive(Serialize)]
struct Object<'a> {
    path: &'a str,
    version: Option<u64>,
}

/// Says until when the text can come back.
fn note(deletion: Deletion, path: &str) -> String {
    match deletion {
        Deletion::Kept(number, until) => format!(
            "`inmost restore {number}` brings it back until {until}. `inmost forget {}` ends that.\n",
            display::quoted(&display::path(path))
        ),
        Deletion::TooLarge { bytes, room } => format!(
            "The next change drops its text, which has {bytes} bytes: `inmost history` keeps {room} in all.\n"
        ),
    }
}
