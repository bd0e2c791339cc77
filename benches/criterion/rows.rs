//! The rows that Criterion times: single calls through the tool, warm, like the calls of an agent.
//!
//! `run.sh` sets `BENCH_WORK` (a folder on a real disk with the filled stores), `BENCH_SIZES` (their numbers
//! of files) and `BENCH_SECONDS` (the measuring time of a row), and passes the number of samples to
//! Criterion.

mod durable;
mod long;
mod reading;

use std::path::PathBuf;
use std::time::Duration;

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, SamplingMode};
use inmost_benches::peer::Peer;

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

/// Returns the path of a new folder for the peers of one group.
fn work(name: &str) -> PathBuf {
    let path = PathBuf::from(setting("BENCH_WORK")).join(name);
    assert!(!path.exists(), "{} already exists", path.display());
    path
}

/// Returns the filled stores and their numbers of files.
fn filled() -> Vec<(usize, PathBuf)> {
    let sizes = setting("BENCH_SIZES");
    let stores = sizes.split_whitespace().map(|size| {
        let path = PathBuf::from(setting("BENCH_WORK")).join(format!("store-{size}"));
        (size.parse().expect("a number of files"), path)
    });
    stores.collect()
}

/// Creates a group in which every sample has the same number of calls, because all calls take equally long.
fn group<'c>(criterion: &'c mut Criterion, name: &str) -> BenchmarkGroup<'c, WallTime> {
    let mut group = criterion.benchmark_group(name);
    group.sampling_mode(SamplingMode::Flat);
    group
}

/// Makes a call that must succeed.
fn call(peer: &dyn Peer, json: &str) -> String {
    peer.call(json).expect("a result")
}
