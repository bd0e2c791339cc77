//! The history of a store, for hosts: what changed, the text then, going back and forgetting.

mod bystanders;
mod exchange;
mod undo;
mod undoing;

pub use undo::UndoPlan;

use crate::session::{HistorySettings, StoreError};
use crate::vfs::{
    FileError, FileText, HistoryStatus, UndoStep, VersionInfo, VersionPage, VersionQuery,
};

/// The history of an unlocked store: a [`Session`](crate::Session) of this process, or a connection to a key daemon.
///
/// Applications call [`History`], which works on either.
pub trait HistoryStore: Send + Sync {
    /// Returns up to `most` versions before this number, the newest first.
    ///
    /// # Errors
    /// [`FileError::InvalidPath`], [`FileError::Store`].
    fn versions(
        &self,
        query: &VersionQuery,
        before: Option<u64>,
        most: usize,
    ) -> Result<VersionPage, FileError>;

    /// Returns the text of a version. See [`History::text`].
    ///
    /// # Errors
    /// [`FileError::NoSuchVersion`], [`FileError::VersionGone`], [`FileError::IsAFolder`], [`FileError::Store`].
    fn version_text(&self, number: u64) -> Result<FileText, FileError>;

    /// Brings a version back. See [`History::restore`].
    ///
    /// # Errors
    /// Those of [`History::restore`].
    fn restore(&self, number: u64, to: Option<&str>) -> Result<u64, FileError>;

    /// Makes a step of an undo. See [`History::undo`].
    ///
    /// # Errors
    /// [`FileError::Changed`] if there is a newer change, and those of [`History::restore`].
    fn revert(&self, step: &UndoStep) -> Result<u64, FileError>;

    /// Makes steps of an undo together, in one atomic change: files that are in each other's places. Returns the
    /// number of each change. A text that goes back too does so in a change of its own, directly afterwards.
    ///
    /// # Errors
    /// [`FileError::AlreadyExists`] if a place is not free even then, or a step is not one that a file moves by, and those of
    /// [`revert`](Self::revert). [`StoreError::TooLarge`] if they are too many for one commit.
    fn revert_together(&self, steps: &[UndoStep]) -> Result<Vec<u64>, FileError>;

    /// Forgets versions. See [`History::forget`].
    ///
    /// # Errors
    /// Those of [`History::forget`].
    fn forget(
        &self,
        path: &str,
        until: Option<u64>,
        progress: &mut dyn FnMut(u64),
    ) -> Result<u64, FileError>;

    /// Returns the settings of the history, and what it holds.
    ///
    /// # Errors
    /// [`StoreError`] if the store is locked or fails.
    fn history_status(&self) -> Result<HistoryStatus, StoreError>;

    /// Sets how long versions are kept. See [`History::set`].
    ///
    /// # Errors
    /// [`StoreError`] if the store is locked or fails.
    fn set_history(&self, settings: HistorySettings) -> Result<(), StoreError>;
}

/// The history of an unlocked store. While it is on, every change of a file leaves a version behind, encrypted like
/// everything else.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::time::Duration;
/// use inmost::{HistorySettings, VersionQuery};
///
/// let session = inmost::Session::in_memory()?;
/// let history = session.history();
/// history.set(HistorySettings::keep(Duration::from_secs(30 * 24 * 60 * 60)))?;
///
/// let agent = session.acting_as("night-agent");
/// agent.files().write("/memories/plan.md", "Dig.\n")?;
/// agent.files().write("/memories/plan.md", "Fill.\n")?;
/// let versions = history.page(&VersionQuery::all().actor("night-agent"), None, 10)?.items;
/// let first = versions[0].previous.ok_or("no earlier version")?;
/// assert_eq!(history.text(first)?.as_str(), "Dig.\n");
/// history.restore(first, None)?;
/// assert_eq!(session.files().read("/memories/plan.md")?.as_str(), "Dig.\n");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy)]
pub struct History<'s> {
    store: &'s dyn HistoryStore,
}

/// What became of a step of an undo.
#[derive(Debug)]
#[non_exhaustive]
pub enum Undone {
    /// It was made, as the version of this number. For a folder of which nothing is left where it was, because the files in it have
    /// gone back by themselves: the number of the change that the step undoes.
    Done(u64),
    /// It changed nothing, for this reason.
    Left(FileError),
}

impl<'s> History<'s> {
    /// The history of a store. For a session, [`Session::history`](crate::Session::history) is shorter.
    #[must_use]
    pub fn new(store: &'s dyn HistoryStore) -> Self {
        Self { store }
    }

