//! Tests of a real mount: each rule of docs/MOUNT.md, programs, and random operations beside a plain folder.
//!
//! They need `/dev/fuse`. Without it they pass without a test, unless the variable `INMOST_MUST_MOUNT` is set.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at an unexpected value"
)]

mod beside;
mod lock;
mod mounted;
mod others;
mod programs;
mod rules;
mod screen;
