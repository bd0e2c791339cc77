//! `inmost mv`

use inmost::FileError;
use serde::Serialize;

use crate::args::{ActorArgs, StoreArgs};
use crate::completion;
use crate::display;
use crate::exit::{Exit, Failure};
use crate::json_line;
use crate::memory_path::{self, last_name};
use crate::output::though_unread;
use crate::store::OpenStore;
use crate::store::opening::OpenOptions;

/// Move or rename files and folders of the memory
///
/// If the last path ends in a slash or is a folder, they are moved into it, one after the other; it is created if it does not
/// exist. All of them are checked first: if one cannot be moved, none is. Otherwise one file or folder gets the last path. An
/// existing file or folder is never overwritten. Missing parent folders of the new path are created.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    inmost mv --store notes.inmost todo.md done.md\n  \
    inmost mv --store notes.inmost ada.md ben.md people/")]
pub(crate) struct Mv {
    #[command(flatten)]
    store: StoreArgs,

    #[command(flatten)]
    actor: ActorArgs,

    /// Print one JSON object for each move: `old_path` and `new_path`
    #[arg(long)]
    json: bool,

    /// The files and folders
    #[arg(required = true, value_parser = memory_path::parse, add = completion::memory_path())]
    old: Vec<String>,

    /// Their new path, or the folder to move them into
    #[arg(value_parser = memory_path::parse, add = completion::memory_path())]
    new: String,
}

impl Mv {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let store = self.store.open(&OpenOptions::changing(&self.actor))?;
        let into = self.is_into_folder(&store)?;
        let moves = self.moves(into);
        if moves.len() > 1 {
            check(&store, &moves).map_err(nothing_moved)?;
        }
        for (done, (old, new)) in moves.iter().enumerate() {
            rename(&store, old, new).map_err(|failure| after(done, failure))?;
            if self.json {
                though_unread(json_line::print(&Object { old_path: old, new_path: new }))?;
            }
        }
        Ok(())
    }

    /// The old and the new path of each move. A path that was given twice is moved once.
    fn moves(&self, into: bool) -> Vec<(&str, String)> {
        let mut moves: Vec<(&str, String)> = Vec::new();
        for old in &self.old {
            let new = match last_name(old) {
                Some(name) if into => format!("{}/{name}", self.new.trim_end_matches('/')),
                _ => self.new.clone(),
            };
            if moves.iter().all(|(known, _)| !is_same(known, old)) {
                moves.push((old, new));
            }
        }
        moves
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

/// A move as JSON.
#[derive(Serialize)]
struct Object<'a> {
    old_path: &'a str,
    new_path: &'a str,
}

/// Checks every move before the first one, so that a list is not moved in part. Another program can still change the memory
/// in between.
fn check(store: &OpenStore, moves: &[(&str, String)]) -> Result<(), Failure> {
    for (index, (old, new)) in moves.iter().enumerate() {
        store.files().metadata(old).map_err(|error| Failure::at(old, error))?;
        let before = moves.get(..index).unwrap_or_default();
        if let Some((folder, _)) = before.iter().find(|(folder, _)| is_below(old, folder)) {
            return Err(Failure::usage(
                format!("{} is in {}, which moves too.", display::path(old), display::path(folder)),
                "Leave one of them out.",
            ));
        }
        if before.iter().any(|(_, taken)| taken == new) {
            return Err(Failure::usage(
                format!("Two of the paths would both become {}.", display::path(new)),
                "Move one of them under another name first.",
            ));
        }
        if is_same(new, old) {
            return Err(Failure::new(
                Exit::Other,
                format!("{} has this path already.", display::path(old)),
                "Leave it out, or choose another folder.",
            ));
        }
        if is_below(new, old) {
            return Err(into_itself(old, new));
        }
        match store.files().metadata(new) {
            Ok(_) => return Err(Failure::at(new, FileError::AlreadyExists)),
            Err(FileError::NotFound) => {}
            Err(error) => return Err(Failure::at(new, error)),
        }
    }
    Ok(())
}

fn is_same(one: &str, other: &str) -> bool {
    one.trim_end_matches('/') == other.trim_end_matches('/')
}

fn is_below(path: &str, folder: &str) -> bool {
    let rest = path.strip_prefix(folder.trim_end_matches('/'));
    rest.is_some_and(|rest| rest.starts_with('/') && rest.len() > 1)
}

fn nothing_moved(failure: Failure) -> Failure {
    match failure {
        Failure::Error { exit, message, advice } => {
            Failure::new(exit, message, format!("Nothing was moved. {advice}"))
        }
        failure => failure,
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

fn into_itself(old: &str, new: &str) -> Failure {
    let (old, new) = (display::path(old), display::path(new));
    Failure::new(
        Exit::Other,
        format!("{old} cannot be moved into itself, to {new}."),
        "Choose another folder.",
    )
}

fn rename(store: &OpenStore, old: &str, new: &str) -> Result<(), Failure> {
    store.files().rename(old, new).map_err(|error| match error {
        FileError::AlreadyExists => Failure::at(new, error),
        FileError::IntoItself => into_itself(old, new),
        // Either of the paths.
        FileError::InvalidPath(_) => error.into(),
        error => Failure::at(old, error),
    })
}
