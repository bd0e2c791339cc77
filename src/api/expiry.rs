//! The expiry of unused files, for hosts.

use std::time::Duration;

use crate::session::{ExpirySettings, Session, StoreError};
use crate::vfs::{ExpiryReport, ExpiryStatus, FileError, expire};

/// The expiry of an unlocked store: a [`Session`] of this process, or a connection to a key daemon.
///
/// Applications call [`Expiry`], which works on either.
pub trait ExpiryStore: Send + Sync {
    /// Deletes unused files, or lists them. See [`Expiry::expire`].
    ///
    /// # Errors
    /// Those of [`Expiry::expire`].
    fn expire(
        &self,
        unused_for: Duration,
        dry_run: bool,
        progress: &mut dyn FnMut(u64),
    ) -> Result<ExpiryReport, FileError>;

    /// Returns the settings, and what is recorded.
    ///
    /// # Errors
    /// [`StoreError`] if the store is locked or fails.
    fn expiry_status(&self) -> Result<ExpiryStatus, StoreError>;

    /// Sets whether readings are recorded, and whether files expire at an unlock. See [`Expiry::set`].
    ///
    /// # Errors
    /// [`StoreError`] if the store is locked or fails.
    fn set_expiry(&self, settings: ExpirySettings) -> Result<(), StoreError>;
}

/// The expiry of files that were neither read nor changed for long. Off by default.
///
/// A store that records readings keeps, for each file, the day of its last reading. A `view` of one file by a memory tool, or a
/// [`Files::read`](crate::Files::read), is a reading. A search, a listing, an export, a backup, a check and a read-only tool are
/// not. A reading is written along with the next change that the same session makes, so a session that changes nothing records
/// none.
///
/// A file that is deleted this way becomes a version of the [`History`](crate::History), if the store keeps versions. If it
/// keeps none, the file is gone.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::time::Duration;
/// use inmost::ExpirySettings;
///
/// let session = inmost::Session::in_memory()?;
/// let expiry = session.expiry();
/// expiry.set(ExpirySettings::record())?;
/// session.files().write("/memories/plan.md", "Dig.\n")?;
/// // Every file counts as used when recording begins.
/// let report = expiry.expire(Duration::from_secs(90 * 24 * 60 * 60), false, |_| {})?;
/// assert_eq!((report.count(), report.hindrance), (0, None));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy)]
pub struct Expiry<'s> {
    store: &'s dyn ExpiryStore,
}

impl<'s> Expiry<'s> {
    /// The expiry of a store. For a session, [`Session::expiry`] is shorter.
    #[must_use]
    pub fn new(store: &'s dyn ExpiryStore) -> Self {
        Self { store }
    }

    /// Returns the settings, and what is recorded.
    ///
    /// # Errors
    /// [`StoreError`] if the store is locked or fails.
    pub fn status(&self) -> Result<ExpiryStatus, StoreError> {
        self.store.expiry_status()
    }

    /// Sets whether readings are recorded, and whether files expire at an unlock. The setting is stored, so it holds for every
    /// program that opens the store. It has no effect on a store that several hosts share.
    ///
    /// # Errors
    /// [`StoreError`] if the store is locked or fails.
    ///
    /// # Security
    /// Copies of the store then hold the days on which files were last read, encrypted like everything else.
    pub fn set(&self, settings: ExpirySettings) -> Result<(), StoreError> {
        self.store.set_expiry(settings)
    }

    /// Deletes the files that were neither read nor changed for this long, or only lists them in a dry run. `progress` gets the
    /// number of files deleted.
    ///
    /// The last use of a file is the later of its last change and its last reading. A reading counts until the end of its day.
    /// No file counts as unused for longer than readings are recorded. Each file is deleted in a change of its own, unless it was
    /// used meanwhile.
    ///
    /// Nothing expires if the store does not know enough: [`ExpiryReport::hindrance`] says why. The clock is compared with the
    /// time of the last change: if they differ by more than `unused_for` (at least a day, at most 30 days), either the clock is
    /// wrong or nobody has used the store. Then, and if the record of readings is damaged, every file counts as used now.
    ///
    /// # Errors
    /// [`FileError::Store`] if the store is locked or fails, or a folder is damaged. Files that expired before it stay deleted.
    pub fn expire(
        &self,
        unused_for: Duration,
        dry_run: bool,
        mut progress: impl FnMut(u64),
    ) -> Result<ExpiryReport, FileError> {
        self.store.expire(unused_for, dry_run, &mut progress)
    }
}

impl Session {
    /// The expiry of unused files of this store.
    #[must_use]
    pub fn expiry(&self) -> Expiry<'_> {
        Expiry::new(self)
    }
}

impl ExpiryStore for Session {
    fn expire(
        &self,
        unused_for: Duration,
        dry_run: bool,
        progress: &mut dyn FnMut(u64),
    ) -> Result<ExpiryReport, FileError> {
        expire::expire(self, unused_for, dry_run, progress)
    }

    fn expiry_status(&self) -> Result<ExpiryStatus, StoreError> {
        self.read(|open| Ok(expire::status(open)))
    }

    fn set_expiry(&self, settings: ExpirySettings) -> Result<(), StoreError> {
        self.write(|txn| Ok(txn.set_expiry_settings(settings)?))
    }
}

#[cfg(test)]
mod tests;
