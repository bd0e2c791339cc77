//! The options of a daemon, and the facts that it reports about itself.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// When a daemon locks by itself. Time during which the machine was suspended counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Limits {
    /// After this long without a request.
    pub idle: Duration,
    /// After this long, even if requests come.
    pub total: Duration,
}

/// How a daemon holds its store.
#[derive(Clone, Debug)]
#[must_use]
pub struct DaemonOptions {
    pub(crate) limits: Limits,
    pub(crate) anchor: Option<PathBuf>,
    pub(crate) requires_fresh: bool,
    pub(crate) sync: Option<Duration>,
}

impl DaemonOptions {
    /// A daemon without a freshness anchor of the application.
    pub fn new(limits: Limits) -> Self {
        Self { limits, anchor: None, requires_fresh: false, sync: None }
    }

    /// The file of an [`inmost::FileAnchor`].
    pub fn anchor(mut self, file: impl Into<PathBuf>) -> Self {
        self.anchor = Some(file.into());
        self
    }

    /// As [`inmost::VaultOptions::require_fresh`].
    pub fn require_fresh(mut self) -> Self {
        self.requires_fresh = true;
        self
    }

    /// Synchronises the store with its circle of devices: some seconds after a change, and at this interval. The daemon does not start
    /// if the store is in no circle. After an error it waits longer, up to 16 times the interval. This does not keep the store unlocked.
    pub fn sync(mut self, every: Duration) -> Self {
        self.sync = Some(every);
        self
    }
}

/// The facts that a daemon reports about itself.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct DaemonFacts {
    /// Its process.
    pub process: u32,
    /// The other processes that are connected.
    pub connected: Vec<u32>,
    /// When it locks by itself.
    pub limits: Limits,
    /// The time until it locks if no request comes.
    pub idle_left: Duration,
    /// The time until it locks even if requests come.
    pub total_left: Duration,
    /// Its rounds of synchronisation.
    pub sync: SyncFacts,
}

/// What a daemon knows of its rounds of synchronisation, its own and those that clients requested.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SyncFacts {
    /// How often it synchronises by itself, if it does.
    pub every: Option<Duration>,
    /// When a round was completed last, in milliseconds since 1970.
    pub last_success: Option<u64>,
    /// Why the last round failed, if it did: one line.
    pub last_error: Option<String>,
}
