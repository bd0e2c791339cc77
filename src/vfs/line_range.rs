//! Ranges of lines.

/// Lines of a file, counted from 1, both ends included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct LineRange {
    pub(super) first: u64,
    pub(super) last: Option<u64>,
}

impl LineRange {
    /// The lines `first` to `last`. A `first` of 0 counts as line 1, and a `last` beyond the file as its last line.
    #[must_use]
    pub fn new(first: u64, last: u64) -> Self {
        Self { first: first.max(1), last: Some(last) }
    }

    /// Line `first` and every line after it.
    #[must_use]
    pub fn from(first: u64) -> Self {
        Self { first: first.max(1), last: None }
    }
}
