//! Random operations on a store against the contract written down a second time: answers, crashes, reopenings.
//!
//! The operations and the model are those of the fuzz target `model`. Each is made from bytes of its own, so what
//! fails shrinks to few operations and simple ones.

use inmost::fuzzing::{Op, Setup, run_operations};
use proptest::collection::vec;
use proptest::prelude::*;

fn setup() -> impl Strategy<Value = Setup> {
    vec(any::<u8>(), 0..12).prop_map(|bytes| Setup::from_bytes(&bytes))
}

fn operation() -> impl Strategy<Value = Op> {
    vec(any::<u8>(), 0..48).prop_map(|bytes| Op::from_bytes(&bytes))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_store_answers_as_the_contract_does(
        setup in setup(),
        operations in vec(operation(), 0..60),
    ) {
        run_operations(&setup, &operations);
    }
}
