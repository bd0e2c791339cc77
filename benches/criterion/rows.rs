//! The rows that Criterion times: single calls, warm, through the tool as an agent would make them.
//!
//! `run.sh` sets `BENCH_WORK` (a folder on a real disk, with the filled stores), `BENCH_SIZES` (their files) and
//! `BENCH_SECONDS` (how long to measure a row), and gives Criterion the number of samples.

mod durable;
mod long;
mod reading;

use std::path::PathBuf;
use std::time::Duration;

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, SamplingMode};
use inmost_benches::peer::Peer;
use serde_json::Value;

fn main() {
    let seconds: f64 = setting("BENCH_SECONDS").parse().expect("a number of seconds");
    let mut criterion = Criterion::default()
        .without_plots()
        .nresamples(2_000)
        .warm_up_time(Duration::from_secs_f64(seconds / 4.0))
        .measurement_time(Duration::from_secs_f64(seconds))
        .configure_from_args();
    durable::rows(&mut criterion);
    reading::rows(&mut criterion);
    long::rows(&mut criterion);
}

fn setting(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set; run.sh sets it"))
}

/// A folder of this name for the peers of one group, which is not there yet.
fn work(name: &str) -> PathBuf {
    let path = PathBuf::from(setting("BENCH_WORK")).join(name);
    assert!(!path.exists(), "{} is there already", path.display());
    path
}

/// A store that was filled before, and how many files it has.
fn filled() -> Vec<(usize, PathBuf)> {
    let sizes = setting("BENCH_SIZES");
    let stores = sizes.split_whitespace().map(|size| {
        let path = PathBuf::from(setting("BENCH_WORK")).join(format!("store-{size}"));
        (size.parse().expect("a number of files"), path)
    });
    stores.collect()
}

/// A group in which every sample makes the same number of calls: a call takes as long as any other.
fn group<'c>(criterion: &'c mut Criterion, name: &str) -> BenchmarkGroup<'c, WallTime> {
    let mut group = criterion.benchmark_group(name);
    group.sampling_mode(SamplingMode::Flat);
    group
}

/// A call that must succeed.
fn call(peer: &dyn Peer, json: &str) -> String {
    peer.call(json).expect("an answer")
}

/// A file, created through the tool.
fn create(peer: &dyn Peer, path: &str, text: &str) {
    let json = serde_json::json!({"command": "create", "path": path, "file_text": text});
    call(peer, &json.to_string());
}

/// A view of a path.
fn view(path: &str) -> String {
    serde_json::json!({"command": "view", "path": path}).to_string()
}

/// An edit of one line and the edit that takes it back, so that a file stays what it is.
fn edits(path: &str) -> [String; 2] {
    let edit = |old: &str, new: &str| -> Value {
        serde_json::json!({"command": "str_replace", "path": path, "old_str": old, "new_str": new})
    };
    let (green, amber) = ("colour: green", "colour: amber");
    [edit(green, amber).to_string(), edit(amber, green).to_string()]
}
