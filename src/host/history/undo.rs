//! Plans an undo: which file goes back to which version, and what is left because someone else changed it since.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use super::bystanders::is_used_by_others;
use super::{History, PAGE};
use crate::session::StoreError;
use crate::vfs::versions::below;
use crate::vfs::{FileError, UndoStep, VersionInfo, VersionKind, VersionQuery};

/// What an undo would do.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct UndoPlan {
    /// The steps, in the order in which they are made.
    pub steps: Vec<UndoStep>,
    /// Files that someone else changed afterwards, by their newest change, and folders that someone else moved, or used after they
    /// were brought back. An undo leaves them.
    pub left: Vec<VersionInfo>,
    /// Files that cannot go back, by their newest change: the text before was redacted, forgotten or dropped for lack of
    /// room, is damaged, or the history does not have every change in between. An undo leaves them.
    pub gone: Vec<VersionInfo>,
    /// Entries of the history that cannot be read, among those that the plan had to look at. Changes of files that only
    /// these tell of are not undone.
    pub unreadable: u64,
}

impl History<'_> {
    /// Plans to undo the changes that a query lists: each file goes back to its version before them. Files that were
    /// changed again since, by a change that the query does not list, are left. Changes nothing.
    ///
    /// # Errors
    /// [`FileError::InvalidPath`], [`FileError::Store`].
    pub fn plan_undo(&self, query: &VersionQuery) -> Result<UndoPlan, FileError> {
        let (taken, unreadable) = self.all(query)?;
        let taken: HashMap<u64, VersionInfo> =
            taken.into_iter().map(|version| (version.number, version)).collect();
        let mut plan = UndoPlan { unreadable, ..UndoPlan::default() };
        let mut seen = HashSet::new();
        let Some(oldest) = taken.keys().min().copied() else { return Ok(plan) };
        // The chains of the files, the newest change first.
        let mut chains: HashMap<u64, Vec<VersionInfo>> = HashMap::new();
        let mut order = Vec::new();
        // Changes of folders that stay; also those of files, if a folder is to be deleted with all that is in it.
        let mut others: Vec<VersionInfo> = Vec::new();
        let deletes_folders = taken
            .values()
            .any(|version| version.file.is_none() && version.kind == VersionKind::Restored);
        let (mut newest, mut before) = (None, None);
        loop {
            let page = self.page(&VersionQuery::all(), before, PAGE)?;
            for version in page.items {
                newest.get_or_insert(version.number);
                match version.file {
                    Some(file) => {
                        if deletes_folders && !taken.contains_key(&version.number) {
                            others.push(version.clone());
                        }
                        if seen.insert(file) {
                            order.push((version.number, Some(file)));
                        }
                        chains.entry(file).or_default().push(version);
                    }
                    None if taken.contains_key(&version.number) => {
                        order.push((version.number, None));
                    }
                    None => others.push(version),
                }
            }
            // One change before the oldest of each file is needed, for its path; the page that holds it may be older.
            match page.next {
                Some(next) => before = Some(next),
                None => break,
            }
            if before.is_some_and(|before| before <= oldest) {
                break;
            }
        }
        // The first change of each step of a file.
        let mut firsts: HashMap<u64, u64> = HashMap::new();
        for (number, file) in order {
            let Some(file) = file else {
                if let Some(version) = taken.get(&number) {
                    plan.add_folder(version, &taken, &others, newest);
                }
                continue;
            };
            let chain = chains.remove(&file).unwrap_or_default();
            let Some(newest) = chain.first() else { continue };
            let run = chain.iter().take_while(|version| taken.contains_key(&version.number));
            let run: Vec<&VersionInfo> = run.collect();
            let Some(first) = run.last() else {
                if chain.iter().any(|version| taken.contains_key(&version.number)) {
                    plan.left.push(newest.clone());
                }
                continue;
            };
            let to = match first.previous {
                // What was brought back had been deleted before.
                Some(_) if first.kind == VersionKind::Restored && self.was_gone(first)? => None,
                previous => previous,
            };
            if is_gone(newest.kind) && to.is_none() {
                continue;
            }
            // A change that is not in the history may be that of somebody else.
            let is_whole = run
                .iter()
                .zip(run.iter().skip(1))
                .all(|(newer, older)| newer.previous == Some(older.number));
            if !is_whole || !self.has_text(to)? {
                plan.gone.push(newest.clone());
                continue;
            }
            let path = match to {
                None => newest.path.clone(),
                Some(_) => first.old_path.clone().or_else(|| first.path.clone()),
            };
            firsts.insert(newest.number, first.number);
            plan.steps.push(UndoStep::new(newest.clone(), to, path));
        }
        plan.keep_folders_of_the_gone();
        // A path of a file is that before its first change, so later changes of folders are undone before it, and earlier ones after
        // it. A folder goes only when nothing is to be undone in it any more.
        plan.steps.sort_by_key(|step| {
            let number = step.newest.number;
            (step.deletes_a_folder(), Reverse(firsts.get(&number).copied().unwrap_or(number)))
        });
        Ok(plan)
    }

    /// Whether a version has a text to go back to. An undo reads it too, so a plan takes no longer than that.
    fn has_text(&self, number: Option<u64>) -> Result<bool, FileError> {
        let Some(number) = number else { return Ok(true) };
        match self.text(number) {
            Ok(_) => Ok(true),
            Err(
                FileError::VersionGone(_)
                | FileError::NoSuchVersion(_)
                | FileError::Store(StoreError::Tampered { .. }),
            ) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Whether the file of a change did not exist before it, because it had been deleted.
    fn was_gone(&self, version: &VersionInfo) -> Result<bool, FileError> {
        let query =
            version.file.map_or_else(VersionQuery::all, |file| VersionQuery::all().file(file));
        let mut before = Some(version.number);
        loop {
            let page = self.page(&query, before, 1)?;
            if let Some(previous) = page.items.first() {
                return Ok(is_gone(previous.kind));
            }
            match page.next {
                Some(next) => before = Some(next),
                None => return Ok(false),
            }
        }
    }
}

impl UndoPlan {
    /// Leaves folders that would be deleted with a file in them that cannot go back.
    fn keep_folders_of_the_gone(&mut self) {
        let (gone, left) = (&self.gone, &mut self.left);
        self.steps.retain(|step| {
            let is_inside = |version: &VersionInfo| match (&step.newest.path, &version.path) {
                (Some(folder), Some(path)) => below(path.as_str(), folder.as_str()).is_some(),
                _ => true,
            };
            let stays = step.deletes_a_folder() && gone.iter().any(is_inside);
            if stays {
                left.push(step.newest.clone());
            }
            !stays
        });
    }

    /// Adds a step for the change of a folder, unless another change has undone it. `others` are changes that stay, `newest` the
    /// newest of all.
    fn add_folder(
        &mut self,
        version: &VersionInfo,
        taken: &HashMap<u64, VersionInfo>,
        others: &[VersionInfo],
        newest: Option<u64>,
    ) {
        let goes_on = match version.kind {
            // Brought back already.
            VersionKind::Deleted => version.restored.is_none(),
            // The deletion is undone with it.
            VersionKind::Restored => {
                !taken.values().any(|deletion| deletion.restored == Some(version.number))
            }
            VersionKind::Renamed => true,
            _ => false,
        };
        if !goes_on {
            return;
        }
        let later = others.iter().filter(|other| other.number > version.number);
        let moves_it = |other: &VersionInfo| {
            let from = other.old_path.as_ref().or(other.path.as_ref());
            let (Some(from), Some(path)) = (from, &version.path) else { return false };
            let rest = path.as_str().strip_prefix(from.as_str());
            other.file.is_none()
                && other.restored.is_none()
                && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let is_left = match version.kind {
            VersionKind::Deleted => false,
            VersionKind::Restored => is_used_by_others(version, taken, others),
            _ => later.into_iter().any(moves_it),
        };
        if is_left {
            self.left.push(version.clone());
            return;
        }
        let path = version.old_path.clone().or_else(|| version.path.clone());
        let mut step = UndoStep::new(version.clone(), None, path);
        step.as_of = newest.filter(|_| version.kind != VersionKind::Deleted);
        self.steps.push(step);
    }
}

impl UndoStep {
    pub(super) fn brings_a_folder_back(&self) -> bool {
        self.newest.file.is_none() && self.newest.kind == VersionKind::Deleted
    }

    pub(super) fn moves_a_folder(&self) -> bool {
        self.newest.file.is_none() && self.newest.kind == VersionKind::Renamed
    }

    pub(super) fn deletes_a_folder(&self) -> bool {
        self.newest.file.is_none() && self.newest.kind == VersionKind::Restored
    }
}

fn is_gone(kind: VersionKind) -> bool {
    matches!(kind, VersionKind::Deleted | VersionKind::Expired)
}
