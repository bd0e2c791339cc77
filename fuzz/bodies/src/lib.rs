//! Internal crate of `inmost`, for this workspace only. It is not published and promises no semantic
//! versioning.
//!
//! It contains the bodies of the fuzz targets, and the model that they share with the property tests. A
//! target is a function of bytes that panics if it finds a bug. It does not depend on the fuzzer, so plain
//! tests replay the corpora through the same functions. Structured input is read from the bytes with
//! [`arbitrary`], front to back, so that one changed byte changes one operation.
#![cfg(feature = "bodies")]
#![allow(
    clippy::indexing_slicing,
    clippy::missing_panics_doc,
    clippy::panic,
    clippy::string_slice,
    clippy::unwrap_used,
    reason = "a target reports what it finds by panicking"
)]

mod anchor;
mod call;
mod entries;
mod frames;
mod header;
mod input;
mod journal;
mod model;
mod naive;
mod nodes;
mod objects;
mod ops;
mod path;
mod record;
mod render;
mod rope;
#[cfg(all(unix, feature = "postgres"))]
mod rows;
mod sled;
mod stateful;
mod store;
mod tamper;
mod tool_call;
mod tree;

pub use stateful::Scenario;

/// The name and function of a fuzz target. The name is also that of its file in `fuzz/fuzz_targets` and of
/// its corpus folder.
pub type Target = (&'static str, fn(&[u8]));

/// All targets.
pub const TARGETS: &[Target] = &[
    ("anchor", anchor),
    ("call", call),
    ("entries", entries),
    ("frames", frames),
    ("header", header),
    ("journal", journal),
    ("model", model),
    ("objects", objects),
    ("path", path),
    ("record", record),
    ("render", render),
    ("rope", rope),
    #[cfg(all(unix, feature = "postgres"))]
    ("rows", rows),
    ("sled", sled),
    ("tamper", tamper),
    ("tree", tree),
];

/// The codes of the kinds of records of which none of these inputs of the target `record` has a body that decodes.
#[must_use]
pub fn record_kinds_without_body(inputs: &[Vec<u8>]) -> Vec<u8> {
    let found: Vec<_> = inputs.iter().flat_map(|input| record::kinds(input)).collect();
    let missing = record::KINDS.into_iter().filter(|kind| !found.contains(kind));
    missing.map(inmost_format::record::Kind::code).collect()
}

/// Compares what slots of the anchor say about the freshness of a store with a second implementation.
pub fn anchor(data: &[u8]) {
    anchor::run(data);
}

/// Compares a tool call with a second implementation of the contract, on the values of `serde_json`.
pub fn call(data: &[u8]) {
    call::run(data);
}

/// Compares the entries of a folder with a `BTreeMap`.
pub fn entries(data: &[u8]) {
    entries::run(data);
}

/// Decodes frames of the key daemon's protocol, and encodes them again.
pub fn frames(data: &[u8]) {
    frames::run(data);
}

/// Parses and unlocks a modified or shortened header, with or without a matching checksum and MAC.
pub fn header(data: &[u8]) {
    header::run(data);
}

/// Opens a modified journal, with or without matching checksums.
pub fn journal(data: &[u8]) {
    journal::run(data);
}

/// Compares operations on a store, with crashes and reopenings, with a model of the contract.
pub fn model(data: &[u8]) {
    stateful::run(data);
}

/// Has a device of a circle read objects with any bodies, in two orders.
pub fn objects(data: &[u8]) {
    objects::run(data);
}

/// Compares a path with a second, naive parser.
pub fn path(data: &[u8]) {
    path::run(data);
}

/// Opens arbitrary bytes as a stored value, and as the body of an authentic record.
pub fn record(data: &[u8]) {
    record::run(data);
}

/// Compares truncation, line numbers, insertions and sizes with naive code.
pub fn render(data: &[u8]) {
    render::run(data);
}

/// Compares splices, lines and searches in a rope with a `String`.
pub fn rope(data: &[u8]) {
    rope::run(data);
}

/// Reads replies of a database server that may say anything.
#[cfg(all(unix, feature = "postgres"))]
pub fn rows(data: &[u8]) {
    rows::run(data);
}

/// Opens sled's files after changes, with or without matching checksums.
pub fn sled(data: &[u8]) {
    sled::run(data);
}

/// Modifies stored bytes between operations: each operation must return the right result or an error.
pub fn tamper(data: &[u8]) {
    tamper::run(data);
}

/// Compares the counted tree with a `Vec`.
pub fn tree(data: &[u8]) {
    tree::run(data);
}
