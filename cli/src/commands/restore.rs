//! `inmost restore`

use std::time::SystemTime;

use inmost::{FileError, FileText};
use serde::Serialize;

use crate::args::{ActorArgs, StoreArgs};
use crate::completion;
use crate::display;
use crate::exit::Failure;
use crate::json_line;
use crate::memory_path;
use crate::output::print;
use crate::store::opening::OpenOptions;
use crate::times::parse_moment;
use crate::version::{failure, find, gone};
use crate::version_name::{self, VersionName};

/// Bring back a version
///
/// A version is the number that `inmost log` prints, or a path: a.md and a.md~1 are the one before the newest.
///
/// The text goes to the path that the file had then, or to another. The same file there is replaced; another file or a
/// folder there is never replaced. The number of a deletion brings back what it took, a whole folder too. A restore is a
/// change like any other, and can itself be undone.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    inmost restore --store notes.inmost 1216\n  \
    inmost restore --store notes.inmost plan.md\n  \
    inmost restore --store notes.inmost plan.md --at 2h\n  \
    inmost restore --store notes.inmost 1216 --to /memories/plan-of-monday.md")]
pub(crate) struct Restore {
    #[command(flatten)]
    store: StoreArgs,

    #[command(flatten)]
    actor: ActorArgs,

    /// Bring it back to this path
    #[arg(long, value_name = "PATH", value_parser = memory_path::parse, add = completion::memory_path())]
    to: Option<String>,

    /// Bring back the version of the file at this time: 2h or 3d ago, a day such as 2026-11-21, or a time such as
    /// 2026-11-21T18:30:00Z
    #[arg(long, value_name = "TIME", value_parser = parse_moment)]
    at: Option<SystemTime>,

    /// Print one JSON object: restored (the version that came back), version (of the restore) and path
    #[arg(long)]
    json: bool,

    /// The number of the version, or the file with an optional ~N
    #[arg(value_parser = version_name::parse, add = completion::memory_path())]
    version: VersionName,
}

impl Restore {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let store = self.store.open(&OpenOptions::changing(&self.actor))?;
        let history = store.history();
        let restored = self.version.number(&store, self.at, 1)?;
        let version = find(history, restored)?;
        let then = version.as_ref().and_then(|version| version.path.as_ref());
        let to = self.to.as_deref().or(self.version.path());
        let path = to.or(then.map(FileText::as_str));
        let number = history.restore(restored, to).map_err(|error| match (error, path) {
            (FileError::AlreadyExists, Some(path)) => {
                match Failure::at(path, FileError::AlreadyExists) {
                    Failure::Error { exit, message, .. } => {
                        Failure::new(exit, message, "Choose another path with --to.")
                    }
                    failure => failure,
                }
            }
            (FileError::VersionGone(number), _) => gone(number, version.as_ref()),
            (error @ FileError::IsAFolder(_), _) => failure(restored, error),
            (error, Some(path)) => Failure::at(path, error),
            (error, None) => error.into(),
        })?;
        drop(store);
        if self.json {
            return json_line::print(&Object { restored, version: number, path });
        }
        let place = path.map(|path| format!(" to {}", display::path(path))).unwrap_or_default();
        print(format!("Restored version {restored}{place}, as version {number}.\n").as_bytes())
    }
}

/// The restore as JSON.
#[derive(Serialize)]
struct Object<'a> {
    restored: u64,
    version: u64,
    path: Option<&'a str>,
}
