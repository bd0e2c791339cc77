//! Tests of stores with several processes: a second process, killed processes, and full disks that `mount`
//! makes.
//!
//! They are separate from `tests/store`. A process that is being started inherits copies of the parent's open
//! files, and with them the locks of stores, until it executes its own program.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test should stop at the first unexpected result and report it"
)]

#[cfg(target_os = "linux")]
mod disk_full;
#[cfg(target_os = "linux")]
mod kill_points;
mod one_process;
