//! The trait that files and the memory tool work on.

use std::time::SystemTime;

use crate::session::StoreError;
use crate::tool::{ToolCommand, ToolOptions, ToolResult};
use crate::vfs::{
    FileError, FileText, FileVersion, FolderEntry, LineRange, Metadata, NewFile, Page, PageCursor,
    Precondition, RankQuery, Ranked, SearchMatch, SearchQuery, WalkEntry, WriteOutcome,
};

/// An unlocked store: a [`Session`](crate::Session) of this process, or a connection to a key daemon.
///
/// [`MemoryTool`](crate::MemoryTool) and [`Files`](crate::Files) work on either. Applications call those two. This
/// trait is for the layers between, such as a client of a key daemon or a wrapper that counts calls. Paths are those of
/// the memory tool: `/memories` or a path below it. Every change is one atomic step, durable when its method returns.
pub trait UnlockedStore: Send + Sync {
    /// Runs a command of the memory tool. A mistake of the model is an `Ok` result with
    /// [`is_error`](ToolResult::is_error) set.
    ///
    /// # Errors
    /// [`StoreError`] if the store is locked or fails.
    fn run_command(
        &self,
        command: &ToolCommand,
        options: &ToolOptions,
    ) -> Result<ToolResult, StoreError>;

    /// Returns the metadata of a file or folder. Does not read its text.
    ///
    /// # Errors
    /// [`FileError::InvalidPath`], [`FileError::NotFound`], [`FileError::Store`].
    fn metadata(&self, path: &str) -> Result<Metadata, FileError>;

    /// Returns the text of a file, or of some of its lines.
    ///
    /// # Errors
    /// As [`metadata`](UnlockedStore::metadata); [`FileError::IsAFolder`]; [`FileError::NoSuchLine`] if the lines begin
    /// after the last one.
    fn read(&self, path: &str, lines: Option<LineRange>) -> Result<FileText, FileError>;

    /// Returns the whole text of a file and its metadata, both of one state of the store.
    ///
    /// # Errors
    /// As [`read`](UnlockedStore::read).
    fn read_with_metadata(&self, path: &str) -> Result<(FileText, Metadata), FileError>;

    /// Returns the texts of files, or why one cannot be read; see [`Files::read_many`](crate::Files::read_many). The default reads
    /// one after the other.
    ///
    /// # Errors
    /// Those of [`Files::read_many`](crate::Files::read_many).
    fn read_many(&self, paths: &[&str]) -> Result<Vec<Result<FileText, FileError>>, StoreError> {
        paths.iter().map(|path| of_file(self.read(path, None))).collect()
    }

    /// Writes a file, replacing an existing one.
    ///
    /// # Errors
    /// Those of [`Files::write`](crate::Files::write).
    fn write(&self, path: &str, text: &str) -> Result<(), FileError>;

    /// Returns the state of a file, for a later change that is conditional on it; `None` if there is no file. Reads the whole
    /// text.
    ///
    /// # Errors
    /// [`FileError::InvalidPath`], [`FileError::Store`].
    fn version(&self, path: &str) -> Result<Option<FileVersion>, FileError>;

    /// As [`write`](UnlockedStore::write), with the times of the [`NewFile`], if the condition holds; its `replaces` is ignored.
    /// Returns the new state of the file.
    ///
    /// # Errors
    /// As [`write`](UnlockedStore::write); [`FileError::Changed`].
    fn write_file_if(
        &self,
        file: &NewFile<'_>,
        condition: &Precondition,
    ) -> Result<FileVersion, FileError>;

    /// Sets the time of the last change of a file, if the condition holds; see
    /// [`Files::set_modified_if`](crate::Files::set_modified_if).
    ///
    /// # Errors
    /// As [`metadata`](UnlockedStore::metadata); [`FileError::IsAFolder`]; [`FileError::Changed`].
    fn set_modified_if(
        &self,
        path: &str,
        modified: SystemTime,
        condition: &Precondition,
    ) -> Result<(), FileError>;

