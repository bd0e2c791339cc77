//! `inmost check`

use inmost::{CheckReport, StoreError, StoreProblem};
use serde::Serialize;

use super::repair::is_damage;
use crate::args::StoreArgs;
use crate::exit::{Exit, Failure};
use crate::output::{print, though_unread};
use crate::progress::Progress;
use crate::recovered::Problem;
use crate::store::naming;
use crate::store::opening::Held;
use crate::{display, json_line, sandbox};

/// Read and authenticate everything in a store, and list the problems
///
/// Walks the whole tree, compares counts and references, and looks for records that nothing refers to. No
/// record is changed. As with every unlock, a damaged copy of the header is restored from the good copy, a missing
/// rollback anchor is created again, with a warning until `inmost accept-rollback`, and the files of an interrupted
/// rewrite are removed.
///
/// If the files of the storage engine are damaged, they are not opened. Then the check searches them for records, and changes
/// nothing at all.
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
    /// file sizes. macOS cannot limit the memory, and Windows none of these
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
            // Fails if a key daemon holds the store: the daemon would read it, outside the sandbox.
            drop(self.store.vault()?);
            return sandbox::run();
        }
        let (report, refusal) = self.check()?;
        let refusal = refusal.map(|error| error.to_string());
        though_unread(if self.json {
            print_json(&report, refusal.as_deref())
        } else {
            let refused = refusal.as_ref().map_or_else(String::new, |error| format!("{error}\n"));
            print((refused + &as_text(&report, refusal.is_some())).as_bytes())
        })?;
        match refusal {
            None if report.problems.is_empty() => Ok(()),
            refusal => Err(damaged(&report, refusal.is_some())),
        }
    }

    /// The report, and why the store was not opened, if it was not.
    fn check(&self) -> Result<(CheckReport, Option<StoreError>), Failure> {
        let mut progress = Progress::new("records read");
        let mut vault = match self.store.hold_to_read()? {
            Held::Daemon(client) => {
                return Ok((client.check(|records| progress.update(records))?, None));
            }
            Held::Here(vault) => vault,
        };
        let (opened, secret) = self
            .store
            .attempt(&mut vault, |vault, secret| vault.unlock_with(secret.credential()))?;
        match opened {
            Ok(session) => {
                self.store.open.warn_of_anchor(session.status()?.anchor);
                let report = session.check_reporting(&mut |records| progress.update(records));
                session.lock();
                Ok((report?, None))
            }
            Err(error) if is_damage(&error) => {
                let mut progress = Progress::new("bytes searched and records read");
                let report = vault.check(secret.credential(), |done| progress.update(done))?;
                Ok((report, Some(error)))
            }
            Err(error) => Err(naming::at(&self.store.place()?, error)),
        }
    }
}

/// One line for each problem.
fn problem_lines(report: &CheckReport) -> String {
    let line = |problem: &StoreProblem| {
        let path = display::path_of(&problem.names);
        format!("{path}: {} {}\n", problem.what, problem.how)
    };
    let lines: String = report.problems.iter().map(line).collect();
    lines + &display::unlisted(report.unlisted)
}

pub(super) fn as_text(report: &CheckReport, is_refused: bool) -> String {
    let problems = problem_lines(report);
    let (records, files) = (report.records, display::count(report.files, "file", "files"));
    let records = display::count(records, "record", "records");
    let bytes = display::size(report.bytes);
    let mut text = format!("{problems}Read {records}: {files}, {bytes} of text.\n");
    if report.orphans > 0 {
        let orphans = display::count(report.orphans, "orphaned record", "orphaned records");
        let line = format!("Found {orphans}: harmless, and removed by the next purge.\n");
        text.push_str(&line);
    }
    if report.problems.is_empty() {
        let sentence = if is_refused {
            "The records themselves are whole: the damage is in the files of the engine.\n"
        } else {
            "No problems found in the records.\n"
        };
        text.push_str(sentence);
    }
    text
}

/// The report as JSON.
#[derive(Serialize)]
struct Object<'a> {
    clean: bool,
    /// Why the store was not opened; then only its records were checked.
    not_opened: Option<&'a str>,
    records: u64,
    files: u64,
    bytes: u64,
    orphans: u64,
    problems: Vec<Problem<'a>>,
    unlisted: u64,
}

pub(super) fn print_json(report: &CheckReport, not_opened: Option<&str>) -> Result<(), Failure> {
    json_line::print(&Object {
        clean: report.problems.is_empty() && not_opened.is_none(),
        not_opened,
        records: report.records,
        files: report.files,
        bytes: report.bytes,
        orphans: report.orphans,
        problems: report.problems.iter().map(Problem::of).collect(),
        unlisted: report.unlisted,
    })
}

/// The failure of a check that found problems.
fn damaged(report: &CheckReport, not_opened: bool) -> Failure {
    let listed = u64::try_from(report.problems.len()).unwrap_or(u64::MAX);
    let problems = display::count(listed.saturating_add(report.unlisted), "problem", "problems");
    let message = match (not_opened, report.problems.is_empty()) {
        (true, true) => "The engine's files are damaged. All records are intact.".to_owned(),
        (true, false) => {
            format!("The engine's files are damaged, and the records have {problems}.")
        }
        (false, _) => format!("The store has {problems}."),
    };
    Failure::new(
        Exit::Damaged,
        message,
        "Copy the folder of the store. Then restore a backup, or run `inmost repair`, which lists what can be kept before it asks.",
    )
}
