//! Stores and the processes around them: a second process, killed processes, and full disks that `mount` makes.
//!
//! They are apart from `tests/store` because a process that is being started holds copies of this one's open files, and
//! with them the locks of stores, until it runs its own program.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that meets the unexpected should stop there and say so"
)]

#[cfg(target_os = "linux")]
mod disk_full;
#[cfg(target_os = "linux")]
mod kill_points;
mod one_process;
