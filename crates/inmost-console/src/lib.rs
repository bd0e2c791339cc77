//! What the program `inmost` and its browser tell a person: failures with their exit codes, paths, times, versions and
//! differences. This crate exists for them alone and makes no promise of semantic versioning.
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]
#![allow(missing_docs, reason = "an internal crate: what a name says is not repeated")]
#![allow(clippy::missing_errors_doc, clippy::must_use_candidate, reason = "the same")]

pub mod display;
pub mod exit;
mod file_failure;
pub mod memory_path;
pub mod times;
pub mod version;
pub mod version_diff;

/// A buffer for text and secrets.
pub type Wiped = inmost::Wiped<Vec<u8>>;
