//! Long work that says how far it is.

use std::path::Path;

use inmost_format::header::{Credential, SlotInfo};

use super::check::CheckReport;
use super::repair::RepairReport;
use crate::session::{Session, StorageEngine, StoreError};

/// The long work of a [`Session`], with a callback that is told how far it is.
///
/// ```
/// # fn main() -> Result<(), inmost::StoreError> {
/// # let session = inmost::Session::in_memory()?;
/// let report = session.with_progress(|records| eprintln!("{records} records read")).check()?;
/// assert!(report.problems.is_empty());
/// # Ok(())
/// # }
/// ```
#[must_use]
pub struct WithProgress<'s, F> {
    session: &'s Session,
    progress: F,
}

impl Session {
    /// Long work whose `progress` is told the number of records read or written so far.
    pub fn with_progress<F: FnMut(u64)>(&self, progress: F) -> WithProgress<'_, F> {
        WithProgress { session: self, progress }
    }
}

impl<F: FnMut(u64)> WithProgress<'_, F> {
    /// As [`Session::purge`].
    ///
    /// # Errors
    /// Those of [`Session::purge`].
    pub fn purge(mut self) -> Result<(), StoreError> {
        self.session.purge_telling(&mut self.progress)
    }

    /// As [`Session::migrate`].
    ///
    /// # Errors
    /// Those of [`Session::migrate`].
    pub fn migrate(mut self, engine: StorageEngine) -> Result<(), StoreError> {
        self.session.migrate_telling(engine, &mut self.progress)
    }

    /// As [`Session::backup`].
    ///
    /// # Errors
    /// Those of [`Session::backup`].
    pub fn backup(mut self, path: impl AsRef<Path>) -> Result<(), StoreError> {
        self.session.backup_telling(path.as_ref(), &mut self.progress)
    }

    /// As [`Session::check`]; each record is read twice.
    ///
    /// # Errors
    /// Those of [`Session::check`].
    pub fn check(mut self) -> Result<CheckReport, StoreError> {
        self.session.check_telling(&mut self.progress)
    }

    /// As [`Session::repair`].
    ///
    /// # Errors
    /// Those of [`Session::repair`].
    pub fn repair(mut self) -> Result<RepairReport, StoreError> {
        self.session.repair_telling(&mut self.progress)
    }

    /// As [`Session::rotate`].
    ///
    /// # Errors
    /// Those of [`Session::rotate`].
    pub fn rotate<'a>(
        mut self,
        keep: impl Into<Credential<'a>>,
    ) -> Result<Vec<SlotInfo>, StoreError> {
        self.session.rotate_telling(keep.into(), &mut self.progress)
    }
}
