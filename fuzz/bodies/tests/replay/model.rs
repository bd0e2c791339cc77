//! Compares random operations on a store with the model of the contract: results, crashes, reopenings.

use inmost_fuzz_bodies::Scenario;
use proptest::collection::vec;
use proptest::prelude::*;

fn scenario() -> impl Strategy<Value = Scenario> {
    let setup = vec(any::<u8>(), 0..12);
    let operations = vec(vec(any::<u8>(), 0..48), 0..60);
    (setup, operations).prop_map(|(setup, operations)| Scenario::from_bytes(&setup, &operations))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_store_behaves_like_the_model(scenario in scenario()) {
        scenario.run();
    }
}
