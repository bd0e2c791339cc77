//! A session of this process as an [`UnlockedStore`].

use super::files::Files;
use super::store::UnlockedStore;
use crate::session::{Session, StoreError};
use crate::tool::{self, ToolCommand, ToolOptions, ToolResult};
use crate::vfs::path::MemoryPath;
use crate::vfs::{
    FileError, FileText, FolderEntry, LineRange, Metadata, NewFile, Page, PageCursor, SearchMatch,
    SearchQuery, WalkEntry, WriteOutcome, arrange, edit, file, grep, list, many, walk,
};

impl Session {
    /// The files of this store.
    #[must_use]
    pub fn files(&self) -> Files<'_> {
        Files::new(self)
    }
}

impl UnlockedStore for Session {
    fn run_command(
        &self,
        command: &ToolCommand,
        options: &ToolOptions,
    ) -> Result<ToolResult, StoreError> {
        tool::run(self, options, command)
    }

    fn metadata(&self, path: &str) -> Result<Metadata, FileError> {
        let path = MemoryPath::parse(path)?;
        Session::read(self, |open| list::metadata(open, open.root(), &path))
    }

    fn read(&self, path: &str, lines: Option<LineRange>) -> Result<FileText, FileError> {
        let path = MemoryPath::parse(path)?;
        Session::read(self, |open| file::read(open, open.root(), &path, lines))
    }

    fn write(&self, path: &str, text: &str) -> Result<(), FileError> {
        edit::write(self, &MemoryPath::parse(path)?, text, true)
    }

    fn write_many(
        &self,
        files: &[NewFile<'_>],
    ) -> Result<Vec<Result<WriteOutcome, FileError>>, StoreError> {
        many::write(self, files)
    }

    fn append(&self, path: &str, text: &str) -> Result<(), FileError> {
        edit::append(self, &MemoryPath::parse(path)?, text)
    }

    fn list(
        &self,
        path: &str,
        after: Option<&PageCursor>,
        most: usize,
    ) -> Result<Page<FolderEntry>, FileError> {
        let path = MemoryPath::parse(path)?;
        Session::read(self, |open| list::page(open, open.root(), &path, after, most.max(1)))
    }

    fn walk(
        &self,
        path: &str,
        max_depth: usize,
        after: Option<&PageCursor>,
        most: usize,
    ) -> Result<Page<WalkEntry>, FileError> {
        let path = MemoryPath::parse(path)?;
        Session::read(self, |open| walk::walk(open, &path, after, most.max(1), max_depth))
    }

    fn search(
        &self,
        path: &str,
        query: &SearchQuery,
        after: Option<&PageCursor>,
        most: usize,
    ) -> Result<Page<SearchMatch>, FileError> {
        let path = MemoryPath::parse(path)?;
        Session::read(self, |open| grep::search(open, &path, query, after, most.max(1)))
    }

    fn remove(&self, path: &str) -> Result<(), FileError> {
        arrange::delete(self, &MemoryPath::parse(path)?)
    }

    fn rename(&self, old: &str, new: &str) -> Result<(), FileError> {
        arrange::rename(self, &MemoryPath::parse(old)?, &MemoryPath::parse(new)?)
    }
}
