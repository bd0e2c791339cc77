//! `inmost check`

use inmost::{CheckReport, RepairReport, StoreProblem};
use serde::Serialize;

use crate::args::StoreArgs;
use crate::exit::{Exit, Failure};
use crate::output::print;
use crate::progress::Progress;
use crate::store::opening::OpenOptions;
use crate::{display, sandbox};

/// Read and authenticate everything in a store, and list the problems
///
/// Walks the whole tree, compares counts and references, and looks for records that nothing refers to. No
/// record is changed. As with every unlock, a damaged copy of the header is restored from the good copy, a missing
/// rollback anchor is created again, with a warning until `inmost accept-rollback`, and the files of an interrupted
/// rewrite are removed.
///
/// Exits with 12 if there is a problem. Each problem is a line with its path.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    inmost check --store notes.inmost\n  \
    inmost check --store from-elsewhere.inmost --isolated")]
pub(crate) struct Check {
    #[command(flatten)]
    store: StoreArgs,

    /// For a store of unknown origin: open it in a child process with at most 2 GiB of memory, limited time, and limited
    /// file sizes
    #[arg(long)]
    isolated: bool,

    /// Print the report as one line of JSON
    #[arg(long)]
    json: bool,

    #[arg(long = sandbox::OPTION, hide = true)]
    sandboxed: bool,
}

impl Check {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        if self.sandboxed {
            sandbox::limit(&self.store.place()?)?;
        } else if self.isolated {
            // Fails if a key agent holds the store: the agent would read it, outside the sandbox.
            drop(self.store.vault()?);
            return sandbox::run();
        }
        let report = self.check()?;
        let text = if self.json { as_json(&report)? } else { as_text(&report) };
        print(text.as_bytes())?;
        if report.problems.is_empty() { Ok(()) } else { Err(damaged(&report)) }
    }

    fn check(&self) -> Result<CheckReport, Failure> {
        let options = OpenOptions { hint_compaction: false, ..OpenOptions::default() };
        let store = self.store.open(&options)?;
        let mut progress = Progress::new("records read");
        Ok(store.check(|records| progress.update(records))?)
    }
}

/// One line for each problem.
pub(super) fn problem_lines(report: &CheckReport) -> String {
    lines("", &report.problems, report.unlisted)
}

/// One line for each file or folder that a repair dropped.
pub(super) fn dropped_lines(report: &RepairReport) -> String {
    lines("dropped ", &report.dropped, report.unlisted)
}

fn lines(prefix: &str, problems: &[StoreProblem], unlisted: u64) -> String {
    let line = |problem: &StoreProblem| {
        let path = display::path_of(&problem.names);
        format!("{prefix}{path}: {} {}\n", problem.what, problem.how)
    };
    let lines: String = problems.iter().map(line).collect();
    lines + &display::unlisted(unlisted)
}

fn as_text(report: &CheckReport) -> String {
    let problems = problem_lines(report);
    let (records, files) = (report.records, display::count(report.files, "file", "files"));
    let records = display::count(records, "record", "records");
    let mut text = format!("{problems}Read {records}: {files}, {} bytes of text.\n", report.bytes);
    if report.orphans > 0 {
        let orphans = display::count(report.orphans, "orphaned record", "orphaned records");
        let line = format!("Found {orphans}: harmless, and removed by the next purge.\n");
        text.push_str(&line);
    }
    if report.problems.is_empty() {
        text.push_str("No problems found.\n");
    }
    text
}

/// The report as JSON.
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

fn as_json(report: &CheckReport) -> Result<String, Failure> {
    let problems = report.problems.iter().map(|problem| Line {
        path: display::path_of(&problem.names),
        what: problem.what,
        how: problem.how,
    });
    let object = Object {
        clean: report.problems.is_empty(),
        records: report.records,
        files: report.files,
        bytes: report.bytes,
        orphans: report.orphans,
        problems: problems.collect(),
        unlisted: report.unlisted,
    };
    // Serialising strings and numbers into memory cannot fail.
    let line = serde_json::to_string(&object).map_err(|error| Failure::output(&error.into()))?;
    Ok(line + "\n")
}

/// The failure of a command that found problems.
pub(super) fn damaged(report: &CheckReport) -> Failure {
    let listed = u64::try_from(report.problems.len()).unwrap_or(u64::MAX);
    let problems = display::count(listed.saturating_add(report.unlisted), "problem", "problems");
    Failure::new(
        Exit::Damaged,
        format!("The store has {problems}."),
        "Restore a backup, drop the damaged parts with `inmost repair`, or save the rest with `inmost salvage`.",
    )
}
