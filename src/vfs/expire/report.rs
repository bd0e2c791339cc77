//! What an expiry reports, and what a store says about expiry.

use std::fmt;
use std::time::SystemTime;

use super::plan::Candidate;
use crate::session::{ExpirySettings, time_of};
use crate::vfs::file_text::FileText;

/// The settings of expiry, and what is recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ExpiryStatus {
    /// Whether readings are recorded, and whether files expire at an unlock.
    pub settings: ExpirySettings,
    /// No file counts as unused for longer than since this time. It is when recording began, or when the record was lost or
    /// the clock jumped.
    pub since: Option<SystemTime>,
    /// When files last expired at an unlock.
    pub last_expiry: Option<SystemTime>,
    /// Files with a recorded reading.
    pub readings: u64,
    /// Whether the record cannot be read. No file expires then; the next change begins a new one, and every file counts as
    /// used at that time.
    pub is_damaged: bool,
}

/// What expired, or would expire.
#[derive(Clone, Default)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ExpiryReport {
    /// The files in the order of their paths; the first 10,000.
    pub files: Vec<ExpiredFile>,
    /// The number of further files.
    pub unlisted: u64,
    /// Bytes of text in all of them.
    pub bytes: u64,
    /// Why no file could expire.
    pub hindrance: Option<ExpiryHindrance>,
}

/// A file that expired, or would expire.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ExpiredFile {
    /// Its path.
    pub path: FileText,
    /// Bytes of its text.
    pub bytes: u64,
    /// When it was last read or changed, as far as the store knows. A reading is known to the day.
    pub last_use: SystemTime,
    /// The number of the change that deleted it, for [`History::restore`](crate::History::restore). `None` in a dry run.
    pub version: Option<u64>,
}

/// Why no file could expire.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum ExpiryHindrance {
    /// The store does not record readings. No store that several hosts share does.
    NotRecording,
    /// The record of readings is damaged. From now on every file counts as used now.
    LedgerDamaged,
    /// The clock shows another time than shortly after the last change. It may be wrong, or the store was not used for long.
    /// From now on every file counts as used now.
    ClockInDoubt,
}

impl ExpiryHindrance {
    /// The name of the fact, such as `not_recording`, for bindings of other languages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::NotRecording => "not_recording",
            Self::LedgerDamaged => "ledger_damaged",
            Self::ClockInDoubt => "clock_in_doubt",
        }
    }
}

impl ExpiryReport {
    pub(super) fn new(hindrance: Option<ExpiryHindrance>) -> Self {
        Self { hindrance, ..Self::default() }
    }

    pub(super) fn add(&mut self, candidate: &Candidate, version: Option<u64>) {
        self.bytes = self.bytes.saturating_add(candidate.bytes);
        if self.files.len() >= LISTED {
            self.unlisted = self.unlisted.saturating_add(1);
            return;
        }
        let (path, bytes) = (candidate.path.clone(), candidate.bytes);
        let last_use = time_of(candidate.last_use);
        self.files.push(ExpiredFile { path, bytes, last_use, version });
    }

    /// The number of files.
    #[must_use]
    pub fn count(&self) -> u64 {
        u64::try_from(self.files.len()).unwrap_or(u64::MAX).saturating_add(self.unlisted)
    }
}

impl fmt::Debug for ExpiryReport {
    /// A store hides its paths, so `Debug` does not show them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExpiryReport")
            .field("files", &self.count())
            .field("bytes", &self.bytes)
            .field("hindrance", &self.hindrance)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for ExpiredFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExpiredFile").field("bytes", &self.bytes).finish_non_exhaustive()
    }
}

impl fmt::Display for ExpiryHindrance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotRecording => "The store does not record readings.",
            Self::LedgerDamaged => {
                "The record of readings is damaged, so it is not known which files are unused."
            }
            Self::ClockInDoubt => {
                "The clock is far from the time of the last change: it is wrong, or the store was not used for long."
            }
        })
    }
}

/// Files listed in one report.
const LISTED: usize = 10_000;
