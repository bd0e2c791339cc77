//! Files and tool calls of a store that a key daemon holds.

use inmost::{
    FileError, FileText, FileVersion, FolderEntry, LineRange, Metadata, NewFile, Page, PageCursor,
    Precondition, SearchMatch, SearchQuery, StoreError, ToolCommand, ToolOptions, ToolResult,
    UnlockedStore, WalkEntry, WriteOutcome,
};

use super::{Client, check_screen};
use crate::message::ClientMessage;
use crate::request::Request;
use crate::requests::search::Search;
use crate::requests::tool::RunCommand;
use crate::requests::write_many::WriteMany;
use crate::requests::{conditional, file};
use crate::wiped::WipedPath;

impl UnlockedStore for Client {
    fn run_command(
        &self,
        command: &ToolCommand,
        options: &ToolOptions,
    ) -> Result<ToolResult, StoreError> {
        check_screen(options)?;
        let (request, body) = RunCommand::new(command, options).ok_or(StoreError::TooLarge)?;
        self.call(request, body.as_slice(), &mut |_| {})
    }

    fn metadata(&self, path: &str) -> Result<Metadata, FileError> {
        self.file(file::Metadata { path: wiped(path) }, "")
    }

    fn read(&self, path: &str, lines: Option<LineRange>) -> Result<FileText, FileError> {
        self.file(file::Read { path: wiped(path), lines }, "")
    }

    fn write(&self, path: &str, text: &str) -> Result<(), FileError> {
        self.file(file::Write { path: wiped(path) }, text)
    }

    fn version(&self, path: &str) -> Result<Option<FileVersion>, FileError> {
        self.file(conditional::Version { path: wiped(path) }, "")
    }

    fn write_if(
        &self,
        path: &str,
        text: &str,
        condition: &Precondition,
    ) -> Result<FileVersion, FileError> {
        self.file(conditional::WriteIf { path: wiped(path), condition: *condition }, text)
    }

    fn remove_if(&self, path: &str, condition: &Precondition) -> Result<(), FileError> {
        self.file(conditional::RemoveIf { path: wiped(path), condition: *condition }, "")
    }

    fn rename_if(&self, old: &str, new: &str, condition: &Precondition) -> Result<u64, FileError> {
        let (old, new, condition) = (wiped(old), wiped(new), *condition);
        self.file(conditional::RenameIf { old, new, condition }, "")
    }

    fn write_many(
        &self,
        files: &[NewFile<'_>],
    ) -> Result<Vec<Result<WriteOutcome, FileError>>, StoreError> {
        let mut results = Vec::with_capacity(files.len());
        let mut rest = files;
        while !rest.is_empty() {
            let (first, after) = WriteMany::split(rest);
            let written = match WriteMany::new(first) {
                Some((request, body)) => self.call(request, body.as_slice(), &mut |_| {}),
                None => Err(StoreError::TooLarge),
            };
            match written {
                Ok(written) if written.len() == first.len() => results.extend(written),
                Ok(_) => {
                    let what = "The key daemon sent results for another number of files.";
                    return Err(StoreError::KeyDaemon(what.to_owned()));
                }
                // Only a file that is alone in its request can be too long for it.
                Err(StoreError::TooLarge) => {
                    results.extend(first.iter().map(|_| Err(StoreError::TooLarge.into())));
                }
                Err(error) => return Err(error),
            }
            rest = after;
        }
        Ok(results)
    }

    fn append(&self, path: &str, text: &str) -> Result<(), FileError> {
        self.file(file::Append { path: wiped(path) }, text)
    }

    fn list(
        &self,
        path: &str,
        after: Option<&PageCursor>,
        most: usize,
    ) -> Result<Page<FolderEntry>, FileError> {
        self.file(file::List { path: wiped(path), after: after.cloned(), most }, "")
    }

    fn walk(
        &self,
        path: &str,
        max_depth: usize,
        after: Option<&PageCursor>,
        most: usize,
    ) -> Result<Page<WalkEntry>, FileError> {
        let (path, after) = (wiped(path), after.cloned());
        self.file(file::Walk { path, max_depth, after, most }, "")
    }

    fn search(
        &self,
        path: &str,
        query: &SearchQuery,
        after: Option<&PageCursor>,
        most: usize,
    ) -> Result<Page<SearchMatch>, FileError> {
        let (path, query, after) = (wiped(path), query.clone(), after.cloned());
        self.file(Search { path, query, after, most }, "")
    }

    fn remove(&self, path: &str) -> Result<(), FileError> {
        self.file(file::Remove { path: wiped(path) }, "")
    }

    fn rename(&self, old: &str, new: &str) -> Result<(), FileError> {
        self.file(file::Rename { old: wiped(old), new: wiped(new) }, "")
    }
}

impl Client {
    /// A request for files, with the text that goes with it.
    pub(super) fn file<R: Request + Into<ClientMessage>>(
        &self,
        request: R,
        text: &str,
    ) -> Result<R::Reply, FileError> {
        self.connection()?.call(request, text.as_bytes(), &mut |_| {})
    }
}

pub(super) fn wiped(path: &str) -> WipedPath {
    WipedPath::new(path.to_owned())
}
