//! Whether readings are recorded, and whether files expire at an unlock.

use std::time::Duration;

use inmost_format::record::node::{Child, Root};

use crate::session::clock::now;

/// Whether a store records which files are read, and which files expire when it is unlocked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[must_use]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ExpirySettings {
    records: bool,
    unused_for: Option<Duration>,
}

impl ExpirySettings {
    /// Records no readings, and no file expires. What was recorded is removed.
    pub fn off() -> Self {
        Self::default()
    }

    /// Records readings. Files expire only through [`Expiry::expire`](crate::Expiry::expire).
    pub fn record() -> Self {
        Self { records: true, unused_for: None }
    }

    /// Records readings. At an unlock, once a day at most, the files expire that were neither read nor changed for this
    /// long. Less than a day counts as a day.
    pub fn at_unlock(unused_for: Duration) -> Self {
        let shortest = Duration::from_millis(DAY);
        Self { records: true, unused_for: Some(unused_for.max(shortest)) }
    }

    /// Whether readings are recorded.
    #[must_use]
    pub fn is_recording(&self) -> bool {
        self.records
    }

    /// How long a file must have been unused to expire at an unlock; `None` if no file does.
    #[must_use]
    pub fn unused_for(&self) -> Option<Duration> {
        self.unused_for
    }

    /// Puts the settings into a root. Recording that begins now makes every file count as used now.
    pub(crate) fn set(self, root: &mut Root) {
        if !self.records {
            root.readings = Child::NONE;
            (root.reads_since, root.last_used, root.last_expiry) = (0, 0, 0);
        } else if root.reads_since == 0 {
            // 0 means off.
            let now = now().max(1);
            (root.reads_since, root.last_used) = (now, now);
        }
        let milliseconds = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        root.unused_for = self.unused_for.map_or(0, milliseconds);
    }

    /// The settings in a root.
    pub(crate) fn of(root: &Root) -> Self {
        let unused_for = (root.unused_for > 0).then(|| Duration::from_millis(root.unused_for));
        Self { records: root.reads_since > 0, unused_for }
    }
}

/// A day in milliseconds. Readings are recorded by day.
pub(crate) const DAY: u64 = 24 * 60 * 60 * 1_000;
