//! `inmost check`

use serde::Serialize;

use crate::args::StoreArgs;
use crate::exit::{Exit, Failure};
use crate::output::print;
use crate::passphrase::Input;
use crate::progress::Progress;
use crate::store::facts::{Dropped, Problem, Report};
use crate::{display, sandbox};

/// Read and authenticate everything in a store, and tell what is wrong
///
/// Walks the whole tree, compares what refers to what, and looks for records that nothing refers to. No
/// record is changed; but as with every unlock, a damaged copy of the header is renewed from the good one, a missing anchor is
/// made anew with a warning, and what an interrupted rewrite left is removed. Ends with 12 if anything is wrong; each problem is a line with its path.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    inmost check --store notes.inmost\n  \
    inmost check --store from-elsewhere.inmost --isolated")]
pub(crate) struct Check {
    #[command(flatten)]
    store: StoreArgs,

    /// Open the store in a process of its own, with at most 2 GiB of memory, files not much longer than the store's, and
    /// limited time: for a store of unknown origin
    #[arg(long)]
    isolated: bool,

    /// Print the report as one line of JSON
    #[arg(long)]
    json: bool,

    #[arg(long = sandbox::OPTION, hide = true)]
    confined: bool,
}

impl Check {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        if self.confined {
            sandbox::limit(&self.store.place()?)?;
        } else if self.isolated {
            // An agent would read it instead of the child.
            drop(self.store.vault()?);
            return sandbox::run();
        }
        let report = self.store.with_store_as_it_is(Input::Free, |store| {
            let mut progress = Progress::new("records read");
            store.check(|records| progress.update(records))
        })?;
        let text = if self.json { as_json(&report)? } else { as_text(&report) };
        print(text.as_bytes())?;
        if report.is_clean() { Ok(()) } else { Err(wrong(&report)) }
    }
}

/// One line for each problem, for this command and `repair`.
pub(super) fn lines(report: &Report) -> String {
    listed("", &report.problems, report.unlisted)
}

/// One line for each thing that was dropped.
pub(super) fn dropped(report: &Dropped) -> String {
    listed("dropped ", &report.dropped, report.unlisted)
}

fn listed(before: &str, problems: &[Problem], unlisted: u64) -> String {
    let line = |problem: &Problem| {
        let path = display::path_of(&problem.names);
        format!("{before}{path}: {} {}\n", problem.what, problem.how)
    };
    let lines: String = problems.iter().map(line).collect();
    lines + &display::unlisted(unlisted)
}

fn as_text(report: &Report) -> String {
    let problems = lines(report);
    let (records, files) = (report.records, display::count(report.files, "file", "files"));
    let records = display::count(records, "record", "records");
    let mut text = format!("{problems}Read {records}: {files}, {} bytes of text.\n", report.bytes);
    if report.orphans > 0 {
        let orphans = display::count(report.orphans, "record", "records");
        text.push_str(&orphans);
        text.push_str(" that nothing refers to: harmless, and gone with the next purge.\n");
    }
    if report.is_clean() {
        text.push_str("Nothing is wrong.\n");
    }
    text
}

/// The same for programs.
#[derive(Serialize)]
struct Object<'a> {
    clean: bool,
    records: u64,
    files: u64,
    bytes: u64,
    orphans: u64,
    problems: Vec<Line<'a>>,
    unlisted: u64,
}

#[derive(Serialize)]
struct Line<'a> {
    path: String,
    what: &'a str,
    how: &'a str,
}

fn as_json(report: &Report) -> Result<String, Failure> {
    let problems = report.problems.iter().map(|problem| Line {
        path: display::path_of(&problem.names),
        what: &problem.what,
        how: &problem.how,
    });
    let object = Object {
        clean: report.is_clean(),
        records: report.records,
        files: report.files,
        bytes: report.bytes,
        orphans: report.orphans,
        problems: problems.collect(),
        unlisted: report.unlisted,
    };
    // Neither the strings nor the numbers can fail.
    let line = serde_json::to_string(&object).map_err(|error| Failure::output(&error.into()))?;
    Ok(line + "\n")
}

pub(super) fn wrong(report: &Report) -> Failure {
    let listed = u64::try_from(report.problems.len()).unwrap_or(u64::MAX);
    let what = display::count(listed.saturating_add(report.unlisted), "thing is", "things are");
    Failure::new(
        Exit::Damaged,
        format!("{what} wrong with the store."),
        "Restore a backup; or drop what is damaged with `inmost repair`, or get the rest out with `inmost salvage`.",
    )
}
