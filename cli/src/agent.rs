//! The key agent: a process in the background that holds a store unlocked for all commands of its user.
//!
//! It listens on a socket that only its user reaches ([`address`]) and answers the requests of [`crate::store::request`]
//! with the code that answers them without an agent. It holds keys, never a passphrase, and nothing of it is on a disk.

#[cfg(unix)]
mod address;
#[cfg(unix)]
mod background;
#[cfg(unix)]
mod client;
#[cfg(unix)]
mod clock;
#[cfg(unix)]
mod connection;
#[cfg(unix)]
mod frame;
#[cfg(unix)]
mod peer;
#[cfg(unix)]
mod protocol;
#[cfg(unix)]
mod server;
#[cfg(unix)]
mod state;
#[cfg(not(unix))]
mod unsupported;

#[cfg(unix)]
pub(crate) use background::{run, start};
#[cfg(unix)]
pub(crate) use client::{Connection, connect, lock};
#[cfg(unix)]
pub(crate) use server::start_here;
#[cfg(not(unix))]
pub(crate) use unsupported::{Connection, connect, lock, run, start, start_here};

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// When an agent locks by itself.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Limits {
    /// After so long without a request.
    pub(crate) idle: Duration,
    /// After so long in any case.
    pub(crate) total: Duration,
}

/// What an agent says of itself.
#[derive(Serialize, Deserialize)]
pub(crate) struct AgentFacts {
    pub(crate) process: u32,
    /// Processes that are connected, the one that asks not among them.
    pub(crate) connected: Vec<u32>,
    pub(crate) limits: Limits,
    /// Until it locks if nothing is asked.
    pub(crate) idle_left: Duration,
    /// Until it locks in any case.
    pub(crate) total_left: Duration,
}
