//! What a repair or a salvage found, for people and for scripts.

use inmost::{OlderVersion, RecoveryReport, StoreProblem};
use inmost_console::times;
use serde::Serialize;

use crate::{display, json_line};

/// One line for each item of a recovery that is not simply there.
pub(crate) fn lines(report: &RecoveryReport) -> String {
    let line = |kind: &str, problem: &StoreProblem| {
        let path = display::path_of(&problem.names);
        format!("{kind} {path}: {} {}", problem.what, problem.how)
    };
    let lost = report.lost.iter().map(|problem| line("lost", problem) + "\n");
    let older = report.older.iter().map(|it| line("older", &it.problem) + &age(it));
    let found = report.found.iter().map(|problem| line("found", problem) + "\n");
    let lines: String = lost.chain(older).chain(found).collect();
    lines + &display::unlisted(report.unlisted) + &lost_of_history(report)
}

/// How old an older version is, and how many newer ones are lost, to the end of the line.
fn age(older: &OlderVersion) -> String {
    let written = older.written.map(|time| format!("written {}", times::local_minute(time)));
    let newer = older
        .newer
        .map(|newer| display::count(newer, "newer version is lost", "newer versions are lost"));
    let known: Vec<String> = written.into_iter().chain(newer).collect();
    if known.is_empty() {
        return "; its age is not known\n".to_owned();
    }
    format!("; {}\n", known.join(", "))
}

/// The line about the history; empty if nothing of it is lost.
fn lost_of_history(report: &RecoveryReport) -> String {
    let count = |number, one, many| (number > 0).then(|| display::count(number, one, many));
    let lost = [
        count(report.lost_versions, "entry", "entries"),
        count(report.lost_texts, "earlier text", "earlier texts"),
    ];
    let lost: Vec<String> = lost.into_iter().flatten().collect();
    if lost.is_empty() {
        return String::new();
    }
    format!("lost of the history: {}. Its other versions are kept.\n", lost.join(" and "))
}

/// The report of a recovery as JSON.
#[derive(Serialize)]
pub(crate) struct Object<'a> {
    files: u64,
    bytes: u64,
    lost: Vec<Problem<'a>>,
    older: Vec<Older<'a>>,
    found: Vec<Problem<'a>>,
    unlisted: u64,
}

impl<'a> Object<'a> {
    pub(crate) fn of(report: &'a RecoveryReport) -> Self {
        let RecoveryReport { files, bytes, unlisted, .. } = *report;
        let [lost, found] = [&report.lost, &report.found]
            .map(|problems| problems.iter().map(Problem::of).collect());
        let older = report.older.iter().map(Older::of).collect();
        Self { files, bytes, lost, older, found, unlisted }
    }
}

/// A problem as JSON.
#[derive(Serialize)]
pub(crate) struct Problem<'a> {
    path: String,
    what: &'a str,
    how: &'a str,
}

impl<'a> Problem<'a> {
    pub(crate) fn of(problem: &'a StoreProblem) -> Self {
        Self { path: display::path_of(&problem.names), what: problem.what, how: problem.how }
    }
}

/// An older version as JSON.
#[derive(Serialize)]
struct Older<'a> {
    #[serde(flatten)]
    problem: Problem<'a>,
    written: Option<u64>,
    newer: Option<u64>,
}

impl<'a> Older<'a> {
    fn of(older: &'a OlderVersion) -> Self {
        let written = older.written.map(json_line::milliseconds);
        Self { problem: Problem::of(&older.problem), written, newer: older.newer }
    }
}
