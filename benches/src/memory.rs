//! inmost, through [`MemoryTool::try_run_json`].

use std::error::Error;
use std::path::Path;
use std::time::Duration;

use inmost::{HistorySettings, MemoryTool, Session, StorageEngine};

use crate::peer::{CallResult, Peer};
use crate::store;

/// A store and its tool.
pub struct Memory {
    session: Session,
    tool: MemoryTool,
}

impl Memory {
    /// Creates an empty store.
    ///
    /// # Errors
    /// The errors of the library.
    pub fn begin(path: &Path, engine: StorageEngine) -> Result<Self, Box<dyn Error>> {
        Ok(Self::of(store::create(path, engine)?))
    }

    /// Creates an empty store that keeps versions for 30 days.
    ///
    /// # Errors
    /// The errors of the library.
    pub fn begin_keeping(path: &Path, engine: StorageEngine) -> Result<Self, Box<dyn Error>> {
        let session = store::create(path, engine)?;
        session.history().set(HistorySettings::keep(Duration::from_secs(30 * 24 * 60 * 60)))?;
        Ok(Self::of(session))
    }

    /// Wraps the tool of a session.
    #[must_use]
    pub fn of(session: Session) -> Self {
        Self { tool: MemoryTool::new(session.clone()), session }
    }
}

impl Peer for Memory {
    fn call(&self, json: &str) -> CallResult {
        let result = self.tool.try_run_json(json)?;
        if result.is_error() {
            return Err(result.content().into());
        }
        Ok(result.into_content())
    }

    fn text(&self, path: &str) -> Option<CallResult> {
        let read = self.session.files().read(path);
        Some(read.map(|text| text.as_str().to_owned()).map_err(Into::into))
    }
}
