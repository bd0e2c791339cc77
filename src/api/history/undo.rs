//! Plans an undo, and makes it: which file goes back to which version, and what is left because someone else changed it since.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap, HashSet};

use super::bystanders::is_used_by_others;
use super::undoing::Undoing;
use super::{History, PAGE, Undone};
use crate::session::StoreError;
use crate::vfs::versions::below;
use crate::vfs::{FileError, FileText, UndoStep, VersionInfo, VersionKind, VersionQuery};

/// What an undo would do.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct UndoPlan {
    /// The steps, in the order in which they are made. A file that moved before and after a change of a folder may have several.
    pub steps: Vec<UndoStep>,
    /// Files that someone else changed afterwards, by their newest change, and folders that someone else moved, or used after they
    /// were brought back. An undo leaves them.
    pub left: Vec<VersionInfo>,
    /// Files that cannot go back, by their newest change: the text before was forgotten or dropped for lack of
    /// room, is damaged, or the history does not have every change in between. An undo leaves them.
    pub gone: Vec<VersionInfo>,
    /// Entries of the history that cannot be read, among those that the plan had to look at. Changes of files that only
    /// these tell of are not undone.
    pub unreadable: u64,
}

impl History<'_> {
    /// Makes the steps of a plan, the newest change first. Each is one atomic change, which the history keeps like any
    /// other. A step whose file has changed since the plan changes nothing. One whose place is taken is tried again after the
    /// others. Files that have exchanged their places go back together, in one atomic change; those that no commit can hold, such as
    /// more than 64, are left, and so are folders whose places are taken by each other. `progress` gets the number of steps done.
    ///
    /// # Errors
    /// [`StoreError`] if the store is locked or fails. The steps before it are then made.
    pub fn undo(
        &self,
        plan: &UndoPlan,
        progress: impl FnMut(u64),
    ) -> Result<Vec<Undone>, StoreError> {
        let mut undoing = Undoing::of(self, &plan.steps);
        undoing.begin(progress)?;
        while undoing.go_on()? {}
        Ok(undoing.finish())
    }

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
        let Some(oldest) = taken.keys().min().copied() else { return Ok(plan) };
        let changes = self.changes_since(oldest, &taken)?;
        for version in &changes.folders {
            plan.add_folder(version, &taken, &changes);
        }
        let borders = Borders::of(&plan.steps);
        // Each step, with the number that orders it.
        let mut steps: Vec<(u64, UndoStep)> =
            plan.steps.drain(..).map(|step| (step.newest.number, step)).collect();
        for chain in changes.chains {
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
            steps.extend(borders.steps(&run, to));
        }
        // Each step finds the folders as they were after the changes that it undoes.
        steps.sort_by_key(|(number, _)| Reverse(*number));
        plan.steps = steps.into_iter().map(|(_, step)| step).collect();
        plan.keep_folders_of_the_gone();
        Ok(plan)
    }

    /// Reads the changes since the oldest that is to be undone.
    fn changes_since(
        &self,
        oldest: u64,
        taken: &HashMap<u64, VersionInfo>,
    ) -> Result<Changes, FileError> {
        let deletes_folders = taken
            .values()
            .any(|version| version.file.is_none() && version.kind == VersionKind::Restored);
        let mut changes = Changes::default();
        let mut chain_of: HashMap<u64, usize> = HashMap::new();
        let mut before = None;
        loop {
            let page = self.page(&VersionQuery::all(), before, PAGE)?;
            for version in page.items {
                changes.newest.get_or_insert(version.number);
                let is_taken = taken.contains_key(&version.number);
                match version.file {
                    Some(file) => {
                        if deletes_folders && !is_taken {
                            changes.others.push(version.clone());
                        }
                        let next = changes.chains.len();
                        let chain = *chain_of.entry(file).or_insert(next);
                        if chain == next {
                            changes.chains.push(Vec::new());
                        }
                        if let Some(chain) = changes.chains.get_mut(chain) {
                            chain.push(version);
                        }
                    }
                    None if is_taken => changes.folders.push(version),
                    None => changes.others.push(version),
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
        Ok(changes)
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
        let mut kept = HashSet::new();
        self.steps.retain(|step| {
            let is_inside = |version: &VersionInfo| match (&step.newest.path, &version.path) {
                (Some(folder), Some(path)) => below(path.as_str(), folder.as_str()).is_some(),
                _ => true,
            };
            if step.deletes_a_folder() && gone.iter().any(is_inside) {
                kept.insert(step.newest.number);
                left.push(step.newest.clone());
                return false;
            }
            // A folder that is not deleted again need not come back.
            step.newest.restored.is_none_or(|by| !kept.contains(&by))
        });
    }

    /// Adds a step for the change of a folder, unless another change has undone it.
    fn add_folder(
        &mut self,
        version: &VersionInfo,
        taken: &HashMap<u64, VersionInfo>,
        changes: &Changes,
    ) {
        let others = &changes.others;
        let goes_on = match version.kind {
            VersionKind::Deleted => match version.restored {
                None => true,
                // It is deleted again first.
                Some(by) => self.steps.iter().any(|step| step.newest.number == by),
            },
            VersionKind::Restored => {
                let mut deletions = taken.values();
                let deletion = deletions.find(|it| it.restored == Some(version.number));
                deletion.is_none_or(|deletion| !is_undone(deletion, version, taken))
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
            other.file.is_none()
                && other.restored.is_none()
                && below(path.as_str(), from.as_str()).is_some()
        };
        let is_left = match version.kind {
            VersionKind::Deleted => false,
            VersionKind::Restored => is_used_by_others(version, taken, others),
            // Where it was is forgotten.
            _ if version.old_path.is_none() => true,
            // A later move of it that is not undone is in its way too.
            _ => later
                .chain(self.left.iter().filter(|it| it.kind == VersionKind::Renamed))
                .any(moves_it),
        };
        if is_left {
            self.left.push(version.clone());
            return;
        }
        let path = version.old_path.clone().or_else(|| version.path.clone());
        let mut step = UndoStep::new(version.clone(), None, path);
        step.as_of = changes.newest.filter(|_| version.kind != VersionKind::Deleted);
        self.steps.push(step);
    }
}

impl UndoStep {
    pub(super) fn deletes_a_folder(&self) -> bool {
        self.newest.file.is_none() && self.newest.kind == VersionKind::Restored
    }
}

/// The changes that a plan looks at, the newest first.
#[derive(Default)]
struct Changes {
    /// The newest of all.
    newest: Option<u64>,
    /// Those of each file.
    chains: Vec<Vec<VersionInfo>>,
    /// Those of folders that are to be undone.
    folders: Vec<VersionInfo>,
    /// Those of folders that stay; also those of files, if a folder is to be deleted with all that is in it.
    others: Vec<VersionInfo>,
}

/// The changes of folders that are to be undone. A step that moves a file does not reach over them: a step of a folder takes along what
/// is in the folder, and finds what is at its place.
struct Borders(BTreeSet<u64>);

impl Borders {
    fn of(folders: &[UndoStep]) -> Self {
        Self(folders.iter().map(|step| step.newest.number).collect())
    }

    /// Whether a folder changed between two changes.
    fn are_between(&self, older: u64, newer: u64) -> bool {
        older < newer && self.0.range(older..newer).next().is_some()
    }

    /// The steps by which a file goes back to a version, each with the number of the oldest change that it undoes. One that deletes the
    /// file has the number of the newest: then no folder need take the file along. `run` are the changes of the file, the newest
    /// first.
    fn steps(&self, run: &[&VersionInfo], to: Option<u64>) -> Vec<(u64, UndoStep)> {
        let mut steps = Vec::new();
        let Some(mut newest) = run.first().copied() else { return steps };
        if to.is_none() {
            return vec![(newest.number, UndoStep::new(newest.clone(), None, newest.path.clone()))];
        }
        let olders = run.iter().skip(1).copied().map(Some).chain([None]);
        let mut stays = true;
        for (change, older) in run.iter().zip(olders) {
            let is_there = older.is_none_or(|older| !is_gone(older.kind));
            stays &= is_there && !is_gone(change.kind) && change.old_path.is_none();
            let then = change.old_path.as_ref().or(change.path.as_ref()).filter(|_| is_there);
            let is_as_before = stays || is_gone(newest.kind) && !is_there;
            if let Some(older) = older
                && (is_as_before || !self.are_between(older.number, change.number))
            {
                continue;
            }
            let path = then.or(newest.path.as_ref()).cloned();
            let mut step = UndoStep::new(newest.clone(), to.filter(|_| is_there), path);
            step.stays = stays;
            steps.push((change.number, step));
            (newest, stays) = (older.unwrap_or(newest), true);
        }
        steps
    }
}

/// Whether the restoration of a folder has undone its deletion, and nothing that is to be undone has used its place in between.
fn is_undone(
    deletion: &VersionInfo,
    restored: &VersionInfo,
    taken: &HashMap<u64, VersionInfo>,
) -> bool {
    let Some(place) = deletion.path.as_ref().filter(|_| deletion.path == restored.path) else {
        return false;
    };
    let place = place.as_str();
    let meets = |path: &FileText| {
        below(path.as_str(), place).is_some() || below(place, path.as_str()).is_some()
    };
    !taken.values().any(|change| {
        deletion.number < change.number
            && change.number < restored.number
            && [&change.path, &change.old_path].into_iter().flatten().any(meets)
    })
}

fn is_gone(kind: VersionKind) -> bool {
    matches!(kind, VersionKind::Deleted | VersionKind::Expired)
}
