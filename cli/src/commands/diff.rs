//! `inmost diff`

use std::io::{self, IsTerminal};
use std::time::SystemTime;

use serde::Serialize;

use crate::args::StoreArgs;
use crate::completion;
use crate::exit::Failure;
use crate::json_line;
use crate::output::print;
use crate::pager;
use crate::store::opening::OpenOptions;
use crate::style::{ColorArgs, painted_diff};
use crate::times::parse_moment;
use crate::version_diff::{Side, unified};
use crate::version_name::{self, VersionName};

/// Show what a version changed, or the differences between two versions, as a unified diff
///
/// A version is the number that `inmost log` prints, or a path: a.md is the newest, a.md~1 the one before it. A single one is
/// compared with the file's version before it; with --at, the version of that time is compared with the newest.
///
/// On a terminal the diff has colours and goes through $PAGER, else through `less`. The text goes through a pipe and is
/// written to no file.
///
/// With --json one object is printed: from and to, the numbers of the two versions (null where there is no text), and diff.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    inmost diff --store notes.inmost 1216\n  \
    inmost diff --store notes.inmost 1216 1984\n  \
    inmost diff --store notes.inmost a.md\n  \
    inmost diff --store notes.inmost a.md~3 a.md\n  \
    inmost diff --store notes.inmost a.md --at 2h")]
pub(crate) struct Diff {
    #[command(flatten)]
    store: StoreArgs,

    /// Print one JSON object
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    color: ColorArgs,

    /// Compare the file as it was at this time with its newest version: 2h or 3d ago, a day such as 2026-11-21, or a time such
    /// as 2026-11-21T18:30:00Z
    #[arg(long, value_name = "TIME", value_parser = parse_moment, conflicts_with = "other")]
    at: Option<SystemTime>,

    /// The number of the version, or the file with an optional ~N
    #[arg(value_parser = version_name::parse, add = completion::memory_path())]
    version: VersionName,

    /// The newer version to compare it with
    #[arg(value_parser = version_name::parse, add = completion::memory_path())]
    other: Option<VersionName>,
}

impl Diff {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let store = self.store.open(&OpenOptions::reading())?;
        let history = store.history();
        let side = |version: &VersionName, at| Side::of(history, version.number(&store, at, 0)?);
        let first = side(&self.version, self.at)?;
        let (old, new) = match (&self.other, self.at) {
            (Some(other), _) => (first, side(other, None)?),
            (None, Some(_)) => (first, side(&self.version, None)?),
            (None, None) => (first.before(history)?, first),
        };
        drop(store);
        let diff = unified(&old, &new)?;
        if self.json {
            // The diff of two texts in UTF-8 is UTF-8.
            let diff = std::str::from_utf8(diff.as_slice()).unwrap_or_default();
            return json_line::print(&Object { from: old.number, to: new.number, diff });
        }
        if diff.as_slice().is_empty() {
            return print(b"The texts are the same.\n");
        }
        let style = self.color.style();
        if !style.is_on() && !io::stdout().is_terminal() {
            return print(diff.as_slice());
        }
        pager::page(painted_diff(diff.as_slice(), style).as_slice())
    }
}

/// The differences as a line of JSON.
#[derive(Serialize)]
struct Object<'a> {
    from: Option<u64>,
    to: Option<u64>,
    diff: &'a str,
}
