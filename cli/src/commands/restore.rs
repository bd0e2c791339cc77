//! `inmost restore`

use inmost::{FileError, FileText};

use crate::args::{ActorArgs, StoreArgs};
use crate::completion;
use crate::display;
use crate::exit::Failure;
use crate::memory_path;
use crate::output::print;
use crate::store::opening::OpenOptions;
use crate::version::{failure, find, gone};

/// Bring back a version, as `inmost log` numbers it
///
/// The text goes to the path that the file had then, or to another. The same file there is replaced; another file or a
/// folder there is never replaced. The number of a deletion brings back what it took, a whole folder too. A restore is a
/// change like any other, and can itself be undone.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    inmost restore --store notes.inmost 1216\n  \
    inmost restore --store notes.inmost 1216 --to /memories/plan-of-monday.md")]
pub(crate) struct Restore {
    #[command(flatten)]
    store: StoreArgs,

    #[command(flatten)]
    actor: ActorArgs,

    /// Bring it back to this path
    #[arg(long, value_name = "PATH", value_parser = memory_path::parse, add = completion::memory_path())]
    to: Option<String>,

    /// The number of the version
    version: u64,
}

impl Restore {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let store = self
            .store
            .open(&OpenOptions { actor: self.actor.actor(), ..OpenOptions::default() })?;
        let history = store.history();
        let version = find(history, self.version)?;
        let then = version.as_ref().and_then(|version| version.path.as_ref());
        let path = self.to.as_deref().or(then.map(FileText::as_str));
        let number = history.restore(self.version, self.to.as_deref()).map_err(|error| {
            match (error, path) {
                (FileError::AlreadyExists, Some(path)) => {
                    match Failure::at(path, FileError::AlreadyExists) {
                        Failure::Error { exit, message, .. } => {
                            Failure::new(exit, message, "Choose another path with --to.")
                        }
                        failure => failure,
                    }
                }
                (FileError::VersionGone(number), _) => gone(number, version.as_ref()),
                (error @ FileError::IsAFolder(_), _) => failure(self.version, error),
                (error, Some(path)) => Failure::at(path, error),
                (error, None) => error.into(),
            }
        })?;
        drop(store);
        let place = path.map(|path| format!(" to {}", display::path(path))).unwrap_or_default();
        print(
            format!("Restored version {}{place}, as version {number}.\n", self.version).as_bytes(),
        )
    }
}
