//! Internal crate of inmost: the bodies of its fuzz targets, and the model that they share with the property tests.
//!
//! It is for this workspace alone: it is not published and promises no semver.
//!
//! A target is a function of bytes. It returns if all is well and panics if not. It does not depend on the fuzzer, so
//! plain tests replay the corpora through the same functions. Structured input is read from the bytes with [`arbitrary`],
//! front to back, so that one changed byte changes one thing.
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
mod naive;
mod nodes;
mod ops;
mod path;
mod record;
mod render;
mod rope;
mod stateful;
mod store;
mod tamper;
mod tool_call;
mod tree;

pub use stateful::Scenario;

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

/// A tool call against a second reading of the contract, on the values of `serde_json`.
pub fn call(data: &[u8]) {
    call::run(data);
}

/// Entries of a folder against a `BTreeMap`.
pub fn entries(data: &[u8]) {
    entries::run(data);
}

/// A header that was changed or shortened, with or without a matching checksum and MAC, is parsed and unlocked.
pub fn header(data: &[u8]) {
    header::run(data);
}

/// Operations on a store, with crashes and reopenings, against a model of the contract.
pub fn model(data: &[u8]) {
    stateful::run(data);
}

/// A path against a second, naive parser.
pub fn path(data: &[u8]) {
    path::run(data);
}

/// Arbitrary bytes as a stored value, and as the body of an authentic record.
pub fn record(data: &[u8]) {
    record::run(data);
}

/// Cuts, line numbers, insertions and sizes against naive code.
pub fn render(data: &[u8]) {
    render::run(data);
}

/// Splices, lines and searches in a rope against a `String`.
pub fn rope(data: &[u8]) {
    rope::run(data);
}

/// Operations on a store whose stored bytes are changed between them: each returns the right result or an error.
pub fn tamper(data: &[u8]) {
    tamper::run(data);
}

/// The counted tree against a `Vec`.
pub fn tree(data: &[u8]) {
    tree::run(data);
}
