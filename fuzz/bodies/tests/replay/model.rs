//! Compares random operations on a store with the model of the contract: results, crashes, reopenings, and a history that
//! has little room or time.

use inmost_fuzz_bodies::Scenario;
use inmost_testing::for_all;
use proptest::collection::vec;
use proptest::prelude::*;

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

#[test]
fn a_store_behaves_like_the_model() {
    for_all(300, &scenario(), |scenario| {
        scenario.run();
        Ok(())
    });
}

#[test]
fn a_history_with_little_room_and_time_behaves_like_the_model() {
    for_all(300, &scenario_of_versions(), |scenario| {
        scenario.run();
        Ok(())
    });
}
