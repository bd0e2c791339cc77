//! The trait of everything that files and the memory tool can work on.

use crate::session::StoreError;
use crate::tool::{ToolCommand, ToolOptions, ToolResult};
use crate::vfs::{
    FileError, FileText, FolderEntry, LineRange, Metadata, Page, PageCursor, SearchMatch,
    SearchQuery, WalkEntry,
};

/// An unlocked store: a [`Session`](crate::Session) of this process, or a connection to a key agent.
///
/// [`MemoryTool`](crate::MemoryTool) and [`Files`](crate::Files) work on either. Applications call those; this trait is
/// for what stands between, such as a client of a key agent or a wrapper that counts calls. Paths are those of the memory
/// tool: `/memories`, or something below it. Every change is one atomic step and durable when its method returns.
pub trait UnlockedStore: Send + Sync {
    /// Runs a command of the memory tool. A mistake of the model is an `Ok` with
    /// [`is_error`](ToolResult::is_error) set.
    ///
    /// # Errors
    /// What the application must act on.
    fn run_command(
        &self,
        command: &ToolCommand,
        options: &ToolOptions,
    ) -> Result<ToolResult, StoreError>;

    /// What is known of a file or folder without reading its text.
    ///
    /// # Errors
    /// [`FileError::InvalidPath`], [`FileError::NotFound`], [`FileError::Store`].
    fn metadata(&self, path: &str) -> Result<Metadata, FileError>;

    /// The text of a file, or of some of its lines.
    ///
    /// # Errors
    /// As [`metadata`](UnlockedStore::metadata); [`FileError::IsAFolder`]; [`FileError::NoSuchLine`] if the lines begin
    /// after the last one.
    fn read(&self, path: &str, lines: Option<LineRange>) -> Result<FileText, FileError>;

    /// Writes a file, in place of one that is there.
    ///
    /// # Errors
    /// [`FileError::InvalidPath`]; [`FileError::AlreadyExists`] for a folder; [`FileError::NotAFolder`]; a quota;
    /// [`FileError::Store`].
    fn write(&self, path: &str, text: &str) -> Result<(), FileError>;

    /// Adds text at the end of a file, byte for byte; makes the file if there is none.
    ///
    /// # Errors
    /// As [`write`](UnlockedStore::write).
    fn append(&self, path: &str, text: &str) -> Result<(), FileError>;

    /// Up to `most` entries of a folder, in the code-point order of their names, hidden ones too.
    ///
    /// # Errors
    /// As [`metadata`](UnlockedStore::metadata); [`FileError::NotAFolder`] for a file.
    fn list(
        &self,
        path: &str,
        after: Option<&PageCursor>,
        most: usize,
    ) -> Result<Page<FolderEntry>, FileError>;

    /// Up to `most` entries below a folder, depth first, a folder before its entries; of a file, itself alone. Folders
    /// at `max_depth` are not looked into; 0 is the folder itself.
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

    /// Up to `most` matching lines in the files below a folder, in the order of a walk; of a file, in it alone.
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

    /// Deletes a file, or a folder with everything below it.
    ///
    /// # Errors
    /// As [`metadata`](UnlockedStore::metadata); [`FileError::Root`].
    fn remove(&self, path: &str) -> Result<(), FileError>;

    /// Moves a file, or a folder with everything below it.
    ///
    /// # Errors
    /// [`FileError::InvalidPath`]; [`FileError::Root`]; [`FileError::NotFound`]; [`FileError::AlreadyExists`] at the
    /// destination; [`FileError::IntoItself`]; [`FileError::NotAFolder`]; [`FileError::PathBelow`]; [`FileError::Store`].
    fn rename(&self, old: &str, new: &str) -> Result<(), FileError>;
}
