//! Files, tool calls, the history and the expiry of a store that a key daemon holds.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use inmost::{
    Expiry, ExpiryReport, ExpirySettings, ExpiryStatus, ExpiryStore, FileError, FileText,
    FileVersion, FolderEntry, History, HistorySettings, HistoryStatus, HistoryStore, LineRange,
    Metadata, NewFile, Page, PageCursor, Precondition, RankQuery, Ranked, SearchMatch, SearchQuery,
    StoreError, ToolCommand, ToolOptions, ToolResult, UndoStep, UnlockedStore, VersionPage,
    VersionQuery, WalkEntry, WriteOutcome,
};

use super::{Client, check_screen};
use crate::body::WipedPath;
use crate::request::Request;
use crate::requests::{self, ClientMessage};

impl UnlockedStore for Client {
    fn run_command(
        &self,
        command: &ToolCommand,
        options: &ToolOptions,
    ) -> Result<ToolResult, StoreError> {
        check_screen(options)?;
        let (command, body) = requests::CommandHead::new(command).ok_or(StoreError::TooLarge)?;
        let request = requests::RunCommand { command, options: options.clone() };
        self.call(request, body.as_slice(), &mut |_| {})
    }

    fn metadata(&self, path: &str) -> Result<Metadata, FileError> {
        self.file(requests::Metadata { path: wiped(path) }, "")
    }

    fn read(&self, path: &str, lines: Option<LineRange>) -> Result<FileText, FileError> {
        self.file(requests::Read { path: wiped(path), lines }, "")
    }

    fn read_with_metadata(&self, path: &str) -> Result<(FileText, Metadata), FileError> {
        self.file(requests::ReadWithMetadata { path: wiped(path) }, "")
    }

    fn write(&self, path: &str, text: &str) -> Result<(), FileError> {
        self.file(requests::Write { path: wiped(path) }, text)
    }

    fn version(&self, path: &str) -> Result<Option<FileVersion>, FileError> {
        self.file(requests::Version { path: wiped(path) }, "")
    }

    fn write_file_if(
        &self,
        file: &NewFile<'_>,
        condition: &Precondition,
    ) -> Result<FileVersion, FileError> {
        let (path, condition) = (wiped(file.path), *condition);
        let head = requests::FileHead::of(file);
        self.file(requests::WriteFileIf { path, file: head, condition }, file.text)
    }

    fn set_modified_if(
        &self,
        path: &str,
        modified: SystemTime,
        condition: &Precondition,
    ) -> Result<(), FileError> {
        // serde refuses a time before 1970. The store would make it 1970 anyway.
        let modified = modified.max(UNIX_EPOCH);
        let (path, condition) = (wiped(path), *condition);
        self.file(requests::SetModifiedIf { path, modified, condition }, "")
    }

    fn replace_if(
        &self,
        old: &str,
        new: &str,
        moved: &Precondition,
        replaced: &Precondition,
    ) -> Result<FileVersion, FileError> {
        let (old, new, moved, replaced) = (wiped(old), wiped(new), *moved, *replaced);
        self.file(requests::ReplaceIf { old, new, moved, replaced }, "")
    }

    fn remove_if(&self, path: &str, condition: &Precondition) -> Result<(), FileError> {
        self.file(requests::RemoveIf { path: wiped(path), condition: *condition }, "")
    }

    fn rename_if(&self, old: &str, new: &str, condition: &Precondition) -> Result<u64, FileError> {
        let (old, new, condition) = (wiped(old), wiped(new), *condition);
        self.file(requests::RenameIf { old, new, condition }, "")
    }

