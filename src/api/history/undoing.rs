//! Makes the steps of an undo, which may be in each other's way.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::bystanders::Since;
use super::{History, Undone};
use crate::session::StoreError;
use crate::vfs::versions::below;
use crate::vfs::{FileError, FileText, UndoStep};

/// An undo that is being made.
pub(super) struct Undoing<'u> {
    history: &'u History<'u>,
    steps: &'u [UndoStep],
    results: Vec<Undone>,
    order: Order,
    since: Since,
    /// Folders that were not there while a step before them waited, which may bring files of them back.
    undecided: BTreeSet<usize>,
}

impl<'u> Undoing<'u> {
    pub(super) fn of(history: &'u History<'u>, steps: &'u [UndoStep]) -> Self {
        Self {
            history,
            steps,
            results: Vec::with_capacity(steps.len()),
            order: Order::of(steps),
            since: Since::default(),
            undecided: BTreeSet::new(),
        }
    }

    /// Tries each step once.
    pub(super) fn begin(&mut self, mut progress: impl FnMut(u64)) -> Result<(), StoreError> {
        let (mut pending, mut tried) = (Pending::default(), 0);
        for (index, step) in self.steps.iter().enumerate() {
            // A folder takes along what is in it, so what is to leave it, or to go into it, does so before.
            let waits = || self.results.iter().skip(tried).any(Undone::waits);
            if step.newest.file.is_none() && waits() {
                while self.go_on_together()? {}
                (pending, tried) = (self.pending(), index);
            }
            let result = self.make(index, step, &mut pending)?;
            self.results.push(result);
            progress(u64::try_from(index).unwrap_or(u64::MAX).saturating_add(1));
        }
        Ok(())
    }

    /// Tries the steps again that wait for others. Returns whether any was made.
    pub(super) fn go_on(&mut self) -> Result<bool, StoreError> {
        Ok(self.go_on_together()?
            || self.retry(Pending { is_ignored: true, ..Pending::default() })?)
    }

    /// Tries the steps again, each in its turn or several together. Returns whether any was made.
    fn go_on_together(&mut self) -> Result<bool, StoreError> {
        if self.retry(Pending::default())? {
            return Ok(true);
        }
        self.history.undo_exchanges(self.steps, &self.order, &mut self.results, &mut self.since)
    }

    /// The steps that wait.
    fn pending(&self) -> Pending<'u> {
        let mut pending = Pending::default();
        for (step, _) in self.steps.iter().zip(&self.results).filter(|(_, it)| it.waits()) {
            pending.add(step);
        }
        pending
    }

    /// The result of each step.
    pub(super) fn finish(mut self) -> Vec<Undone> {
        for (result, step) in self.results.iter_mut().zip(self.steps) {
            if is_of_vanished_folder(step, result) {
                *result = Undone::Done(step.newest.number);
            }
        }
        self.results
    }

    fn retry(&mut self, mut pending: Pending<'u>) -> Result<bool, StoreError> {
        let mut goes_on = false;
        for (index, step) in self.steps.iter().enumerate() {
            let waits = self.results.get(index).is_some_and(Undone::waits);
            if !waits && !self.undecided.contains(&index) {
                continue;
            }
            let result = self.make(index, step, &mut pending)?;
            goes_on |= matches!(result, Undone::Done(_));
            if let Some(slot) = self.results.get_mut(index) {
                *slot = result;
            }
        }
        Ok(goes_on)
    }

    /// Whether a step of a folder has to wait: because the folder that it means could not come to its place, where another one may
    /// be, or because something that another step could not move out of it would be deleted with it.
    fn is_kept(&self, folder: &UndoStep) -> bool {
        let Some(place) = &folder.newest.path else { return true };
        let is_in = |path: &FileText| below(path.as_str(), place.as_str()).is_some();
        self.steps.iter().zip(&self.results).any(|(step, result)| {
            // What vanished is not there.
            let is_there =
                matches!(result, Undone::Left(error) if !matches!(error, FileError::NotFound));
            let (from, to) = (step.newest.path.as_ref(), step.path.as_ref());
            let brings = step.newest.file.is_none()
                && to.is_some_and(|to| below(place.as_str(), to.as_str()).is_some());
            let leaves = folder.deletes_a_folder()
                && !to.is_some_and(is_in)
                && from.is_some_and(|from| from != place && is_in(from));
            is_there && step.newest.number > folder.newest.number && (brings || leaves)
        }) || self.has_come_in_early(folder, place.as_str())
    }

    /// Whether a file that was to go to its place after a step of a folder went there before, because nothing else went on. The folder
    /// would take it along.
    fn has_come_in_early(&self, folder: &UndoStep, place: &str) -> bool {
        let later = self.steps.iter().zip(&self.results).skip_while(|(step, _)| {
            step.newest.file.is_some() || step.newest.number != folder.newest.number
        });
        later.skip(1).any(|(step, result)| {
            let is_in = |path: &FileText| below(path.as_str(), place).is_some();
            step.to.is_some()
                && step.path.as_ref().is_some_and(is_in)
                && matches!(result, Undone::Done(_))
        })
    }

    fn make(
        &mut self,
        index: usize,
        step: &'u UndoStep,
        pending: &mut Pending<'u>,
    ) -> Result<Undone, StoreError> {
        let result = if step.as_of.is_some() && self.is_kept(step) {
            Undone::Left(FileError::Changed(None))
        } else if pending.is_before(step) {
            Undone::Left(FileError::AlreadyExists)
        } else {
            match self.order.ready(self.steps, &self.results, index) {
                Err(error) => Undone::Left(error),
                Ok(step) if step.as_of.is_some() => {
                    self.history.undo_folder(&step, &mut self.since)?
                }
                Ok(step) => self.history.undo_step(&step)?,
            }
        };
        if let Undone::Done(number) = result {
            self.since.add_own(&[number]);
        }
        self.undecided.remove(&index);
        if result.waits() {
            pending.add(step);
        } else if pending.has_any && is_of_vanished_folder(step, &result) {
            self.undecided.insert(index);
        }
        Ok(result)
    }
}

