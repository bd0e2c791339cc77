//! `inmost diff`

use std::io::{self, IsTerminal};
use std::time::Duration;

use inmost::{FileText, History, VersionInfo};
use serde::Serialize;
use similar::TextDiff;

use crate::args::StoreArgs;
use crate::exit::Failure;
use crate::output::print;
use crate::pager::Pager;
use crate::painted_diff::painted;
use crate::store::opening::OpenOptions;
use crate::style::Style;
use crate::version::{failure, find, is_deletion};
use crate::wiped::Wiped;
use crate::{display, json_line, times};

/// Show what a version changed, or the differences between two versions, as a unified diff
///
/// On a terminal the diff has colours and goes through $PAGER, else through `less`. The text goes through a pipe and is
/// written to no file.
///
/// With --json one object is printed: from and to, the numbers of the two versions (null where there is no text), and diff.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    inmost diff --store notes.inmost 1216\n  \
    inmost diff --store notes.inmost 1216 1984")]
pub(crate) struct Diff {
    #[command(flatten)]
    store: StoreArgs,

    /// Print one JSON object
    #[arg(long)]
    json: bool,

    /// The number of the version. Without another, it is compared with the file's version before it
    version: u64,

    /// The newer version to compare it with
    other: Option<u64>,
}

/// One of the two texts.
struct Side {
    /// `None` if there is no text: before the file was created.
    number: Option<u64>,
    version: Option<VersionInfo>,
    /// Empty after a deletion.
    text: FileText,
}

impl Diff {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let store = self.store.open(&OpenOptions::default())?;
        let history = store.history();
        let first = Side::of(history, self.version)?;
        let (old, new) = if let Some(other) = self.other {
            (first, Side::of(history, other)?)
        } else {
            let previous = first.version.as_ref().and_then(|version| version.previous);
            let old = previous.map_or_else(|| Ok(Side::nothing()), |it| Side::of(history, it));
            (old?, first)
        };
        drop(store);
        let diff = unified(&old, &new)?;
        if self.json {
            let mut line = Wiped::default();
            // The diff of two texts in UTF-8 is UTF-8.
            let diff = std::str::from_utf8(diff.as_slice()).unwrap_or_default();
            json_line::append(&Object { from: old.number, to: new.number, diff }, &mut line)?;
            return print(line.as_slice());
        }
        if diff.as_slice().is_empty() {
            return print(b"The texts are the same.\n");
        }
        if !io::stdout().is_terminal() {
            return print(diff.as_slice());
        }
        Pager::start().print(painted(diff.as_slice(), Style::of_output()).as_slice())
    }
}

impl Side {
    fn nothing() -> Self {
        Self { number: None, version: None, text: FileText::from(String::new()) }
    }

    fn of(history: History<'_>, number: u64) -> Result<Self, Failure> {
        let version = find(history, number)?;
        let is_deleted = version.as_ref().is_some_and(|it| is_deletion(it) && it.file.is_some());
        let text = if is_deleted {
            Self::nothing().text
        } else {
            history.text(number).map_err(|error| failure(number, error))?
        };
        Ok(Self { number: Some(number), version, text })
    }

    /// The name for the head of the diff.
    fn name(&self) -> String {
        let Some(number) = self.number else { return "nothing".to_owned() };
        let version = self.version.as_ref();
        let path = version.and_then(|version| version.path.as_ref());
        let path = path.map_or_else(|| "-".to_owned(), |path| display::path(path.as_str()));
        let time = version.map_or_else(String::new, |it| format!(", {}", times::local(it.time)));
        let what = if version.is_some_and(is_deletion) { "deleted by version" } else { "version" };
        format!("{path} ({what} {number}{time})")
    }
}

fn unified(old: &Side, new: &Side) -> Result<Wiped, Failure> {
    let mut config = TextDiff::configure();
    // Long texts with few lines in common would take minutes; after this time the diff is longer than it need be.
    config.timeout(DIFF_TIME);
    let diff = config.diff_lines(old.text.as_str(), new.text.as_str());
    let mut text = Wiped::default();
    let written = diff.unified_diff().header(&old.name(), &new.name()).to_writer(&mut text);
    // Writing into memory cannot fail.
    written.map_err(|error| Failure::output(&error))?;
    Ok(text)
}

/// The differences as a line of JSON.
#[derive(Serialize)]
struct Object<'a> {
    from: Option<u64>,
    to: Option<u64>,
    diff: &'a str,
}

/// How long to look for the shortest diff.
const DIFF_TIME: Duration = Duration::from_secs(5);
