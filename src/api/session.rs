//! A session of this process as an [`UnlockedStore`].

use std::time::SystemTime;

use super::files::Files;
use super::history::{History, HistoryStore};
use super::store::{UnlockedStore, of_file};
use crate::session::{HistorySettings, Session, StoreError, milliseconds};
use crate::tool::{self, ToolCommand, ToolOptions, ToolResult};
use crate::vfs::path::MemoryPath;
use crate::vfs::{
    FileError, FileText, FileVersion, FolderEntry, HistoryStatus, LineRange, Metadata, NewFile,
    Page, PageCursor, Precondition, RankQuery, Ranked, SearchMatch, SearchQuery, UndoStep,
    VersionPage, VersionQuery, WalkEntry, WriteOutcome, arrange, conditional, edit, file, grep,
    list, many, rank, replace, versions, walk,
};

use inmost_format::record::history::Channel;

impl Session {
    /// The files of this store.
    #[must_use]
    pub fn files(&self) -> Files<'_> {
        Files::new(self)
    }

    /// The history of this store.
    #[must_use]
    pub fn history(&self) -> History<'_> {
        History::new(self)
    }
}

impl HistoryStore for Session {
    fn versions(
        &self,
        query: &VersionQuery,
        before: Option<u64>,
        most: usize,
    ) -> Result<VersionPage, FileError> {
        Session::read(self, |open| versions::list(open, query, before, most.max(1)))
    }

    fn version_text(&self, number: u64) -> Result<FileText, FileError> {
        Session::read(self, |open| versions::text(open, number))
    }

    fn restore(&self, number: u64, to: Option<&str>) -> Result<u64, FileError> {
        versions::restore(self, number, to)
    }

    fn revert(&self, step: &UndoStep) -> Result<u64, FileError> {
        versions::revert(self, step)
    }

    fn revert_together(&self, steps: &[UndoStep]) -> Result<Vec<u64>, FileError> {
        versions::revert_together(self, steps)
    }

    fn forget(
        &self,
        path: &str,
        until: Option<u64>,
        progress: &mut dyn FnMut(u64),
    ) -> Result<u64, FileError> {
        versions::forget(self, &MemoryPath::parse(path)?, until, progress)
    }

    fn history_status(&self) -> Result<HistoryStatus, StoreError> {
        Session::read(self, versions::status)
    }

    fn set_history(&self, settings: HistorySettings) -> Result<(), StoreError> {
        self.exclusive(|exclusive| {
            // The rest of a history that was switched off before: its texts are not kept any more.
            if exclusive.session().read(|open| Ok::<_, StoreError>(open.root().keep == 0))? {
                exclusive.trim()?;
            }
            exclusive.commit(|txn| {
                txn.set_history_settings(settings)?;
                Ok::<_, StoreError>(())
            })?;
            exclusive.trim()
        })
    }
}

impl UnlockedStore for Session {
    fn run_command(
        &self,
        command: &ToolCommand,
        options: &ToolOptions,
    ) -> Result<ToolResult, StoreError> {
        tool::run(&self.through(Channel::Tool), options, command)
    }

    fn metadata(&self, path: &str) -> Result<Metadata, FileError> {
        let path = MemoryPath::parse(path)?;
        Session::read(self, |open| list::metadata(open, open.root(), &path))
    }

    fn read(&self, path: &str, lines: Option<LineRange>) -> Result<FileText, FileError> {
        let path = MemoryPath::parse(path)?;
        Session::read(self, |open| {
            let (text, file) = file::read(open, &path, lines)?;
            if self.counts_readings() {
                open.note_reading(file);
            }
            Ok(text)
        })
    }

    fn read_with_metadata(&self, path: &str) -> Result<(FileText, Metadata), FileError> {
        let path = MemoryPath::parse(path)?;
        Session::read(self, |open| {
            let (text, metadata, file) = file::read_with_metadata(open, &path)?;
            if self.counts_readings() {
                open.note_reading(file);
            }
            Ok((text, metadata))
        })
    }

    fn read_many(&self, paths: &[&str]) -> Result<Vec<Result<FileText, FileError>>, StoreError> {
        let mut texts = Vec::with_capacity(paths.len());
        while let Some(rest) = paths.get(texts.len()..).filter(|rest| !rest.is_empty()) {
            let read = Session::read(self, |open| {
                let files = many::read(open, rest)?;
                if self.counts_readings() {
                    files.iter().flatten().for_each(|(_, file)| open.note_reading(*file));
                }
                Ok(files)
            });
            match read {
                Ok(files) => {
                    texts.extend(files.into_iter().map(|file| file.map(|(text, _)| text)));
                }
                // One of them is damaged. The next one alone says whether it is that one.
                Err(StoreError::Tampered { .. }) => {
                    for path in rest.iter().take(1) {
                        texts.push(of_file(UnlockedStore::read(self, path, None))?);
                    }
                }
                Err(error) => return Err(error),
            }
        }
        Ok(texts)
    }

    fn write(&self, path: &str, text: &str) -> Result<(), FileError> {
        edit::write(self, &MemoryPath::parse(path)?, text, true)
    }

    fn version(&self, path: &str) -> Result<Option<FileVersion>, FileError> {
        conditional::state(self, &MemoryPath::parse(path)?)
    }

    fn write_file_if(
        &self,
        file: &NewFile<'_>,
        condition: &Precondition,
    ) -> Result<FileVersion, FileError> {
        let path = MemoryPath::parse(file.path)?;
        let times = (file.created.map(milliseconds), file.modified.map(milliseconds));
        edit::write_if(self, &path, file.text, times, condition)
    }

    fn set_modified_if(
        &self,
        path: &str,
        modified: SystemTime,
        condition: &Precondition,
    ) -> Result<(), FileError> {
        edit::set_modified(self, &MemoryPath::parse(path)?, milliseconds(modified), condition)
    }

    fn replace_if(
        &self,
        old: &str,
        new: &str,
        moved: &Precondition,
        replaced: &Precondition,
    ) -> Result<FileVersion, FileError> {
        let paths = (&MemoryPath::parse(old)?, &MemoryPath::parse(new)?);
        replace::replace(self, paths, (moved, replaced))
    }

    fn remove_if(&self, path: &str, condition: &Precondition) -> Result<(), FileError> {
        arrange::delete_if(self, &MemoryPath::parse(path)?, condition)
    }

    fn rename_if(&self, old: &str, new: &str, condition: &Precondition) -> Result<u64, FileError> {
        let paths = (&MemoryPath::parse(old)?, &MemoryPath::parse(new)?);
        arrange::rename_if(self, paths, condition)
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
        Session::read(self, |open| list::page(open, &path, after, most.max(1)))
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

    fn rank(&self, path: &str, query: &RankQuery) -> Result<Ranked, FileError> {
        rank::rank(self, &MemoryPath::parse(path)?, query)
    }

    fn remove(&self, path: &str) -> Result<(), FileError> {
        arrange::delete(self, &MemoryPath::parse(path)?)
    }

    fn rename(&self, old: &str, new: &str) -> Result<(), FileError> {
        arrange::rename(self, &MemoryPath::parse(old)?, &MemoryPath::parse(new)?)
    }
}
