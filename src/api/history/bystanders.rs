//! What others change in a folder that an undo is about to move or delete.
//!
//! The history knows a folder only by its path, so a step cannot name the folder that it means. Instead it names the newest change
//! that was looked at, and the store refuses the step if there is a newer one. Then the new changes are looked at.

use std::collections::{HashMap, HashSet};

use super::{History, Undone};
use crate::session::StoreError;
use crate::vfs::versions::{below, moved};
use crate::vfs::{FileError, FileText, UndoStep, VersionInfo, VersionKind, VersionQuery};

/// What was changed since an undo was planned, as far as it matters to steps of folders.
#[derive(Default)]
pub(super) struct Since {
    /// The changes that the undo has made.
    own: HashSet<u64>,
    /// The newest change that was looked at.
    newest: Option<u64>,
    /// Changes of others, and own moves of folders, the oldest first.
    changes: Vec<VersionInfo>,
}

impl Since {
    /// Notes changes that the undo has made.
    pub(super) fn add_own(&mut self, numbers: &[u64]) {
        self.own.extend(numbers);
    }

    /// Reads the changes after those that were looked at, or after the plan.
    fn read(&mut self, history: &History<'_>, planned: u64) -> Result<u64, FileError> {
        let looked = self.newest.unwrap_or(planned);
        let (mut newest, mut before) = (looked, None);
        let mut found = Vec::new();
        loop {
            let mut page = history.page(&VersionQuery::all(), before, PAGE)?;
            if page.unreadable > 0 {
                // Those that cannot be read may be older than the plan.
                page = history.page(&VersionQuery::all(), before, 1)?;
            }
            if page.unreadable > 0 {
                return Err(FileError::Changed(None));
            }
            for change in page.items.into_iter().take_while(|change| change.number > looked) {
                newest = newest.max(change.number);
                before = Some(change.number);
                if self.own.contains(&change.number) {
                    // Of two changes that one step made, only the later one is known; it names the other.
                    self.own.extend(change.previous);
                }
                if !self.own.contains(&change.number) || is_folder_move(&change) {
                    found.push(change);
                }
            }
            match page.next {
                Some(next) if before == Some(next) => {}
                _ => break,
            }
        }
        self.changes.extend(found.into_iter().rev());
        self.newest = Some(newest);
        Ok(newest)
    }

    /// Whether a change of somebody else touches what a step would move or delete.
    fn touches(&self, step: &UndoStep) -> bool {
        let Some(path) = &step.newest.path else { return true };
        let mut places = Places::of(path, step.deletes_a_folder());
        for change in self.changes.iter().rev() {
            if !self.own.contains(&change.number) {
                if places.are_touched_by(change) {
                    return true;
                }
            } else if let (Some(old), Some(new)) = (&change.old_path, &change.path) {
                places.follow(new.as_str(), old.as_str());
            }
        }
        false
    }
}

impl History<'_> {
    /// Makes a step that moves or deletes a folder, unless somebody else has changed what it would take away.
    pub(super) fn undo_folder(
        &self,
        step: &UndoStep,
        since: &mut Since,
    ) -> Result<Undone, StoreError> {
        let mut step = step.clone();
        for _ in 0..ATTEMPTS {
            match self.look_again(&mut step, since) {
                Ok(()) => {}
                Err(FileError::Store(error)) => return Err(error),
                Err(error) => return Ok(Undone::Left(error)),
            }
            match self.undo_step(&step)? {
                Undone::Left(FileError::Changed(_)) => {}
                undone => return Ok(undone),
            }
        }
        Ok(Undone::Left(FileError::Changed(None)))
    }

    /// Looks at the changes that were made since a step was planned, and notes that in it.
    ///
    /// # Errors
    /// [`FileError::Changed`] if one of them, not of this undo, touches what the step would move or delete.
    fn look_again(&self, step: &mut UndoStep, since: &mut Since) -> Result<(), FileError> {
        let planned = step.as_of.ok_or(FileError::Changed(None))?;
        let newest = since.read(self, planned)?;
        if since.touches(step) {
            return Err(FileError::Changed(None));
        }
        step.as_of = Some(newest);
        Ok(())
    }
}

