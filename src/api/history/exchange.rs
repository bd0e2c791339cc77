//! Finds steps of an undo that move files into each other's places, so that only together they find them free.
//!
//! Folders are never moved together. The history says of a folder only that a path became another one, and is read as one change after
//! the other: after two folders exchanged their places in one, it would say that one of them has what was in both.

use std::collections::{BTreeMap, BTreeSet};

use super::bystanders::Since;
use super::undoing::{Order, Pending};
use super::{History, Undone};
use crate::session::StoreError;
use crate::vfs::versions::below;
use crate::vfs::{FileError, UndoStep};

impl History<'_> {
    /// Makes steps that wait for each other, as few as possible at a time. Returns whether any was made.
    pub(super) fn undo_exchanges(
        &self,
        steps: &[UndoStep],
        order: &Order,
        results: &mut [Undone],
        since: &mut Since,
    ) -> Result<bool, StoreError> {
        let steps = &waiting(steps, order, results);
        let places = Places::of(steps);
        let sets = places.moving.keys().filter_map(|index| places.set(*index));
        let sets: BTreeSet<_> = sets.map(|set| (set.len(), set)).collect();
        let mut full = Vec::new();
        for (_, set) in sets {
            let together: Vec<UndoStep> =
                set.iter().filter_map(|index| steps.get(index)).cloned().collect();
            match self.store.revert_together(&together) {
                Ok(numbers) => {
                    since.add_own(&numbers);
                    for (index, number) in set.into_iter().zip(numbers) {
                        set_result(results, index, Undone::Done(number));
                    }
                    return Ok(true);
                }
                Err(FileError::Store(error)) if !matches!(error, StoreError::TooLarge) => {
                    return Err(error);
                }
                Err(FileError::TooMuchText(most)) => full.push((set, most)),
                // Those that do not fit one commit are left.
                Err(_) => {}
            }
        }
        for (set, most) in full {
            for index in set {
                set_result(results, index, Undone::Left(FileError::TooMuchText(most)));
            }
        }
        Ok(false)
    }
}

fn set_result(results: &mut [Undone], index: usize, result: Undone) {
    if let Some(slot) = results.get_mut(index) {
        *slot = result;
    }
}

/// The steps of files that wait for a place, by their index, with the path at which each file is now: the changes of folders that are
/// undone already have moved it. Those that go into a folder whose step waits come after it.
fn waiting(steps: &[UndoStep], order: &Order, results: &[Undone]) -> BTreeMap<usize, UndoStep> {
    let with_results = || steps.iter().zip(results);
    let undone: Vec<&UndoStep> = with_results()
        .filter(|(step, result)| step.as_of.is_some() && matches!(result, Undone::Done(_)))
        .map(|(step, _)| step)
        .collect();
    let (mut waiting, mut pending) = (BTreeMap::new(), Pending::default());
    for (index, (step, _)) in with_results().enumerate().filter(|(_, (_, it))| it.waits()) {
        if step.newest.file.is_some() && !pending.is_before(step) {
            waiting.insert(index, step.clone());
        }
        pending.add(step);
    }
    for step in waiting.values_mut() {
        for folder in undone.iter().filter(|it| it.newest.number < step.newest.number) {
            if let (Some(path), Some(from), Some(to)) =
                (&step.newest.path, &folder.newest.path, &folder.path)
                && let Some(below) = below(path.as_str(), from.as_str())
                && !below.is_empty()
            {
                step.newest.path = Some([to.as_str(), below].concat().into());
            }
        }
    }
    waiting.retain(|index, step| match order.ready(steps, results, *index) {
        Ok(ready) => {
            step.newest.number = ready.newest.number;
            true
        }
        Err(_) => false,
    });
    waiting
}

/// The steps that move a file to a place that is taken.
struct Places<'p> {
    /// Where each of them goes.
    moving: BTreeMap<usize, &'p str>,
    /// Which of them is at a path.
    at: BTreeMap<&'p str, usize>,
}

impl<'p> Places<'p> {
    fn of(steps: &'p BTreeMap<usize, UndoStep>) -> Self {
        let mut places = Self { moving: BTreeMap::new(), at: BTreeMap::new() };
        for (index, step) in steps {
            if let (Some(from), Some(_), Some(to)) = (&step.newest.path, step.to, &step.path)
                && from != to
            {
                places.moving.insert(*index, to.as_str());
                places.at.insert(from.as_str(), *index);
            }
        }
        places
    }

    /// The steps that one needs to be made with: what is at its place, above it or below it. It may be in its own way, if it goes to a
    /// place below or above its own.
    fn in_the_way(&self, index: usize) -> Vec<usize> {
        let Some(to) = self.moving.get(&index) else { return Vec::new() };
        let parents = to.match_indices('/').filter_map(|(end, _)| to.get(..end));
        let above = parents.chain([*to]).filter_map(|path| self.at.get(path));
        let inside = format!("{to}/");
        let below = self.at.range(inside.as_str()..);
        let below = below.take_while(|(path, _)| path.starts_with(&inside)).map(|(_, index)| index);
        above.chain(below).take(MOST + 1).copied().collect()
    }

    /// A step and all that it waits for, unless that is too many, or something else is in the way.
    fn set(&self, index: usize) -> Option<BTreeSet<usize>> {
        let mut set = BTreeSet::from([index]);
        let mut open = vec![index];
        while let Some(next) = open.pop() {
            let others = self.in_the_way(next);
            if others.is_empty() {
                return None;
            }
            open.extend(others.into_iter().filter(|other| set.insert(*other)));
            if set.len() > MOST {
                return None;
            }
        }
        Some(set)
    }
}

/// Steps made together: each has a number of its own, of which a commit has 64.
const MOST: usize = 64;
