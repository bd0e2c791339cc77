//! The bodies of the fuzz targets, and the operations and model that they share with the property tests.
//!
//! A target is a function of bytes that returns if all is well and panics if not. It knows nothing of
//! the fuzzer: the same function replays a corpus in a plain test. Structured input is read from the
//! bytes with [`arbitrary`], front to back, so that a byte changed by the fuzzer changes one thing.
//!
//! Exists with the feature `fuzzing` only, which the tests of this package turn on and no build of it does.
#![allow(
    clippy::indexing_slicing,
    clippy::missing_panics_doc,
    clippy::panic,
    clippy::string_slice,
    clippy::unwrap_used,
    reason = "a target reports what it finds by panicking"
)]

mod call;
mod entries;
mod header;
mod input;
mod model;
mod nodes;
mod ops;
mod path;
mod record;
mod render;
mod rope;
mod stateful;
mod store;
mod tamper;
mod tree;

pub use ops::{Op, Setup};

/// A fuzz target by its name: that of its file in `fuzz/fuzz_targets` and of its folder of inputs.
pub type Target = (&'static str, fn(&[u8]));

/// All targets.
pub const TARGETS: [Target; 10] = [
    ("call", call),
    ("entries", entries),
    ("header", header),
    ("model", model),
    ("path", path),
    ("record", record),
    ("render", render),
    ("rope", rope),
    ("tamper", tamper),
    ("tree", tree),
];

/// A tool call, against a second reading of the contract on `serde_json`'s own values.
pub fn call(data: &[u8]) {
    call::run(data);
}

/// Entries of a folder against a `BTreeMap`.
pub fn entries(data: &[u8]) {
    entries::run(data);
}

/// A header: changed, shortened, with or without a checksum and a MAC that fit, then parsed and unlocked.
pub fn header(data: &[u8]) {
    header::run(data);
}

/// Operations on a store, its crashes and reopenings included, against the contract written down a second time.
pub fn model(data: &[u8]) {
    stateful::run(data);
}

/// A path, against a second, naive parser.
pub fn path(data: &[u8]) {
    path::run(data);
}

/// Arbitrary bytes as a stored value, and as the body of an authentic record.
pub fn record(data: &[u8]) {
    record::run(data);
}

/// Cuts, numbers, insertions and sizes against naive ones.
pub fn render(data: &[u8]) {
    render::run(data);
}

/// Splices, lines and searches in a rope against a `String`.
pub fn rope(data: &[u8]) {
    rope::run(data);
}

/// Operations on a store whose stored bytes are changed between them: an answer is right or none at all.
pub fn tamper(data: &[u8]) {
    tamper::run(data);
}

/// The counted tree against a `Vec`.
pub fn tree(data: &[u8]) {
    tree::run(data);
}

/// Runs operations on a fresh store and checks each answer against the model.
pub fn run_operations(setup: &Setup, operations: &[Op]) {
    stateful::run_operations(setup, operations);
}
