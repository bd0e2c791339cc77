//! Requests for the history of the store.

use inmost::{
    FileError, FileText, HistorySettings, HistoryStore, UndoStep, VersionPage, VersionQuery,
};
use serde::{Deserialize, Serialize};

use crate::request::{Context, Request};
use crate::wiped::WipedPath;

#[derive(Serialize, Deserialize)]
pub(crate) struct Versions {
    pub(crate) query: VersionQuery,
    pub(crate) before: Option<u64>,
    pub(crate) most: usize,
}

impl Request for Versions {
    type Reply = VersionPage;

    fn is_change(&self) -> bool {
        false
    }

    fn execute(self, _: &[u8], context: &mut Context<'_>) -> Result<VersionPage, FileError> {
        context.session.versions(&self.query, self.before, self.most.min(MAX_PAGE))
    }
}

#[derive(Serialize, Deserialize)]
pub(crate) struct VersionText {
    pub(crate) number: u64,
}

impl Request for VersionText {
    type Reply = FileText;

    fn is_change(&self) -> bool {
        false
    }

    fn execute(self, _: &[u8], context: &mut Context<'_>) -> Result<FileText, FileError> {
        context.session.version_text(self.number)
    }
}

#[derive(Serialize, Deserialize)]
pub(crate) struct Restore {
    pub(crate) number: u64,
    pub(crate) to: Option<WipedPath>,
}

impl Request for Restore {
    type Reply = u64;

    fn is_change(&self) -> bool {
        true
    }

    fn execute(self, _: &[u8], context: &mut Context<'_>) -> Result<u64, FileError> {
        context.session.restore(self.number, self.to.as_ref().map(|path| path.as_str()))
    }
}

#[derive(Serialize, Deserialize)]
pub(crate) struct Revert {
    pub(crate) step: UndoStep,
}

impl Request for Revert {
    type Reply = u64;

    fn is_change(&self) -> bool {
        true
    }

    fn execute(self, _: &[u8], context: &mut Context<'_>) -> Result<u64, FileError> {
        context.session.revert(&self.step)
    }
}

#[derive(Serialize, Deserialize)]
pub(crate) struct RevertTogether {
    pub(crate) steps: Vec<UndoStep>,
}

impl Request for RevertTogether {
    type Reply = Vec<u64>;

    fn is_change(&self) -> bool {
        true
    }

    fn execute(self, _: &[u8], context: &mut Context<'_>) -> Result<Vec<u64>, FileError> {
        context.session.revert_together(&self.steps)
    }
}

#[derive(Serialize, Deserialize)]
pub(crate) struct Redact {
    pub(crate) first: u64,
    pub(crate) last: u64,
}

impl Request for Redact {
    type Reply = u64;

    fn is_change(&self) -> bool {
        true
    }

    fn execute(self, _: &[u8], context: &mut Context<'_>) -> Result<u64, FileError> {
        context.session.redact(self.first, self.last)
    }
}

#[derive(Serialize, Deserialize)]
pub(crate) struct Forget {
    pub(crate) path: WipedPath,
}

impl Request for Forget {
    type Reply = u64;

    fn is_change(&self) -> bool {
        true
    }

    fn execute(self, _: &[u8], context: &mut Context<'_>) -> Result<u64, FileError> {
        context.session.forget(&self.path, &mut *context.progress)
    }
}

#[derive(Serialize, Deserialize)]
pub(crate) struct HistoryStatus;

impl Request for HistoryStatus {
    type Reply = inmost::HistoryStatus;

    const IS_USE: bool = false;

    fn is_change(&self) -> bool {
        false
    }

    fn execute(self, _: &[u8], context: &mut Context<'_>) -> Result<Self::Reply, FileError> {
        Ok(context.session.history_status()?)
    }
}

#[derive(Serialize, Deserialize)]
pub(crate) struct SetHistory {
    pub(crate) settings: HistorySettings,
}

impl Request for SetHistory {
    type Reply = ();

    fn is_change(&self) -> bool {
        true
    }

    fn execute(self, _: &[u8], context: &mut Context<'_>) -> Result<(), FileError> {
        Ok(context.session.set_history(self.settings)?)
    }
}

/// The maximum number of versions on a page. A version has two paths and a label, so this is less than for files.
const MAX_PAGE: usize = 4_000;
