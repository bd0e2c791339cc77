//! The objects of tests/vectors, opened with version, name and body. Needs the feature `internals`, as in a plain `cargo test`.

#![cfg(feature = "internals")]
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test that meets the unexpected should stop there"
)]

use inmost_sync::internals::Fuzzed;
use inmost_sync::{Dot, LogId, Tag};
use serde_json::Value;

#[test]
fn the_objects_of_the_vectors_open_and_their_changes_are_refused() {
    let text = include_str!("../../../tests/vectors/objects.json");
    let vectors: Value = serde_json::from_str(text).unwrap();
    let cases = |key: &str| vectors[key].as_array().unwrap();
    let device = Fuzzed::new().unwrap();
    let opens = |case: &Value, tag: &[u8], object: &[u8]| {
        let log = LogId(bytes(&case["log"]).try_into().unwrap());
        let tag = Tag(tag.try_into().unwrap());
        let previous = Tag(bytes(&case["previous"]).try_into().unwrap());
        let dot = Dot { log, number: case["number"].as_u64().unwrap(), tag };
        device.opens(&dot, Some(previous), object)
    };
    for case in cases("opens") {
        let object = bytes(&case["object"]);
        assert!(opens(case, &object[object.len() - 16..], &object));
    }
    // The device has the circle and the key of all objects that open.
    let is_of_the_device =
        |case: &&Value| ["circle", "key"].iter().all(|part| case[*part] == vectors[*part]);
    let mut checked = 0;
    for case in cases("refused").iter().filter(is_of_the_device) {
        let mut object = bytes(&cases("opens")[index(&case["of"])]["object"]);
        object.resize(index(&case["length"]), 0);
        for patch in case["patches"].as_array().unwrap() {
            let (at, patch) = (index(&patch[0]), bytes(&patch[1]));
            object[at..at + patch.len()].copy_from_slice(&patch);
        }
        assert!(!opens(case, &bytes(&case["tag"]), &object), "{}", case["name"]);
        checked += 1;
    }
    assert_eq!((cases("opens").len(), checked), (5, 17));
}

fn index(value: &Value) -> usize {
    value.as_u64().unwrap().try_into().unwrap()
}

fn bytes(value: &Value) -> Vec<u8> {
    let digits = value.as_str().unwrap();
    let pairs = (0..digits.len()).step_by(2);
    pairs.map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap()).collect()
}
