//! Finds steps of an undo that stand in each other's way, so that only together they find their places free.

use std::collections::{BTreeMap, BTreeSet};

use super::bystanders::Since;
use super::undoing::Order;
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
        let (mut sets, mut cycle) = (BTreeSet::new(), None);
        for index in places.moving.keys() {
            match places.set(*index) {
                Some(set) => _ = sets.insert((set.len(), set)),
                None => cycle = cycle.or_else(|| places.cycle(*index)),
            }
        }
        let mut full = Vec::new();
        for (_, set) in sets {
            // A folder goes back before what goes into it, which would be in its way.
            let mut set: Vec<usize> = set.into_iter().collect();
            set.sort_by_key(|index| steps.get(index).map(depth));
            let mut together: Vec<UndoStep> =
                set.iter().filter_map(|index| steps.get(index)).cloned().collect();
            match self.undo_together(&mut together, since) {
                Ok(numbers) => {
                    for (index, number) in set.into_iter().zip(numbers) {
                        set_result(results, index, Undone::Done(number));
                    }
                    return Ok(true);
                }
                // Too many for one commit.
                Err(FileError::Store(StoreError::TooLarge)) => {
                    cycle = cycle.or_else(|| places.cycle(*set.first()?));
                }
                Err(FileError::Store(error)) => return Err(error),
                Err(FileError::TooMuchText(most)) => full.push((set, most)),
                Err(_) => {}
            }
        }
        let goes_on = match cycle {
            Some(cycle) => self.rotate(steps, &cycle, results, since)?,
            None => false,
        };
        if !goes_on {
            for (set, most) in full {
                for index in set {
                    set_result(results, index, Undone::Left(FileError::TooMuchText(most)));
                }
            }
        }
        Ok(goes_on)
    }

    /// Makes the steps of a long cycle, two in one atomic change: one takes its place, and the one that was there goes to the
    /// place where the first one was.
    fn rotate(
        &self,
        steps: &BTreeMap<usize, UndoStep>,
        cycle: &[usize],
        results: &mut [Undone],
        since: &mut Since,
    ) -> Result<bool, StoreError> {
        let of = |index: &usize| steps.get(index).cloned();
        let (Some(mut index), Some(mut moving)) = (cycle.first(), cycle.first().and_then(of))
        else {
            return Ok(false);
        };
        let place = moving.newest.path.clone();
        let mut goes_on = false;
        for (left, next) in (1..cycle.len()).rev().zip(cycle.iter().skip(1)) {
            let Some(step) = of(next) else { break };
            let mut displaced = step.clone();
            if left > 1 {
                displaced.path.clone_from(&place);
                // Its text stays for now.
                displaced.to = step.to.map(|_| step.newest.number);
            }
            match self.undo_together(&mut [moving.clone(), displaced], since) {
                Ok(numbers) => {
                    let [done, moved] = numbers.try_into().unwrap_or_default();
                    set_result(results, *index, Undone::Done(done));
                    set_result(results, *next, Undone::Done(moved));
                    (index, moving) = (next, step);
                    moving.newest.number = moved;
                    moving.newest.path.clone_from(&place);
                    goes_on = true;
                }
                Err(FileError::Store(error)) => return Err(error),
                Err(error) => {
                    // The one that made room is not where it belongs.
                    set_result(results, *index, Undone::Left(error));
                    break;
                }
            }
        }
        Ok(goes_on)
    }
}

/// How deep the place is to which a step goes back.
fn depth(step: &UndoStep) -> usize {
    step.path.as_ref().map_or(0, |path| path.as_str().matches('/').count())
}

fn set_result(results: &mut [Undone], index: usize, result: Undone) {
    if let Some(slot) = results.get_mut(index) {
        *slot = result;
    }
}

/// The steps that wait for a place, by their index, with the path at which each file is now: the changes of folders that are undone
/// already have moved it.
fn waiting(steps: &[UndoStep], order: &Order, results: &[Undone]) -> BTreeMap<usize, UndoStep> {
    let with_results = || steps.iter().zip(results);
    let undone: Vec<&UndoStep> = with_results()
        .filter(|(step, result)| step.as_of.is_some() && matches!(result, Undone::Done(_)))
        .map(|(step, _)| step)
        .collect();
    let mut waiting: BTreeMap<usize, UndoStep> = with_results()
        .enumerate()
        .filter(|(_, (_, result))| result.waits())
        .map(|(index, (step, _))| (index, step.clone()))
        .collect();
    for step in waiting.values_mut().filter(|step| step.newest.file.is_some()) {
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

/// The steps that move a file or folder to a place that is taken.
struct Places<'p> {
    /// Where each of them goes.
    moving: BTreeMap<usize, &'p str>,
    /// Which of them is at a path. A deleted folder is at none.
    at: BTreeMap<&'p str, usize>,
    /// Which of them brings a folder to a path.
    folders: BTreeMap<&'p str, usize>,
}

impl<'p> Places<'p> {
    fn of(steps: &'p BTreeMap<usize, UndoStep>) -> Self {
        let (moving, at, folders) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        let mut places = Self { moving, at, folders };
        for (index, step) in steps {
            let (Some(from), Some(to)) = (&step.newest.path, &step.path) else { continue };
            let (from, to) = (from.as_str(), to.as_str());
            let is_folder = step.newest.file.is_none();
            if step.brings_a_folder_back() {
                places.moving.insert(*index, to);
            } else if (step.to.is_some() || step.moves_a_folder()) && from != to {
                places.moving.insert(*index, to);
                places.at.insert(from, *index);
            } else {
                continue;
            }
            if is_folder {
                places.folders.insert(to, *index);
            }
        }
        places
    }

    /// The steps that one needs to be made with: what is at its place, above it or below it, and the folders that it goes into. It may
    /// be in its own way, if it goes to a place below or above its own.
    fn in_the_way(&self, index: usize) -> Vec<usize> {
        let Some(to) = self.moving.get(&index) else { return Vec::new() };
        let parents = || to.match_indices('/').filter_map(|(end, _)| to.get(..end));
        let above = parents().chain([*to]).filter_map(|path| self.at.get(path));
        let into = parents().filter_map(|path| self.folders.get(path));
        let inside = format!("{to}/");
        let below = self.at.range(inside.as_str()..);
        let below = below.take_while(|(path, _)| path.starts_with(&inside)).map(|(_, index)| index);
        above.chain(into).chain(below).take(MOST + 1).copied().collect()
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

    /// The cycle that begins with a step, if each waits only for the next.
    fn cycle(&self, first: usize) -> Option<Vec<usize>> {
        let mut cycle = vec![first];
        let mut seen = BTreeSet::from([first]);
        let mut last = first;
        loop {
            let [next] = self.in_the_way(last).try_into().ok()?;
            if next == first {
                return Some(cycle);
            }
            if !seen.insert(next) || cycle.len() >= LONGEST {
                return None;
            }
            cycle.push(next);
            last = next;
        }
    }
}

/// Steps made together: each has a number of its own, of which a commit has 64.
const MOST: usize = 64;
/// Steps of a longer cycle: a bound on the work of finding it.
const LONGEST: usize = 4_096;
