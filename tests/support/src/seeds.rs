//! The seeds of random tests. In `cargo test` they are fixed. `INMOST_SEEDS=100..200` sets others for all random tests, and
//! `INMOST_SECONDS=10` ends each of them after the first seed that is finished later. `.ci/run random` uses both.

#![allow(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::fmt::Debug;
use std::ops::Range;
use std::time::{Duration, Instant};

use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngSeed, TestCaseResult, TestRunner};

/// The seeds of a test: `usual`, unless the environment names others. A test that fails says which seed it had.
///
/// # Panics
/// If the environment variables cannot be read.
pub fn seeds(usual: Range<u64>) -> impl Iterator<Item = u64> {
    const FORM: &str = "INMOST_SEEDS is FIRST..END, and INMOST_SECONDS a number";
    let given = std::env::var("INMOST_SEEDS").ok().map(|given| {
        let (first, end) = given.split_once("..").expect(FORM);
        first.parse().expect(FORM)..end.parse().expect(FORM)
    });
    let limit = std::env::var("INMOST_SECONDS").ok();
    let limit = limit.map(|limit| Duration::from_secs(limit.parse().expect(FORM)));
    let begin = Instant::now();
    let is_in_time = move |_: &u64| limit.is_none_or(|limit| begin.elapsed() < limit);
    given.unwrap_or(usual).take_while(is_in_time)
}

/// Tests some random values for each seed; usually for one seed.
///
/// # Panics
/// With the seed and the simplest value that fails.
pub fn for_all<S: Strategy>(values: u32, strategy: &S, test: impl Fn(S::Value) -> TestCaseResult)
where
    S::Value: Debug,
{
    for seed in seeds(0..1) {
        let config = Config {
            cases: values,
            failure_persistence: None,
            rng_seed: RngSeed::Fixed(seed),
            ..Config::default()
        };
        if let Err(failure) = TestRunner::new(config).run(strategy, &test) {
            panic!("seed {seed}: {failure}");
        }
    }
}
