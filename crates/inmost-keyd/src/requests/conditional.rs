//! Requests for changes that are conditional on the state of a file.

use inmost::{FileError, FileVersion, Precondition, UnlockedStore};
use serde::{Deserialize, Serialize};

use super::file::text;
use crate::request::{Context, Request};
use crate::wiped::WipedPath;

#[derive(Serialize, Deserialize)]
pub(crate) struct Version {
    pub(crate) path: WipedPath,
}

impl Request for Version {
    type Reply = Option<FileVersion>;

    fn is_change(&self) -> bool {
        false
    }

    fn execute(self, _: &[u8], context: &mut Context<'_>) -> Result<Self::Reply, FileError> {
        context.session.version(&self.path)
    }
}

/// The body is the text.
#[derive(Serialize, Deserialize)]
pub(crate) struct WriteIf {
    pub(crate) path: WipedPath,
    pub(crate) condition: Precondition,
}

impl Request for WriteIf {
    type Reply = FileVersion;

    fn is_change(&self) -> bool {
        true
    }

    fn execute(self, body: &[u8], context: &mut Context<'_>) -> Result<FileVersion, FileError> {
        context.session.write_if(&self.path, text(body)?, &self.condition)
    }
}

#[derive(Serialize, Deserialize)]
pub(crate) struct RemoveIf {
    pub(crate) path: WipedPath,
    pub(crate) condition: Precondition,
}

impl Request for RemoveIf {
    type Reply = ();

    fn is_change(&self) -> bool {
        true
    }

    fn execute(self, _: &[u8], context: &mut Context<'_>) -> Result<(), FileError> {
        context.session.remove_if(&self.path, &self.condition)
    }
}

#[derive(Serialize, Deserialize)]
pub(crate) struct RenameIf {
    pub(crate) old: WipedPath,
    pub(crate) new: WipedPath,
    pub(crate) condition: Precondition,
}

impl Request for RenameIf {
    type Reply = u64;

    fn is_change(&self) -> bool {
        true
    }

    fn execute(self, _: &[u8], context: &mut Context<'_>) -> Result<u64, FileError> {
        context.session.rename_if(&self.old, &self.new, &self.condition)
    }
}
