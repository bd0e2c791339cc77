//! Files for programs that are not agents: typed calls without the tool's texts for the model.

use std::time::SystemTime;
use std::vec;

use super::store::UnlockedStore;
use crate::session::StoreError;
use crate::vfs::{
    FileError, FileText, FileVersion, FolderEntry, LineRange, Metadata, NewFile, Page, PageCursor,
    Precondition, RankQuery, Ranked, SearchMatch, SearchQuery, WalkEntry, WriteOutcome,
};

/// The files of an unlocked store. Paths are those of the tool: `/memories` or a path below it. A path has at most 20 names and
/// 1,024 bytes, a name at most 255 bytes, all in NFC. `.`, `..`, `\\`, NUL and control characters are refused, also
/// percent-encoded.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use inmost::SearchQuery;
///
/// let session = inmost::Session::in_memory()?;
/// let files = session.files();
/// files.write("/memories/people/ada.md", "Ada prefers tea.\n")?;
/// files.append("/memories/people/ada.md", "Birthday: 10 December.\n")?;
/// assert_eq!(files.read("/memories/people/ada.md")?.as_str().lines().count(), 2);
///
/// for found in files.search("/memories", SearchQuery::text("tea")) {
///     let found = found?;
///     assert_eq!((found.path.as_str(), found.line), ("/memories/people/ada.md", 1));
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy)]
pub struct Files<'s> {
    store: &'s dyn UnlockedStore,
}

impl<'s> Files<'s> {
    /// The files of a store. For a session, [`Session::files`](crate::Session::files) is shorter.
    #[must_use]
    pub fn new(store: &'s dyn UnlockedStore) -> Self {
        Self { store }
    }

    /// Returns the whole text of a file.
    ///
    /// # Errors
    /// [`FileError::InvalidPath`], [`FileError::NotFound`], [`FileError::IsAFolder`], [`FileError::Store`].
    pub fn read(&self, path: &str) -> Result<FileText, FileError> {
        self.store.read(path, None)
    }

    /// Returns some lines of a file, with their line ends. Reads no more of the file than these lines need.
    ///
    /// # Errors
    /// As [`read`](Files::read); [`FileError::NoSuchLine`] if the lines begin after the last one.
    pub fn read_lines(&self, path: &str, lines: LineRange) -> Result<FileText, FileError> {
        self.store.read(path, Some(lines))
    }

    /// Returns the metadata of a file or folder. Does not read its text.
    ///
    /// # Errors
    /// [`FileError::InvalidPath`], [`FileError::NotFound`], [`FileError::Store`].
    pub fn metadata(&self, path: &str) -> Result<Metadata, FileError> {
        self.store.metadata(path)
    }

