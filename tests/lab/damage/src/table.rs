//! Tables of all results, failures, and missed targets.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

use crate::damage::KINDS;
use crate::pasts::{ENGINES, PASTS};
use crate::record::Record;

/// Prints the results. The exit code is 1 if there is a failure; a missed target is only reported, because a rare block
/// holds many records.
pub fn print(results: &Path) -> ExitCode {
    let text = fs::read_to_string(results).unwrap();
    let records: Vec<Record> = text.lines().filter_map(Record::parse).collect();
    println!("{} stores.\n", records.len());
    head("damage");
    for (engine, _) in ENGINES {
        for kind in KINDS {
            row(&format!("{engine}, {kind}"), &records, |it| {
                it.kind == kind && it.label.starts_with(engine)
            });
        }
    }
    println!();
    head("past");
    for (engine, _) in ENGINES {
        for past in PASTS {
            let label = format!("{engine}, {past}");
            row(&label, &records, |it| {
                it.label == label
                    && !["lost file", "older file", "cut file"].contains(&it.kind.as_str())
            });
        }
    }
    println!("\nThe rows of pasts leave out lost, older and cut files.\n");
    by_past(&records);
    outcomes(&records);
    for (record, why) in records.iter().filter_map(|it| Some((it, missed(it)?))) {
        println!("target missed: {}: {record}", why);
    }
    let mut failed = 0;
    for record in records.iter().filter(|it| !it.failures.is_empty()) {
        failed += 1;
        println!("FAILED: {record}");
    }
    println!("\n{failed} of {} stores failed", records.len());
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn head(what: &str) {
    let columns = [
        what,
        "stores",
        "refused",
        "opened",
        "at its path",
        "without its name",
        "older",
        "lost",
        "intact, yet older or lost",
    ];
    println!("| {} |", columns.join(" | "));
    println!("|{}", "---|".repeat(columns.len()));
}

/// Median and worst of the four counts, in percent of the files.
fn row(label: &str, records: &[Record], of: impl Fn(&Record) -> bool) {
    let those: Vec<&Record> = records.iter().filter(|it| it.files() > 0 && of(it)).collect();
    if those.is_empty() {
        return;
    }
    let count = |outcomes: &[&str]| {
        those.iter().filter(|it| outcomes.contains(&it.outcome.as_str())).count()
    };
    let share = |part: &dyn Fn(&Record) -> usize, best_first: bool| {
        let mut all: Vec<f64> = those.iter().map(|it| percent(part(it), it.files())).collect();
        all.sort_by(f64::total_cmp);
        let worst = if best_first { all[0] } else { all[all.len() - 1] };
        format!("{}; {}", figure(all[all.len() / 2]), figure(worst))
    };
    println!(
        "| {label} | {} | {} | {} | {} | {} | {} | {} | {} |",
        those.len(),
        count(&["Refused"]),
        count(&["Right", "Partly", "Overwrote"]),
        share(&|it| it.at_place, true),
        share(&|it| it.found, false),
        share(&|it| it.older, false),
        share(&|it| it.lost, false),
        share(&|it| it.intact, false),
    );
}

/// The worst share of files that are older or lost, and in brackets the number of stores.
fn by_past(records: &[Record]) {
    for (engine, _) in ENGINES {
        println!("| {engine} | {} |", PASTS.join(" | "));
        println!("|---{}|", "|---".repeat(PASTS.len()));
        for kind in KINDS {
            let cells = PASTS.map(|past| {
                let label = format!("{engine}, {past}");
                let those = records
                    .iter()
                    .filter(|it| it.kind == kind && it.label == label && it.files() > 0);
                let shares: Vec<f64> =
                    those.map(|it| percent(it.older + it.lost, it.files())).collect();
                let worst = shares.iter().copied().fold(0.0, f64::max);
                format!("{} ({})", figure(worst), shares.len())
            });
            println!("| {kind} | {} |", cells.join(" | "));
        }
        println!();
    }
}

fn outcomes(records: &[Record]) {
    let mut outcomes: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    for record in records {
        *outcomes.entry((&record.file, &record.outcome)).or_default() += 1;
    }
    for ((file, outcome), count) in outcomes {
        println!("{count:6}  {file}: {outcome}");
    }
}

fn percent(part: usize, files: usize) -> f64 {
    part as f64 * 100.0 / files as f64
}

fn figure(share: f64) -> String {
    if share == 0.0 || share == 100.0 { format!("{share}") } else { format!("{share:.1}") }
}

/// The target that was missed.
fn missed(record: &Record) -> Option<String> {
    let limit = match record.kind.as_str() {
        "a bit" | "a byte" => 1.0,
        "zeroed block" => 3.0,
        "swapped blocks" | "two places" => 6.0,
        "header copy" | "anchor" => 0.0,
        _ => return None,
    };
    let gone = percent(record.older + record.lost, record.files().max(1));
    if gone > limit {
        return Some(format!("{} % older or lost", figure(gone)));
    }
    (limit == 1.0 && record.folders_unnamed > 2)
        .then(|| format!("names lost in {} folders", record.folders_unnamed))
}
