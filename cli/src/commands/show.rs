//! `inmost show`

use std::io::{self, IsTerminal};
use std::time::SystemTime;

use inmost::FileText;
use serde::Serialize;

use crate::args::StoreArgs;
use crate::completion;
use crate::exit::Failure;
use crate::json_line;
use crate::output::print;
use crate::store::opening::OpenOptions;
use crate::times::parse_moment;
use crate::version_name::{self, VersionName};
use crate::{display, version};

/// Print the text of a version
///
/// A version is the number that `inmost log` prints, or a path: a.md is the newest, a.md~1 the one before it.
///
/// On a terminal, control characters are escaped.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    inmost show --store notes.inmost 1216\n  \
    inmost show --store notes.inmost a.md~2\n  \
    inmost show --store notes.inmost a.md --at 2h")]
pub(crate) struct Show {
    #[command(flatten)]
    store: StoreArgs,

    /// The version of the file at this time: 2h or 3d ago, a day such as 2026-11-21, or a time such as 2026-11-21T18:30:00Z
    #[arg(long, value_name = "TIME", value_parser = parse_moment)]
    at: Option<SystemTime>,

    /// Print one JSON object: version, path and text
    #[arg(long)]
    json: bool,

    /// The number of the version, or the file with an optional ~N
    #[arg(value_parser = version_name::parse, add = completion::memory_path())]
    version: VersionName,
}

impl Show {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let store = self.store.open(&OpenOptions::reading())?;
        let history = store.history();
        let number = self.version.number(&store, self.at, 0)?;
        let found = version::find(history, number)?;
        if let Some(failure) = version_name::deleted_then(found.as_ref()) {
            return Err(failure);
        }
        let text = history.text(number).map_err(|error| version::failure(number, error))?;
        drop(store);
        let text = text.as_str();
        if self.json {
            let path = found.as_ref().and_then(|version| version.path.as_ref());
            let path = path.map(FileText::as_str);
            return json_line::print(&Object { version: number, path, text });
        }
        let escaped = io::stdout().is_terminal().then(|| display::text(text));
        print(escaped.as_ref().map_or(text.as_bytes(), |escaped| escaped.as_slice()))
    }
}

/// A version as JSON.
#[derive(Serialize)]
struct Object<'a> {
    version: u64,
    path: Option<&'a str>,
    text: &'a str,
}