    fn write_many(
        &self,
        files: &[NewFile<'_>],
    ) -> Result<Vec<Result<WriteOutcome, FileError>>, StoreError> {
        let mut results = Vec::with_capacity(files.len());
        let mut rest = files;
        while !rest.is_empty() {
            let (first, after) = requests::split(rest);
            let written = match requests::heads(first) {
                Some((files, body)) => {
                    self.call(requests::WriteMany { files }, body.as_slice(), &mut |_| {})
                }
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
        self.file(requests::Append { path: wiped(path) }, text)
    }

    fn list(
        &self,
        path: &str,
        after: Option<&PageCursor>,
        most: usize,
    ) -> Result<Page<FolderEntry>, FileError> {
        self.file(requests::List { path: wiped(path), after: after.cloned(), most }, "")
    }

    fn walk(
        &self,
        path: &str,
        max_depth: usize,
        after: Option<&PageCursor>,
        most: usize,
    ) -> Result<Page<WalkEntry>, FileError> {
        let (path, after) = (wiped(path), after.cloned());
        self.file(requests::Walk { path, max_depth, after, most }, "")
    }

    fn search(
        &self,
        path: &str,
        query: &SearchQuery,
        after: Option<&PageCursor>,
        most: usize,
    ) -> Result<Page<SearchMatch>, FileError> {
        let (path, query, after) = (wiped(path), query.clone(), after.cloned());
        self.file(requests::Search { path, query, after, most }, "")
    }

    fn rank(&self, path: &str, query: &RankQuery) -> Result<Ranked, FileError> {
        self.file(requests::Rank { path: wiped(path), query: query.clone() }, "")
    }

    fn remove(&self, path: &str) -> Result<(), FileError> {
        self.file(requests::Remove { path: wiped(path) }, "")
    }

    fn rename(&self, old: &str, new: &str) -> Result<(), FileError> {
        self.file(requests::Rename { old: wiped(old), new: wiped(new) }, "")
    }
}

impl HistoryStore for Client {
    fn versions(
        &self,
        query: &VersionQuery,
        before: Option<u64>,
        most: usize,
    ) -> Result<VersionPage, FileError> {
        self.file(requests::Versions { query: query.clone(), before, most }, "")
    }

    fn version_text(&self, number: u64) -> Result<FileText, FileError> {
        self.file(requests::VersionText { number }, "")
    }

    fn restore(&self, number: u64, to: Option<&str>) -> Result<u64, FileError> {
        self.file(requests::Restore { number, to: to.map(wiped) }, "")
    }

    fn revert(&self, step: &UndoStep) -> Result<u64, FileError> {
        self.file(requests::Revert { step: step.clone() }, "")
    }

    fn revert_together(&self, steps: &[UndoStep]) -> Result<Vec<u64>, FileError> {
        self.file(requests::RevertTogether { steps: steps.to_vec() }, "")
    }

    fn forget(
        &self,
        path: &str,
        until: Option<u64>,
        progress: &mut dyn FnMut(u64),
    ) -> Result<u64, FileError> {
        self.connection()?.call(requests::Forget { path: wiped(path), until }, &[], progress)
    }

    fn history_status(&self) -> Result<HistoryStatus, StoreError> {
        self.ask(requests::HistoryStatus {})
    }

    fn set_history(&self, settings: HistorySettings) -> Result<(), StoreError> {
        self.ask(requests::SetHistory { settings })
    }
}

impl ExpiryStore for Client {
    fn expire(
        &self,
        unused_for: Duration,
        dry_run: bool,
        progress: &mut dyn FnMut(u64),
    ) -> Result<ExpiryReport, FileError> {
        self.connection()?.call(requests::Expire { unused_for, dry_run }, &[], progress)
    }

    fn expiry_status(&self) -> Result<ExpiryStatus, StoreError> {
        self.ask(requests::ExpiryStatus {})
    }

    fn set_expiry(&self, settings: ExpirySettings) -> Result<(), StoreError> {
        self.ask(requests::SetExpiry { settings })
    }
}

impl Client {
    /// The history of the store.
    #[must_use]
    pub fn history(&self) -> History<'_> {
        History::new(self)
    }

    /// The expiry of unused files of the store.
    #[must_use]
    pub fn expiry(&self) -> Expiry<'_> {
        Expiry::new(self)
    }

    /// A request for files, with the text that goes with it.
    fn file<R: Request + Into<ClientMessage>>(
        &self,
        request: R,
        text: &str,
    ) -> Result<R::Reply, FileError> {
        self.connection()?.call(request, text.as_bytes(), &mut |_| {})
    }
}

fn wiped(path: &str) -> WipedPath {
    WipedPath::new(path.to_owned())
}
