//! Long results in pages, so that no call holds the store for long or builds a list without bound.

use std::fmt;

use super::file_text::FileText;

/// A part of a long result.
///
/// Pages are no snapshot: what another caller changes between two of them may be missing or be there twice.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Page<T> {
    /// The items; a page may have none although more follow.
    pub items: Vec<T>,
    /// Where the next page begins; `None` after the last one.
    pub next: Option<PageCursor>,
}

impl<T> Page<T> {
    /// A page for implementations of [`UnlockedStore`](crate::UnlockedStore).
    #[must_use]
    pub fn new(items: Vec<T>, next: Option<PageCursor>) -> Self {
        Self { items, next }
    }
}

/// A place between two items of a long result. It stays good when the store changes.
#[derive(Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PageCursor {
    /// The path, or in a listing the name, of the last item that was looked at.
    pub(super) path: FileText,
    /// In a search, the last line of that file that was looked at; `None` once the whole file was.
    pub(super) line: Option<u64>,
}

impl PageCursor {
    pub(super) fn after(path: &str) -> Self {
        Self { path: path.to_owned().into(), line: None }
    }

    pub(super) fn after_line(path: &str, line: u64) -> Self {
        Self { path: path.to_owned().into(), line: Some(line) }
    }
}

impl fmt::Debug for PageCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PageCursor(..)")
    }
}