/// For each step, another one that has to be made before: an earlier step of the same file, or the one that deletes the folder which
/// the step brings back.
pub(super) struct Order(Vec<Option<usize>>);

impl Order {
    fn of(steps: &[UndoStep]) -> Self {
        let (mut files, mut folders) = (HashMap::new(), HashMap::new());
        let before = steps.iter().enumerate().map(|(index, step)| {
            if let Some(file) = step.newest.file {
                return files.insert(file, index);
            }
            folders.insert(step.newest.number, index);
            step.newest.restored.and_then(|by| folders.get(&by).copied())
        });
        Self(before.collect())
    }

    /// A step as it is to be made: its newest change is that of the step before it.
    ///
    /// # Errors
    /// [`FileError::NotFound`] if nothing was left of the folder that it brings back; [`FileError::Changed`] if the step before it is
    /// not made.
    pub(super) fn ready(
        &self,
        steps: &[UndoStep],
        results: &[Undone],
        index: usize,
    ) -> Result<UndoStep, FileError> {
        let mut step = steps.get(index).cloned().ok_or(FileError::NotFound)?;
        let Some(before) = self.0.get(index).copied().flatten() else { return Ok(step) };
        match results.get(before) {
            Some(Undone::Done(number)) => step.newest.number = *number,
            Some(Undone::Left(FileError::NotFound)) if step.newest.file.is_none() => {
                return Err(FileError::NotFound);
            }
            _ => return Err(FileError::Changed(None)),
        }
        Ok(step)
    }
}

/// The steps before one that wait.
#[derive(Default)]
pub(super) struct Pending<'u> {
    has_any: bool,
    /// Where folders are to go back, and those that are to go away.
    folders: HashSet<&'u str>,
    /// Nothing else goes on: a file need not wait for its folder.
    is_ignored: bool,
}

impl<'u> Pending<'u> {
    pub(super) fn add(&mut self, step: &'u UndoStep) {
        self.has_any = true;
        if step.newest.file.is_none() {
            let goes = step.newest.path.as_ref().filter(|_| step.as_of.is_some());
            self.folders.extend(step.path.iter().chain(goes).map(FileText::as_str));
        }
    }

    /// Whether a file is to go back into a folder that is not back yet, or not away. It would be in the way of the folder, or go away
    /// with it.
    pub(super) fn is_before(&self, step: &UndoStep) -> bool {
        let (Some(_), Some(path)) = (step.newest.file, &step.path) else { return false };
        let path = path.as_str();
        let mut parents = path.match_indices('/').filter_map(|(end, _)| path.get(..end));
        !self.is_ignored && step.to.is_some() && parents.any(|folder| self.folders.contains(folder))
    }
}

impl Undone {
    /// Whether the step may succeed after others: its place is taken, or its file is in a deleted folder, where it counts as changed.
    pub(super) fn waits(&self) -> bool {
        matches!(
            self,
            Self::Left(FileError::AlreadyExists | FileError::NotAFolder(_) | FileError::Changed(_))
        )
    }
}

/// Whether a folder that was renamed or brought back is not there. Folders without files do not exist: what was in it has gone back
/// by itself.
fn is_of_vanished_folder(step: &UndoStep, result: &Undone) -> bool {
    step.newest.file.is_none() && matches!(result, Undone::Left(FileError::NotFound))
}
