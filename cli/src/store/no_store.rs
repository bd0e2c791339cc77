//! What the memory tool works on while the store cannot be opened.

use std::time::SystemTime;

use inmost::{
    FileError, FileText, FileVersion, FolderEntry, LineRange, Metadata, NewFile, Page, PageCursor,
    Precondition, RankQuery, Ranked, SearchMatch, SearchQuery, StoreError, ToolCommand,
    ToolOptions, ToolResult, UnlockedStore, WalkEntry, WriteOutcome,
};

use crate::exit::{Exit, Failure};

/// A store on which every call fails.
#[derive(Clone, Copy)]
pub(crate) enum NoStore {
    /// It is locked, and the user can unlock it.
    Locked,
    Unavailable,
}

impl NoStore {
    /// The store that could not be opened for this reason.
    pub(crate) fn of(failure: &Failure) -> Self {
        match failure {
            Failure::Error { exit: Exit::Locked, .. } => Self::Locked,
            _ => Self::Unavailable,
        }
    }

    fn error<T, E: From<StoreError>>(self) -> Result<T, E> {
        Err(match self {
            Self::Locked => StoreError::Locked,
            Self::Unavailable => StoreError::Halted,
        }
        .into())
    }
}

impl UnlockedStore for NoStore {
    fn run_command(&self, _: &ToolCommand, _: &ToolOptions) -> Result<ToolResult, StoreError> {
        self.error()
    }

    fn metadata(&self, _: &str) -> Result<Metadata, FileError> {
        self.error()
    }

    fn read(&self, _: &str, _: Option<LineRange>) -> Result<FileText, FileError> {
        self.error()
    }

    fn read_with_metadata(&self, _: &str) -> Result<(FileText, Metadata), FileError> {
        self.error()
    }

    fn write(&self, _: &str, _: &str) -> Result<(), FileError> {
        self.error()
    }

    fn version(&self, _: &str) -> Result<Option<FileVersion>, FileError> {
        self.error()
    }

    fn write_if(&self, _: &str, _: &str, _: &Precondition) -> Result<FileVersion, FileError> {
        self.error()
    }

    fn write_file_if(&self, _: &NewFile<'_>, _: &Precondition) -> Result<FileVersion, FileError> {
        self.error()
    }

    fn set_modified_if(&self, _: &str, _: SystemTime, _: &Precondition) -> Result<(), FileError> {
        self.error()
    }

    fn replace_if(
        &self,
        _: &str,
        _: &str,
        _: &Precondition,
        _: &Precondition,
    ) -> Result<FileVersion, FileError> {
        self.error()
    }

    fn remove_if(&self, _: &str, _: &Precondition) -> Result<(), FileError> {
        self.error()
    }

    fn rename_if(&self, _: &str, _: &str, _: &Precondition) -> Result<u64, FileError> {
        self.error()
    }

    fn write_many(
        &self,
        _: &[NewFile<'_>],
    ) -> Result<Vec<Result<WriteOutcome, FileError>>, StoreError> {
        self.error()
    }

    fn append(&self, _: &str, _: &str) -> Result<(), FileError> {
        self.error()
    }

    fn list(
        &self,
        _: &str,
        _: Option<&PageCursor>,
        _: usize,
    ) -> Result<Page<FolderEntry>, FileError> {
        self.error()
    }

    fn walk(
        &self,
        _: &str,
        _: usize,
        _: Option<&PageCursor>,
        _: usize,
    ) -> Result<Page<WalkEntry>, FileError> {
        self.error()
    }

    fn search(
        &self,
        _: &str,
        _: &SearchQuery,
        _: Option<&PageCursor>,
        _: usize,
    ) -> Result<Page<SearchMatch>, FileError> {
        self.error()
    }

    fn rank(&self, _: &str, _: &RankQuery) -> Result<Ranked, FileError> {
        self.error()
    }

    fn remove(&self, _: &str) -> Result<(), FileError> {
        self.error()
    }

    fn rename(&self, _: &str, _: &str) -> Result<(), FileError> {
        self.error()
    }
}
