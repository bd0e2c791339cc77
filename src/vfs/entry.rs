//! Metadata of files and folders, known without reading text.

use std::fmt;
use std::time::SystemTime;

use inmost_format::record::node::{Entry, What};

use crate::session::time_of;

/// Metadata of a file or folder.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Metadata {
    /// File or folder.
    pub kind: EntryKind,
    /// Bytes of the file, or of all files below the folder, hidden ones included.
    pub bytes: u64,
}

/// An entry of a folder.
#[derive(Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct FolderEntry {
    /// The name without its folder's path.
    pub name: String,
    /// The metadata of the file or folder.
    pub metadata: Metadata,
}

/// The kind of an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum EntryKind {
    /// A folder.
    Folder,
    /// A file.
    #[non_exhaustive]
    File {
        /// Lines of text; a final `\n` opens no line.
        lines: u64,
        /// The creation time: by the clock of the machine that created it, or as given in a
        /// [`NewFile`](crate::NewFile).
        created: SystemTime,
        /// The time of the last change to its text, from the same sources.
        modified: SystemTime,
        /// The number of the file. It stays when the file is changed, moved or replaced by
        /// [`Files::replace_if`](crate::Files::replace_if), and no other file of the store ever gets it.
        number: u64,
        /// The number of its last change, for a [`Precondition`](crate::Precondition). A rename is a change too.
        version: u64,
    },
}

impl Metadata {
    /// The metadata of an entry. For a folder, `bytes` counts everything below it.
    pub(super) fn of(entry: &Entry, bytes: u64) -> Self {
        match entry.what {
            What::Folder => Self::of_folder(bytes),
            What::File(info) => Self {
                kind: EntryKind::File {
                    lines: info.lines,
                    created: time_of(info.created),
                    modified: time_of(info.modified),
                    number: info.number,
                    version: info.version,
                },
                bytes: info.bytes,
            },
        }
    }

    pub(super) fn of_folder(bytes: u64) -> Self {
        Self { kind: EntryKind::Folder, bytes }
    }

    /// Whether it is a folder.
    #[must_use]
    pub fn is_folder(&self) -> bool {
        self.kind == EntryKind::Folder
    }
}

impl fmt::Debug for FolderEntry {
    /// A store hides its names, so `Debug` does not show them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FolderEntry").field("metadata", &self.metadata).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_not_printed() {
        let entry = FolderEntry { name: "secret".to_owned(), metadata: Metadata::of_folder(7) };
        assert_eq!(
            format!("{entry:?}"),
            "FolderEntry { metadata: Metadata { kind: Folder, bytes: 7 }, .. }"
        );
    }
}
