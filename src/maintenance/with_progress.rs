//! Maintenance with a progress callback.

use std::path::Path;

use inmost_format::header::{Credential, SlotInfo};

use super::backup::VerifiedCopy;
use super::check_report::CheckReport;
#[cfg(feature = "postgres")]
use crate::session::Postgres;
use crate::session::{Session, StorageEngine, StoreError};
#[cfg(feature = "postgres")]
use inmost_engines::postgres::VaultId;

/// The maintenance methods of a [`Session`], with a callback for their progress.
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
    /// Returns the maintenance methods with a callback, which receives the number of records read or written so far. The
    /// callback must not use the session: a store that several hosts share is locked meanwhile, and it would wait for itself.
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
        self.session.purge_reporting(&mut self.progress)
    }

    /// As [`Session::compact`].
    ///
    /// # Errors
    /// Those of [`Session::compact`].
    pub fn compact(mut self) -> Result<(), StoreError> {
        self.session.compact_reporting(&mut self.progress)
    }

    /// As [`Session::migrate`].
    ///
    /// # Errors
    /// Those of [`Session::migrate`].
    pub fn migrate(mut self, engine: StorageEngine) -> Result<(), StoreError> {
        self.session.migrate_reporting(engine, &mut self.progress)
    }

    /// As [`Session::copy_in`].
    ///
    /// # Errors
    /// Those of [`Session::copy_in`].
    #[cfg(feature = "postgres")]
    pub fn copy_in(mut self, database: &Postgres, id: VaultId) -> Result<(), StoreError> {
        self.session.copy_in_reporting(database, id, &mut self.progress)
    }

    /// As [`Session::backup`].
    ///
    /// # Errors
    /// Those of [`Session::backup`].
    pub fn backup(mut self, path: impl AsRef<Path>) -> Result<(), StoreError> {
        self.session.backup_reporting(path.as_ref(), &mut self.progress)
    }

    /// As [`Session::backup_verified`]. The callback first gets the records written, then the records read.
    ///
    /// # Errors
    /// Those of [`Session::backup_verified`].
    pub fn backup_verified(mut self, path: impl AsRef<Path>) -> Result<VerifiedCopy, StoreError> {
        self.session.backup_verified_reporting(path.as_ref(), &mut self.progress)
    }

    /// As [`Session::backup_with_versions`]. The callback first gets the records written, then the records read.
    ///
    /// # Errors
    /// Those of [`Session::backup_with_versions`].
    pub fn backup_with_versions(
        mut self,
        path: impl AsRef<Path>,
    ) -> Result<VerifiedCopy, StoreError> {
        self.session.backup_with_versions_reporting(path.as_ref(), &mut self.progress)
    }

    /// As [`Session::check`]; each record is read twice.
    ///
    /// # Errors
    /// Those of [`Session::check`].
    pub fn check(mut self) -> Result<CheckReport, StoreError> {
        self.session.check_reporting(&mut self.progress)
    }

    /// As [`Session::rotate`].
    ///
    /// # Errors
    /// Those of [`Session::rotate`].
    pub fn rotate<'a>(
        mut self,
        keep: impl Into<Credential<'a>>,
    ) -> Result<Vec<SlotInfo>, StoreError> {
        self.session.rotate_reporting(keep.into(), &mut self.progress)
    }
}