    /// Returns whether there is a file or folder at a path.
    ///
    /// # Errors
    /// [`FileError::InvalidPath`], [`FileError::Store`].
    pub fn exists(&self, path: &str) -> Result<bool, FileError> {
        match self.metadata(path) {
            Ok(_) => Ok(true),
            Err(FileError::NotFound) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Writes a file, replacing an existing one. The change is durable when this returns.
    ///
    /// # Errors
    /// [`FileError::InvalidPath`]; [`FileError::AlreadyExists`] for a folder; [`FileError::NotAFolder`];
    /// [`FileError::FileTooLarge`], [`FileError::TooManyFiles`] or [`FileError::TooMuchText`] at a quota; [`FileError::Store`].
    pub fn write(&self, path: &str, text: &str) -> Result<(), FileError> {
        self.store.write(path, text)
    }

    /// Returns the state of a file, for a later change that is conditional on it; `None` if there is no file. Reads the whole
    /// text.
    ///
    /// # Errors
    /// [`FileError::InvalidPath`], [`FileError::Store`].
    pub fn version(&self, path: &str) -> Result<Option<FileVersion>, FileError> {
        self.store.version(path)
    }

    /// Writes a file if the condition holds, in one atomic step. So a program that reads a file, changes its text and writes
    /// it back loses no change that someone else made in between. Returns the new state of the file.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use inmost::{FileError, Precondition};
    ///
    /// let session = inmost::Session::in_memory()?;
    /// let files = session.files();
    /// let first = files.write_if("/memories/count", "1", &Precondition::Absent)?;
    /// files.write_if("/memories/count", "2", &Precondition::Version(first.version))?;
    /// let late = files.write_if("/memories/count", "3", &Precondition::Version(first.version));
    /// let Err(FileError::Changed(Some(now))) = late else { panic!("a lost update") };
    /// files.write_if("/memories/count", "3", &Precondition::Sha256(now.sha256))?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`write`](Files::write); [`FileError::Changed`] with the present state of the file.
    pub fn write_if(
        &self,
        path: &str,
        text: &str,
        condition: &Precondition,
    ) -> Result<FileVersion, FileError> {
        self.store.write_file_if(&NewFile::new(path, text), condition)
    }

    /// Returns the whole text of a file and its metadata, both of one state of the store: the version is that of the text.
    ///
    /// # Errors
    /// As [`read`](Files::read).
    pub fn read_with_metadata(&self, path: &str) -> Result<(FileText, Metadata), FileError> {
        self.store.read_with_metadata(path)
    }

    /// As [`write_if`](Files::write_if), with the times of the [`NewFile`]. The condition alone decides
    /// whether an existing file is replaced, not [`replaces`](NewFile::replaces).
    ///
    /// # Errors
    /// As [`write_if`](Files::write_if).
    pub fn write_file_if(
        &self,
        file: &NewFile<'_>,
        condition: &Precondition,
    ) -> Result<FileVersion, FileError> {
        self.store.write_file_if(file, condition)
    }

    /// Sets the time of the last change of a file, if the condition holds. The text, the version and the history stay. The store
    /// keeps milliseconds; a time before 1970 becomes 1970.
    ///
    /// # Errors
    /// [`FileError::InvalidPath`]; [`FileError::NotFound`]; [`FileError::IsAFolder`]; [`FileError::Changed`];
    /// [`FileError::Store`].
    pub fn set_modified_if(
        &self,
        path: &str,
        modified: SystemTime,
        condition: &Precondition,
    ) -> Result<(), FileError> {
        self.store.set_modified_if(path, modified, condition)
    }

    /// Moves a file into the place of another, in one atomic step: the file at `new` gets the text and the time of the file at
    /// `old`, which is deleted. The file at `new` keeps its number, its creation time and its history, which shows a change of it
    /// and a deletion of the other. If there is no file at `new`, this renames. `moved` is the condition for the old path,
    /// `replaced` for the new one. Returns the new state of the file at `new`.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use inmost::Precondition;
    ///
    /// let session = inmost::Session::in_memory()?;
    /// let files = session.files();
    /// let plan = files.write_if("/memories/plan.md", "Dig.\n", &Precondition::Absent)?;
    /// let draft = files.write_if("/memories/plan.draft", "Fill.\n", &Precondition::Absent)?;
    /// let (moved, replaced) =
    ///     (Precondition::Version(draft.version), Precondition::Version(plan.version));
    /// files.replace_if("/memories/plan.draft", "/memories/plan.md", &moved, &replaced)?;
    /// assert_eq!(files.read("/memories/plan.md")?.as_str(), "Fill.\n");
    /// assert!(!files.exists("/memories/plan.draft")?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`FileError::InvalidPath`]; [`FileError::NotFound`] or [`FileError::IsAFolder`] for the old path;
    /// [`FileError::AlreadyExists`] for a folder at the new one or if both are the same; [`FileError::NotAFolder`];
    /// [`FileError::Changed`] with the present state of the path whose condition does not hold; a quota;
    /// [`FileError::Store`].
    pub fn replace_if(
        &self,
        old: &str,
        new: &str,
        moved: &Precondition,
        replaced: &Precondition,
    ) -> Result<FileVersion, FileError> {
        self.store.replace_if(old, new, moved, replaced)
    }

    /// As [`remove`](Files::remove), if the condition holds.
    ///
    /// # Errors
    /// As [`remove`](Files::remove); [`FileError::Changed`] with the present state of the file.
    pub fn remove_if(&self, path: &str, condition: &Precondition) -> Result<(), FileError> {
        self.store.remove_if(path, condition)
    }

    /// As [`rename`](Files::rename), if the condition holds for the old path. Returns the number of the change.
    ///
    /// # Errors
    /// As [`rename`](Files::rename); [`FileError::Changed`] with the present state of the file.
    pub fn rename_if(
        &self,
        old: &str,
        new: &str,
        condition: &Precondition,
    ) -> Result<u64, FileError> {
        self.store.rename_if(old, new, condition)
    }

    /// Returns the whole texts of files, in the order of their paths, or why one cannot be read. In a store that hosts share, this
    /// makes far fewer round trips than as many calls of [`read`](Files::read), if the paths are in the order of a
    /// [`walk`](Files::walk). Each text is of one state of the store, but not all of them are of the same one.
    ///
    /// All texts are in memory together. A caller that copies many files reads them in parts.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use inmost::FileError;
    ///
    /// let session = inmost::Session::in_memory()?;
    /// session.files().write("/memories/ada.md", "Ada prefers tea.\n")?;
    /// let texts = session.files().read_many(&["/memories/ada.md", "/memories/bob.md"])?;
    /// assert_eq!(texts[0].as_ref().unwrap().as_str(), "Ada prefers tea.\n");
    /// assert!(matches!(texts[1], Err(FileError::NotFound)));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`StoreError`] if the store is locked or fails. The result of a file has the errors of [`read`](Files::read), but
    /// [`FileError::Store`] only with [`StoreError::Tampered`].
    pub fn read_many(
        &self,
        paths: &[&str],
    ) -> Result<Vec<Result<FileText, FileError>>, StoreError> {
        self.store.read_many(paths)
    }

    /// Writes files in their order, several in a commit, and returns the result of each in the same order. For many
    /// files this is much faster than as many calls of [`write`](Files::write). All changes are durable when it
    /// returns. A file that already has the text is not written again, so a call that was interrupted can be repeated.
    ///
    /// Each file is one atomic step: it is written whole or not at all, whatever happens to the others. The call as a
    /// whole is not atomic. Other callers may see some of the files before it returns, and their own changes may come
    /// in between. After a crash, the files before some point of the order are written, and those after it are not.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use inmost::{FileError, NewFile, WriteOutcome};
    ///
    /// let session = inmost::Session::in_memory()?;
    /// let results = session.files().write_many(&[
    ///     NewFile::new("/memories/ada.md", "Ada prefers tea.\n"),
    ///     NewFile::new("/etc/passwd", "root"),
    ///     NewFile::new("/memories/ada.md", "Ada prefers tea.\n"),
    /// ])?;
    /// assert!(matches!(
    ///     results[..],
    ///     [Ok(WriteOutcome::Written), Err(FileError::InvalidPath(_)), Ok(WriteOutcome::Unchanged)]
    /// ));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`StoreError`] if the store is locked or fails. The files before some point of the order are then written, and
    /// those after it are not. The result of a file has the errors of [`write`](Files::write), but
    /// [`FileError::Store`] only with [`StoreError::TooLarge`].
    pub fn write_many(
        &self,
        files: &[NewFile<'_>],
    ) -> Result<Vec<Result<WriteOutcome, FileError>>, StoreError> {
        self.store.write_many(files)
    }

    /// Appends text to a file, byte for byte, in one atomic step; creates a missing file. The change is
    /// durable when this returns.
    ///
    /// # Errors
    /// As [`write`](Files::write).
    pub fn append(&self, path: &str, text: &str) -> Result<(), FileError> {
        self.store.append(path, text)
    }

    /// Lists a folder in code-point order of names, hidden entries included.
    ///
    /// # Errors
    /// [`FileError::InvalidPath`]; [`FileError::NotFound`]; [`FileError::NotAFolder`] for a file; [`FileError::Store`].
    pub fn list(&self, path: &str) -> Result<Vec<FolderEntry>, FileError> {
        let store = self.store;
        Pages::new(|after| store.list(path, after, PAGE)).collect()
    }

    /// Walks everything below a folder, hidden names included. The order is depth first and by name, a folder before
    /// its entries. For a file, the walk returns the file alone. The iterator reads the store page by page.
    ///
    /// The items fail as [`metadata`](Files::metadata) does; the iterator ends after an error.
    #[must_use]
    pub fn walk(&self, path: &'s str) -> Pages<'s, WalkEntry> {
        self.walk_to(path, usize::MAX)
    }

    /// As [`walk`](Files::walk), but goes no deeper than `max_depth`: 0 returns the entries of the folder itself, 1 also those of
    /// its sub-folders, and so on.
    #[must_use]
    pub fn walk_to(&self, path: &'s str, max_depth: usize) -> Pages<'s, WalkEntry> {
        let store = self.store;
        Pages::new(move |after| store.walk(path, max_depth, after, PAGE))
    }

    /// Searches the files below a folder, in the order of a walk, and returns every matching line. For a file, it
    /// searches that file alone. The iterator reads the store page by page.
    ///
    /// The items fail as [`metadata`](Files::metadata) does, or with [`FileError::InvalidPattern`]; the iterator ends
    /// after an error.
    #[must_use]
    pub fn search(&self, path: &'s str, query: SearchQuery) -> Pages<'s, SearchMatch> {
        let store = self.store;
        Pages::new(move |after| store.search(path, &query, after, PAGE))
    }

    /// Returns the files below a folder that say most about some words, by [BM25](https://en.wikipedia.org/wiki/Okapi_BM25). Words
    /// are found in other forms of the same stem, in any case, with or without accents; those of a path count too. For a file,
    /// it returns that file if it has any of the words.
    ///
    /// The first search reads every file below the folder, later ones only what has changed: it keeps a hash of each word, in
    /// memory only, within the bound of what searches may note
    /// ([`SessionOptions::max_cache_bytes`](crate::SessionOptions::max_cache_bytes)), and wipes it at the lock.
    ///
    /// # Errors
    /// As [`metadata`](Files::metadata); [`FileError::EmptySearch`] if the query has no word. A damaged file is no error: it is
    /// named in the result.
    pub fn rank(&self, path: &str, query: &RankQuery) -> Result<Ranked, FileError> {
        self.store.rank(path, query)
    }

    /// Deletes a file, or a folder with everything below it. The change is durable when this returns.
    ///
    /// # Errors
    /// [`FileError::InvalidPath`], [`FileError::Root`], [`FileError::NotFound`], [`FileError::Store`].
    pub fn remove(&self, path: &str) -> Result<(), FileError> {
        self.store.remove(path)
    }

    /// Moves a file, or a folder with everything below it. The change is durable when this returns.
    ///
    /// # Errors
    /// [`FileError::InvalidPath`]; [`FileError::Root`]; [`FileError::NotFound`]; [`FileError::AlreadyExists`] at the
    /// destination; [`FileError::IntoItself`]; [`FileError::NotAFolder`]; [`FileError::PathBelow`]; [`FileError::Store`].
    pub fn rename(&self, old: &str, new: &str) -> Result<(), FileError> {
        self.store.rename(old, new)
    }
}

/// Iterates over a long result and reads it page by page.
pub struct Pages<'s, T> {
    next_page: NextPage<'s, T>,
    items: vec::IntoIter<T>,
    position: Position,
}

/// Reads the page after a cursor.
type NextPage<'s, T> = Box<dyn FnMut(Option<&PageCursor>) -> Result<Page<T>, FileError> + 's>;

/// The position of the next page.
enum Position {
    Start,
    After(PageCursor),
    End,
}

impl<'s, T> Pages<'s, T> {
    pub(super) fn new(
        next_page: impl FnMut(Option<&PageCursor>) -> Result<Page<T>, FileError> + 's,
    ) -> Self {
        let items = Vec::new().into_iter();
        Self { next_page: Box::new(next_page), items, position: Position::Start }
    }
}

impl<T> Iterator for Pages<'_, T> {
    type Item = Result<T, FileError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(item) = self.items.next() {
                return Some(Ok(item));
            }
            let after = match &self.position {
                Position::Start => None,
                Position::After(cursor) => Some(cursor),
                Position::End => return None,
            };
            match (self.next_page)(after) {
                Ok(page) => {
                    self.items = page.items.into_iter();
                    self.position = page.next.map_or(Position::End, Position::After);
                }
                Err(error) => {
                    self.position = Position::End;
                    return Some(Err(error));
                }
            }
        }
    }
}

/// Items of a page.
pub(super) const PAGE: usize = 1_000;
