//! Files for hosts that are not agents: typed calls without the tool's wording.

use std::fmt;

use inmost_format::secret::Wiped;

use super::error::FileError;
use super::file::FileView;
use super::list::{self, Kind};
use super::path::MemoryPath;
use super::{arrange, edit};
use crate::session::Session;
use inmost_format::record::node::What;

/// The files of a session. Paths are those of the tool: `/memories`, or something below it.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let session = inmost::Session::in_memory()?;
/// let files = session.files();
/// files.write("/memories/notes.txt", "Ada prefers tea.\n")?;
/// assert_eq!(files.read("/memories/notes.txt")?.as_str(), "Ada prefers tea.\n");
/// # Ok(())
/// # }
/// ```
pub struct Files<'s> {
    session: &'s Session,
}

/// Text or a path of the memory; wiped on drop, never printed by `Debug`.
pub struct FileText(Wiped<String>);

/// One name in a folder.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Entry {
    /// The name, without its folder.
    pub name: String,
    /// Folder or file.
    pub kind: EntryKind,
    /// Bytes of the file, or of everything below the folder.
    pub bytes: u64,
}

/// What a name stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum EntryKind {
    /// A folder.
    Folder,
    /// A file.
    #[non_exhaustive]
    File {
        /// Lines of text; a final `\n` opens no line.
        lines: u64,
        /// When it was created, in milliseconds since 1970.
        created: u64,
        /// When its text last changed, in milliseconds since 1970.
        modified: u64,
    },
}

impl Session {
    /// The files of this store.
    #[must_use]
    pub fn files(&self) -> Files<'_> {
        Files { session: self }
    }
}

impl Files<'_> {
    /// The whole text of a file.
    ///
    /// # Errors
    /// [`FileError::InvalidPath`], [`FileError::NotFound`], [`FileError::Store`].
    pub fn read(&self, path: &str) -> Result<FileText, FileError> {
        let path = MemoryPath::parse(path)?;
        self.session.read(|open| Ok(FileText(FileView::open(open, open.root(), &path)?.read()?)))
    }

    /// Writes a file, in place of one that is there. Durable when it returns.
    ///
    /// # Errors
    /// [`FileError::InvalidPath`]; [`FileError::AlreadyExists`] for a folder; [`FileError::NotAFolder`]; a quota;
    /// [`FileError::Store`].
    pub fn write(&self, path: &str, text: &str) -> Result<(), FileError> {
        edit::write(self.session, &MemoryPath::parse(path)?, text, true)
    }

    /// The entries of a folder in the order of their names, hidden ones too; for a file, the file itself.
    ///
    /// # Errors
    /// [`FileError::InvalidPath`], [`FileError::NotFound`], [`FileError::Store`].
    pub fn list(&self, path: &str) -> Result<Vec<Entry>, FileError> {
        let path = MemoryPath::parse(path)?;
        self.session.read(|open| {
            let mut entries = Vec::new();
            let mut push = |entry: &inmost_format::record::node::Entry, bytes| {
                entries.push(Entry::of(entry, bytes))
            };
            match list::find(open, open.root(), &path)? {
                Kind::Folder(folder) => folder.entries(open, push)?,
                Kind::File(entry) => {
                    let bytes = if let What::File(info) = entry.what { info.bytes } else { 0 };
                    push(&entry, bytes);
                }
            }
            Ok(entries)
        })
    }

    /// Deletes a file, or a folder with everything below it. Durable when it returns.
    ///
    /// # Errors
    /// [`FileError::InvalidPath`], [`FileError::Root`], [`FileError::NotFound`], [`FileError::Store`].
    pub fn remove(&self, path: &str) -> Result<(), FileError> {
        arrange::delete(self.session, &MemoryPath::parse(path)?)
    }

    /// Moves a file, or a folder with everything below it. Durable when it returns.
    ///
    /// # Errors
    /// [`FileError::InvalidPath`]; [`FileError::Root`]; [`FileError::NotFound`]; [`FileError::AlreadyExists`] at the
    /// destination; [`FileError::IntoItself`]; [`FileError::NotAFolder`]; [`FileError::PathBelow`]; [`FileError::Store`].
    pub fn rename(&self, old: &str, new: &str) -> Result<(), FileError> {
        arrange::rename(self.session, &MemoryPath::parse(old)?, &MemoryPath::parse(new)?)
    }
}

impl FileText {
    /// A copy of `text`.
    pub(super) fn new(text: &str) -> Self {
        Self(Wiped::new(text.to_owned()))
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for FileText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FileText(..)")
    }
}

impl Entry {
    fn of(entry: &inmost_format::record::node::Entry, bytes: u64) -> Self {
        let kind = match entry.what {
            What::Folder => EntryKind::Folder,
            What::File(info) => EntryKind::File {
                lines: info.lines,
                created: info.created,
                modified: info.modified,
            },
        };
        Self { name: entry.name.as_str().to_owned(), kind, bytes }
    }
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry")
            .field("kind", &self.kind)
            .field("bytes", &self.bytes)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neither_text_nor_names_are_printed() {
        assert_eq!(format!("{:?}", FileText::new("secret")), "FileText(..)");
        let entry = Entry { name: "secret".to_owned(), kind: EntryKind::Folder, bytes: 7 };
        assert_eq!(format!("{entry:?}"), "Entry { kind: Folder, bytes: 7, .. }");
    }
}
