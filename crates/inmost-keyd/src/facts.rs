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
}

impl DaemonOptions {
    /// A daemon without a freshness anchor of the application.
    pub fn new(limits: Limits) -> Self {
        Self { limits, anchor: None, requires_fresh: false }
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
}
