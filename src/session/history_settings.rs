//! How long earlier versions are kept.

use std::time::Duration;

use crate::limits;
use inmost_format::record::node::Root;

/// How long earlier versions of files are kept, and how much room they may take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct HistorySettings {
    pub(crate) keep: Option<Duration>,
    pub(crate) max_bytes: u64,
}

impl HistorySettings {
    /// Keeps no versions. Those that are kept now are dropped.
    pub fn off() -> Self {
        Self { keep: None, max_bytes: limits::HISTORY_BYTES }
    }

    /// Keeps a text for this long after the change that replaced or deleted it, or up to an eighth longer: the store counts the
    /// time that it sees pass, because a clock may be wrong. See "Wrong clocks" in docs/OPERATIONS.md. The store counts
    /// milliseconds; less than one is [`off`](Self::off).
    pub fn keep(time: Duration) -> Self {
        Self { keep: (time.as_millis() > 0).then_some(time), ..Self::off() }
    }

    /// Sets the most bytes of earlier texts; 256 MiB by default. If there are more, the next changes drop the oldest texts, some
    /// with each change, while their entries stay until their time is over. So the text that one change ended may exceed it. Where
    /// many short texts have to go for long ones, that takes several changes.
    pub fn max_bytes(mut self, bytes: u64) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// The most bytes of earlier texts.
    #[must_use]
    pub fn room(&self) -> u64 {
        self.max_bytes
    }

    /// How long a text is kept; `None` if no versions are kept.
    #[must_use]
    pub fn time(&self) -> Option<Duration> {
        self.keep
    }

    /// Puts the settings into a root.
    pub(crate) fn set(self, root: &mut Root) {
        (root.keep, root.room) = (self.milliseconds(), self.max_bytes);
    }

    fn milliseconds(&self) -> u64 {
        self.keep.map_or(0, |time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
    }

    /// The settings in a root.
    pub(crate) fn of(root: &Root) -> Self {
        let keep = (root.keep > 0).then(|| Duration::from_millis(root.keep));
        Self { keep, max_bytes: root.room }
    }
}

impl Default for HistorySettings {
    fn default() -> Self {
        Self::off()
    }
}