    /// Moves a file into the place of another; see [`Files::replace_if`](crate::Files::replace_if).
    ///
    /// # Errors
    /// Those of [`Files::replace_if`](crate::Files::replace_if).
    fn replace_if(
        &self,
        old: &str,
        new: &str,
        moved: &Precondition,
        replaced: &Precondition,
    ) -> Result<FileVersion, FileError>;

    /// As [`remove`](UnlockedStore::remove), if the condition holds.
    ///
    /// # Errors
    /// As [`remove`](UnlockedStore::remove); [`FileError::Changed`].
    fn remove_if(&self, path: &str, condition: &Precondition) -> Result<(), FileError>;

    /// As [`rename`](UnlockedStore::rename), if the condition holds for the old path. Returns the number of the change.
    ///
    /// # Errors
    /// As [`rename`](UnlockedStore::rename); [`FileError::Changed`].
    fn rename_if(&self, old: &str, new: &str, condition: &Precondition) -> Result<u64, FileError>;

    /// Writes files in their order, and returns the result of each; see [`Files::write_many`](crate::Files::write_many).
    ///
    /// # Errors
    /// Those of [`Files::write_many`](crate::Files::write_many).
    fn write_many(
        &self,
        files: &[NewFile<'_>],
    ) -> Result<Vec<Result<WriteOutcome, FileError>>, StoreError>;

    /// Appends text to a file, byte for byte; creates a missing file.
    ///
    /// # Errors
    /// As [`write`](UnlockedStore::write).
    fn append(&self, path: &str, text: &str) -> Result<(), FileError>;

    /// Returns up to `most` entries of a folder, in code-point order of names, hidden entries included.
    ///
    /// # Errors
    /// As [`metadata`](UnlockedStore::metadata); [`FileError::NotAFolder`] for a file.
    fn list(
        &self,
        path: &str,
        after: Option<&PageCursor>,
        most: usize,
    ) -> Result<Page<FolderEntry>, FileError>;

    /// Returns up to `most` entries below a folder, depth first, a folder before its entries; for a file, the file
    /// alone. `max_depth` 0 returns the entries of the folder itself, 1 also those of its sub-folders, and so on.
    ///
    /// # Errors
    /// As [`metadata`](UnlockedStore::metadata).
    fn walk(
        &self,
        path: &str,
        max_depth: usize,
        after: Option<&PageCursor>,
        most: usize,
    ) -> Result<Page<WalkEntry>, FileError>;

    /// Returns up to `most` matching lines from the files below a folder, in the order of a walk; for a file, from that
    /// file alone.
    ///
    /// # Errors
    /// As [`metadata`](UnlockedStore::metadata); [`FileError::InvalidPattern`].
    fn search(
        &self,
        path: &str,
        query: &SearchQuery,
        after: Option<&PageCursor>,
        most: usize,
    ) -> Result<Page<SearchMatch>, FileError>;

    /// Returns the files below a folder that say most about the words of the query, the best first; for a file, that file if it
    /// has any of them.
    ///
    /// # Errors
    /// As [`metadata`](UnlockedStore::metadata); [`FileError::EmptySearch`] if the query has no word.
    fn rank(&self, path: &str, query: &RankQuery) -> Result<Ranked, FileError>;

    /// Deletes a file, or a folder with everything below it.
    ///
    /// # Errors
    /// As [`metadata`](UnlockedStore::metadata); [`FileError::Root`].
    fn remove(&self, path: &str) -> Result<(), FileError>;

    /// Moves a file, or a folder with everything below it.
    ///
    /// # Errors
    /// Those of [`Files::rename`](crate::Files::rename).
    fn rename(&self, old: &str, new: &str) -> Result<(), FileError>;
}

/// Separates a failure of the store from one that concerns a file alone: its damage is no failure of the store.
pub(super) fn of_file<T>(result: Result<T, FileError>) -> Result<Result<T, FileError>, StoreError> {
    match result {
        Err(FileError::Store(error)) if !matches!(error, StoreError::Tampered { .. }) => Err(error),
        result => Ok(result),
    }
}
