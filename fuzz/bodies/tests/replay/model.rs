//! Compares random operations on a store with the model of the contract: results, crashes, reopenings, and a history that
//! has little room or time.

use inmost_fuzz_bodies::Scenario;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};

fn scenario() -> impl Strategy<Value = Scenario> {
    let setup = vec(any::<u8>(), 0..12);
    let operations = vec(vec(any::<u8>(), 0..48), 0..60);
    (setup, operations).prop_map(|(setup, operations)| Scenario::from_bytes(&setup, &operations))
}

/// Scenarios that keep versions from the beginning, and change the settings and the clock often. The first byte of an operation
/// is its kind.
fn scenario_of_versions() -> impl Strategy<Value = Scenario> {
    let kind = prop_oneof![
        5 => 26_u8..=30, // the file interface
        3 => 0_u8..=23, // the memory tool
        4 => Just(24_u8), // requests to the history
        1 => 240_u8..=246, // settings
        2 => 247_u8..=252, // the clock
        1 => 253_u8..=255, // small changes until nothing is left to drop
        1 => 33_u8..=39, // reopenings, faults, power cuts and rewrites
    ];
    let operation = (kind, vec(any::<u8>(), 0..40));
    let settings = (Just(240_u8), vec(any::<u8>(), 2));
    (settings, vec(operation, 1..60)).prop_map(|(settings, operations)| {
        let all = std::iter::once(settings).chain(operations);
        let all: Vec<_> = all.map(|(kind, rest)| [vec![kind], rest].concat()).collect();
        Scenario::from_bytes(&[], &all)
    })
}

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config(300))]

    #[test]
    fn a_store_behaves_like_the_model(scenario in scenario()) {
        scenario.run();
    }

    #[test]
    fn a_history_with_little_room_and_time_behaves_like_the_model(scenario in scenario_of_versions()) {
        scenario.run();
    }
}

/// `INMOST_SEEDS=100..200` sets the seeds.
#[test]
#[ignore = "the long form: 300 scenarios for each seed"]
fn a_history_with_little_room_and_time_behaves_like_the_model_for_many_seeds() {
    let seeds = std::env::var("INMOST_SEEDS").unwrap_or_else(|_| "0..10".to_owned());
    let (from, to) = seeds.split_once("..").unwrap();
    for seed in from.parse::<u64>().unwrap()..to.parse().unwrap() {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        let random = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
        let mut runner = TestRunner::new_with_rng(config(300), random);
        let done = runner.run(&scenario_of_versions(), |scenario| {
            scenario.run();
            Ok(())
        });
        done.unwrap_or_else(|failure| panic!("seed {seed}: {failure}"));
    }
}
