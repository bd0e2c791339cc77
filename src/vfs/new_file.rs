//! A file to write together with others, and what became of it.

use std::fmt;
use std::time::SystemTime;

/// A file for [`Files::write_many`](crate::Files::write_many): its path, its whole text and its times.
///
/// ```
/// use std::time::{Duration, UNIX_EPOCH};
/// use inmost::NewFile;
///
/// let day = UNIX_EPOCH + Duration::from_secs(1_700_000_000);
/// let file = NewFile::new("/memories/old.md", "From another tool.\n").modified(day).keep_existing();
/// assert_eq!(file.modified, Some(day));
/// ```
#[derive(Clone, Copy)]
#[non_exhaustive]
#[must_use]
pub struct NewFile<'a> {
    /// The path of the file.
    pub path: &'a str,
    /// The whole text.
    pub text: &'a str,
    /// The creation time. If it is `None`, the file keeps the creation time of the file that it replaces; without
    /// one, it gets the time of its last change.
    pub created: Option<SystemTime>,
    /// The time of the last change. If it is `None`, the file gets the current time.
    pub modified: Option<SystemTime>,
    /// Whether an existing file with another text is replaced. If not, it is refused with
    /// [`FileError::AlreadyExists`](crate::FileError::AlreadyExists).
    pub replaces: bool,
}

/// What became of a file that was written without an error.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum WriteOutcome {
    /// It was written and is durable.
    Written,
    /// The store already had the same text at its path. Nothing was changed, its times neither.
    Unchanged,
}

impl<'a> NewFile<'a> {
    /// A file that gets the current time and replaces an existing one.
    pub fn new(path: &'a str, text: &'a str) -> Self {
        Self { path, text, created: None, modified: None, replaces: true }
    }

    /// Sets the creation time. The store keeps milliseconds; a time before 1970 becomes 1970.
    pub fn created(mut self, time: SystemTime) -> Self {
        self.created = Some(time);
        self
    }

    /// Sets the time of the last change. The store keeps milliseconds; a time before 1970 becomes 1970.
    pub fn modified(mut self, time: SystemTime) -> Self {
        self.modified = Some(time);
        self
    }

    /// Keeps an existing file with another text.
    pub fn keep_existing(mut self) -> Self {
        self.replaces = false;
        self
    }
}

impl fmt::Debug for NewFile<'_> {
    /// Shows neither the path nor the text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewFile").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neither_path_nor_text_is_printed() {
        assert_eq!(format!("{:?}", NewFile::new("/memories/secret", "secret")), "NewFile { .. }");
    }
}
