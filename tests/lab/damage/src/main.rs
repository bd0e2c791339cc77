//! Damages stores, and verifies what the library makes of them.
//!
//! - `lab-damage run CACHE RESULTS FIRST END`: damages the stores of these seeds, END excluded, in child processes. Makes
//!   the stores that the folder CACHE lacks. Adds a line for each seed to RESULTS, and leaves out the seeds that it has.
//! - `lab-damage seeds CACHE WORK FIRST END`: the same in this process, to the standard output.
//! - `lab-damage table RESULTS`: prints tables as Markdown, and every failure; exits with code 1 if there is one.
//! - `lab-damage scan STORE FILES`: measures an unlock and `plan_repair` on a store of so many files, which it makes if it is
//!   absent.
//!
//! The stores of a cache have random keys, so a seed means the same damage only with the same cache. A store that failed
//! stays in `CACHE/failed`.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "the lab stops at the first problem of its own"
)]

mod damage;
mod folder;
mod oracle;
mod pasts;
mod random;
mod record;
mod scan;
mod supervise;
mod table;
mod trial;
mod truth;

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["run", cache, results, first, end] => {
            pasts::make(Path::new(cache), None);
            supervise::run(Path::new(cache), Path::new(results), number(first)..number(end));
            ExitCode::SUCCESS
        }
        ["seeds", cache, work, first, end] => {
            seeds(Path::new(cache), Path::new(work), number(first), number(end));
            ExitCode::SUCCESS
        }
        ["table", results] => table::print(Path::new(results)),
        ["scan", store, files] => {
            scan::measure(Path::new(store), number(files));
            ExitCode::SUCCESS
        }
        _ => panic!("unknown arguments; main.rs documents them"),
    }
}

fn number(argument: &str) -> u64 {
    argument.parse().expect("a number")
}

/// All seeds have the same past.
fn seeds(cache: &Path, work: &Path, first: u64, end: u64) {
    let base = trial::Base::load(cache, &trial::label_of(first));
    for seed in first..end {
        println!("{}", trial::run(seed, &base, &work.join(seed.to_string())));
        std::io::stdout().flush().unwrap();
    }
}
