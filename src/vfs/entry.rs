//! What is known of a file or folder without reading its text.

use std::fmt;
use std::time::SystemTime;

use inmost_format::record::node::{Entry, What};

use crate::session::time_of;

/// What is known of a file or folder.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Metadata {
    /// Folder or file.
    pub kind: EntryKind,
    /// Bytes of the file, or of all files below the folder, hidden ones too.
    pub bytes: u64,
}

/// One name in a folder.
#[derive(Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct FolderEntry {
    /// The name, without its folder.
    pub name: String,
    /// What it stands for.
    pub metadata: Metadata,
}

/// What a name stands for.
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
        /// When it was created, by the clock of the machine that did it.
        created: SystemTime,
        /// When its text last changed.
        modified: SystemTime,
    },
}

impl Metadata {
    /// The metadata of an entry; `bytes` are those of everything below, for a folder.
    pub(super) fn of(entry: &Entry, bytes: u64) -> Self {
        match entry.what {
            What::Folder => Self::of_folder(bytes),
            What::File(info) => Self {
                kind: EntryKind::File {
                    lines: info.lines,
                    created: time_of(info.created),
                    modified: time_of(info.modified),
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
    /// Names are what a store hides.
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