    /// Returns the settings, and what the history holds.
    ///
    /// # Errors
    /// [`StoreError`] if the store is locked or fails.
    pub fn status(&self) -> Result<HistoryStatus, StoreError> {
        self.store.history_status()
    }

    /// Sets how long versions are kept, and how many bytes. With [`HistorySettings::off`] those that are kept now are
    /// dropped.
    ///
    /// # Errors
    /// [`StoreError`] if the store is locked or fails.
    pub fn set(&self, settings: HistorySettings) -> Result<(), StoreError> {
        self.store.set_history(settings)
    }

    /// Returns up to `most` versions before the number `before`, the newest first.
    ///
    /// # Errors
    /// [`FileError::InvalidPath`], [`FileError::Store`].
    pub fn page(
        &self,
        query: &VersionQuery,
        before: Option<u64>,
        most: usize,
    ) -> Result<VersionPage, FileError> {
        self.store.versions(query, before, most)
    }

    /// Returns the text of a file as this change made it.
    ///
    /// # Errors
    /// [`FileError::NoSuchVersion`] if the history has no such change; [`FileError::VersionGone`] if its text was
    /// forgotten or dropped for lack of room, or if the change deleted the file; [`FileError::IsAFolder`] for a
    /// change of a folder; [`FileError::Store`].
    pub fn text(&self, number: u64) -> Result<FileText, FileError> {
        self.store.version_text(number)
    }

    /// Brings a version back, to the path that it had then or to another. A file there that is the same one is replaced. For
    /// a deletion, brings back what it took. Returns the number of the new version.
    ///
    /// # Errors
    /// Those of [`text`](History::text); [`FileError::AlreadyExists`] if another file or a folder is there;
    /// [`FileError::NotAFolder`]; [`FileError::InvalidPath`];
    /// [`FileError::FileTooLarge`], [`FileError::TooManyFiles`] or [`FileError::TooMuchText`] at a quota.
    pub fn restore(&self, number: u64, to: Option<&str>) -> Result<u64, FileError> {
        self.store.restore(number, to)
    }

    fn undo_step(&self, step: &UndoStep) -> Result<Undone, StoreError> {
        match self.store.revert(step) {
            Ok(number) => Ok(Undone::Done(number)),
            Err(FileError::Store(error)) => Err(error),
            Err(error) => Ok(Undone::Left(error)),
        }
    }

    /// Forgets versions of what is or was at or below a path, inside deleted folders too: all of them, or with `until` those up to
    /// and including the version of this number. Of each file that is or was there it forgets the versions under its other paths
    /// too. Current files stay as they are. Returns the number of entries removed. A crash leaves a part of them; then forget the
    /// path again.
    ///
    /// No text leaves the middle of a file's versions: forgetting one takes all before it. The change after the last one that is
    /// forgotten stays in the history, without the text and the path before it.
    ///
    /// For `/memories` it forgets the whole history.
    ///
    /// `progress` gets the number of entries removed. It is called while other changes wait for this one: a change from there
    /// would wait for ever, and a panic halts the session.
    ///
    /// # Errors
    /// [`FileError::InvalidPath`]; [`FileError::NoSuchVersion`] if no version has a number as high as `until`;
    /// [`FileError::Store`].
    ///
    /// # Security
    /// The ciphertext stays in the store's files until the next [`Session::compact`](crate::Session::compact) or
    /// [`Session::purge`](crate::Session::purge). Copies and backups keep it.
    pub fn forget(
        &self,
        path: &str,
        until: Option<u64>,
        mut progress: impl FnMut(u64),
    ) -> Result<u64, FileError> {
        self.store.forget(path, until, &mut progress)
    }

    /// Every version that a query lists, and the number of entries that cannot be read.
    fn all(&self, query: &VersionQuery) -> Result<(Vec<VersionInfo>, u64), FileError> {
        let (mut versions, mut unreadable) = (Vec::new(), 0_u64);
        let mut before = None;
        loop {
            let page = self.page(query, before, PAGE)?;
            versions.extend(page.items);
            unreadable = unreadable.saturating_add(page.unreadable);
            match page.next {
                Some(next) => before = Some(next),
                None => return Ok((versions, unreadable)),
            }
        }
    }
}

/// Versions read in one page.
const PAGE: usize = 1_000;

#[cfg(test)]
mod bystander_tests;
#[cfg(test)]
mod exchange_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod undo_model;
#[cfg(test)]
mod undo_tests;
