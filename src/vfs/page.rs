//! Pages of long results. They bound how long a call holds the store, and the length of a list.

use std::fmt;

use super::file_text::FileText;

/// One page of a long result.
///
/// Pages are not a snapshot: an item that another caller changes between two pages may be missing or appear twice.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Page<T> {
    /// The items. A page may be empty although more pages follow.
    pub items: Vec<T>,
    /// The start of the next page; `None` on the last page.
    pub next: Option<PageCursor>,
}

impl<T> Page<T> {
    /// Creates a page, for implementations of [`UnlockedStore`](crate::UnlockedStore).
    #[must_use]
    pub fn new(items: Vec<T>, next: Option<PageCursor>) -> Self {
        Self { items, next }
    }
}

/// A position in a long result. It stays valid when the store changes.
#[derive(Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PageCursor {
    /// The path of the last item read or, in a listing, its name.
    pub(super) path: FileText,
    /// In a search, the last line read of that file; `None` once the whole file was read.
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