/// Whether somebody else has changed what is in a folder since it was brought back, or put something where it was after it moved: if
/// nothing of it comes back there, that would be deleted. `taken` are the changes that are to be undone, `others` those that stay.
pub(super) fn is_used_by_others(
    restored: &VersionInfo,
    taken: &HashMap<u64, VersionInfo>,
    others: &[VersionInfo],
) -> bool {
    let Some(path) = &restored.path else { return true };
    let mut places = Places::of(path, true);
    let (path, mut is_away) = (path.as_str(), false);
    let is_around = |other: &FileText| {
        below(path, other.as_str()).is_some() || below(other.as_str(), path).is_some()
    };
    let moves = taken.values().filter(|change| is_folder_move(change));
    let mut later: Vec<&VersionInfo> =
        others.iter().chain(moves).filter(|change| change.number > restored.number).collect();
    later.sort_unstable_by_key(|change| change.number);
    for change in later {
        if !taken.contains_key(&change.number) {
            let brings = change.kind != VersionKind::Deleted;
            if places.are_touched_by(change)
                || is_away && brings && change.path.as_ref().is_some_and(is_around)
            {
                return true;
            }
        } else if let (Some(old), Some(new)) = (&change.old_path, &change.path) {
            places.follow(old.as_str(), new.as_str());
            // Above it or the folder itself.
            let is_above = |other: &FileText| below(path, other.as_str()).is_some();
            is_away = is_above(old) || is_away && !is_above(new);
        }
    }
    false
}

/// Where a folder, and what was moved out of it, is at the time of a change.
struct Places {
    /// The folder itself comes first. What was moved out of it follows if the folder is to be deleted: an undo moves that back into
    /// it first.
    paths: Vec<String>,
    or_inside: bool,
}

impl Places {
    /// The place of a folder. `or_inside`: what is in the folder matters too.
    fn of(folder: &FileText, or_inside: bool) -> Self {
        Self { paths: vec![folder.as_str().to_owned()], or_inside }
    }

    /// Follows a move of a folder.
    fn follow(&mut self, from: &str, to: &str) {
        let mut leaves = false;
        for place in &mut self.paths {
            match moved(place, from, to) {
                Some(path) => *place = path,
                None => leaves |= below(from, place).is_some() && below(to, place).is_none(),
            }
        }
        if leaves && self.or_inside {
            self.paths.push(to.to_owned());
        }
    }

    /// Whether a change has moved or deleted the folder or a folder above it, brought another folder there, or changed something
    /// in it.
    fn are_touched_by(&self, change: &VersionInfo) -> bool {
        // Nobody used a file that expired.
        if change.kind == VersionKind::Expired {
            return false;
        }
        // A note of what was forgotten names no path.
        let Some(path) = &change.path else { return self.or_inside || change.file.is_none() };
        let takes_away = change.file.is_none() && change.kind != VersionKind::Restored;
        let brings = change.file.is_none() && change.kind != VersionKind::Deleted;
        let from = change.old_path.as_ref().unwrap_or(path);
        self.paths.iter().any(|place| {
            let is_inside = |path: &FileText| below(path.as_str(), place).is_some();
            let is_above = |path: &FileText| below(place, path.as_str()).is_some();
            takes_away && is_above(from)
                || self.or_inside
                    && (is_inside(path) || is_inside(from) || brings && is_above(path))
        })
    }
}

fn is_folder_move(change: &VersionInfo) -> bool {
    change.file.is_none() && change.kind == VersionKind::Renamed
}

/// Changes read in one page. Few are made between a plan and its steps.
const PAGE: usize = 100;
/// Attempts at a step while others change the store.
const ATTEMPTS: usize = 8;
