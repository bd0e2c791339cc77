//! The history of a store that a key daemon holds.

use inmost::{
    FileError, FileText, HistorySettings, HistoryStatus, HistoryStore, StoreError, UndoStep,
    VersionPage, VersionQuery,
};

use super::Client;
use super::store::wiped;
use crate::requests::history::{
    self, Forget, Redact, Restore, Revert, RevertTogether, SetHistory, VersionText, Versions,
};

impl HistoryStore for Client {
    fn versions(
        &self,
        query: &VersionQuery,
        before: Option<u64>,
        most: usize,
    ) -> Result<VersionPage, FileError> {
        self.file(Versions { query: query.clone(), before, most }, "")
    }

    fn version_text(&self, number: u64) -> Result<FileText, FileError> {
        self.file(VersionText { number }, "")
    }

    fn restore(&self, number: u64, to: Option<&str>) -> Result<u64, FileError> {
        self.file(Restore { number, to: to.map(wiped) }, "")
    }

    fn revert(&self, step: &UndoStep) -> Result<u64, FileError> {
        self.file(Revert { step: step.clone() }, "")
    }

    fn revert_together(&self, steps: &[UndoStep]) -> Result<Vec<u64>, FileError> {
        self.file(RevertTogether { steps: steps.to_vec() }, "")
    }

    fn redact(&self, first: u64, last: u64) -> Result<u64, FileError> {
        self.file(Redact { first, last }, "")
    }

    fn forget(&self, path: &str, progress: &mut dyn FnMut(u64)) -> Result<u64, FileError> {
        self.connection()?.call(Forget { path: wiped(path) }, &[], progress)
    }

    fn history_status(&self) -> Result<HistoryStatus, StoreError> {
        self.ask(history::HistoryStatus)
    }

    fn set_history(&self, settings: HistorySettings) -> Result<(), StoreError> {
        self.ask(SetHistory { settings })
    }
}

impl Client {
    /// The history of the store.
    #[must_use]
    pub fn history(&self) -> inmost::History<'_> {
        inmost::History::new(self)
    }
}
