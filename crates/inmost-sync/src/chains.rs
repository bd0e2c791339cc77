//! What was read of whose log: dots, vectors, and the chains of objects that give vectors their meaning.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::rules::{Rule, holds};

/// The random id of a log: the objects that one device wrote, one after another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct LogId(pub [u8; 16]);

/// The authentication tag of a sealed object. It tells objects apart that two copies of a device wrote at one number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Tag(pub [u8; 16]);

/// One object of a log.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Dot {
    /// The log.
    pub log: LogId,
    /// The number in the log, from 1.
    pub number: u64,
    /// The tag of the object.
    pub tag: Tag,
}

/// A set of objects: those on the chains that end in its dots.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Default, Debug, Serialize, Deserialize)]
pub struct Vector(BTreeSet<Dot>);

impl Vector {
    /// The dots in which its chains end, in ascending order.
    #[must_use]
    pub fn dots(&self) -> impl ExactSizeIterator<Item = &Dot> {
        self.0.iter()
    }

    /// Whether it covers nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<Dot> for Vector {
    /// Takes the dots as they are. [`Chains::join`] drops those that others cover.
    fn from_iter<I: IntoIterator<Item = Dot>>(dots: I) -> Self {
        Self(dots.into_iter().collect())
    }
}

/// The order of the objects in each log. A log is one chain; if a copied device went on with it, it is a tree.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Chains(BTreeMap<LogId, Vec<Branch>>);

/// Objects with consecutive numbers, each the predecessor of the next.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct Branch {
    /// The branch and number of the predecessor of the first object. `None` if it has none or is not known.
    from: Option<(usize, u64)>,
    /// The number of the first object.
    first: u64,
    tags: Vec<Tag>,
}

impl Branch {
    fn tag(&self, number: u64) -> Option<Tag> {
        let index = usize::try_from(number.checked_sub(self.first)?).ok()?;
        self.tags.get(index).copied()
    }

    fn last(&self) -> u64 {
        self.first.saturating_add(self.tags.len().try_into().unwrap_or(u64::MAX)).saturating_sub(1)
    }
}

impl Chains {
    /// Adds an object after its predecessor. An object whose predecessor is unknown begins a chain of its own: no vector that
    /// names it covers anything before it.
    pub fn insert(&mut self, dot: Dot, previous: Option<Tag>) {
        if self.contains(&dot) {
            return;
        }
        let branches = self.0.entry(dot.log).or_default();
        let before = dot.number.saturating_sub(1);
        let from =
            branches.iter().position(|branch| previous.is_some() && branch.tag(before) == previous);
        match from.and_then(|from| branches.get_mut(from)) {
            Some(branch) if branch.last() == before => branch.tags.push(dot.tag),
            _ => branches.push(Branch {
                from: from.map(|from| (from, before)),
                first: dot.number,
                tags: vec![dot.tag],
            }),
        }
    }

    /// Whether the object was inserted.
    #[must_use]
    pub fn contains(&self, dot: &Dot) -> bool {
        self.branch(dot).is_some()
    }

    /// The tags of the objects with this number in a log: several if copies of a device have written to it.
    pub(crate) fn tags(&self, log: LogId, number: u64) -> impl Iterator<Item = Tag> {
        let branches = self.0.get(&log).map_or(&[][..], Vec::as_slice);
        branches.iter().filter_map(move |branch| branch.tag(number))
    }

    /// The logs that copies of a device have written to.
    pub fn forks(&self) -> impl Iterator<Item = LogId> {
        self.0.iter().filter(|(_, branches)| branches.len() > 1).map(|(log, _)| *log)
    }

    /// Whether the object is on a chain that ends in a dot of the vector.
    #[must_use]
    pub fn covers(&self, vector: &Vector, dot: &Dot) -> bool {
        vector.0.iter().any(|tip| self.is_before(dot, tip))
    }

    /// Whether `greater` covers every object that `less` covers.
    #[must_use]
    pub fn is_within(&self, less: &Vector, greater: &Vector) -> bool {
        less.0.iter().all(|dot| self.covers(greater, dot))
    }

    /// The vector that covers what any of these covers.
    #[must_use]
    pub fn join<'v>(&self, vectors: impl IntoIterator<Item = &'v Vector>) -> Vector {
        let all: BTreeSet<Dot> =
            vectors.into_iter().flat_map(|vector| &vector.0).copied().collect();
        let is_last = |dot: &&Dot| !all.iter().any(|tip| tip != *dot && self.is_before(dot, tip));
        Vector(all.iter().filter(is_last).copied().collect())
    }

    /// Adds the objects of other chains, which must be [sound](Self::are_sound).
    pub(crate) fn absorb(&mut self, other: &Self) {
        for (log, branches) in &other.0 {
            for branch in branches {
                let from = branch.from.and_then(|(from, number)| branches.get(from)?.tag(number));
                let mut previous = from;
                for (number, tag) in (branch.first..).zip(&branch.tags) {
                    self.insert(Dot { log: *log, number, tag: *tag }, previous);
                    previous = Some(*tag);
                }
            }
        }
    }

    /// Whether each chain goes back to the first object of its log, and `vector` covers all objects and no others. Received chains may
    /// be anything. Does no I/O.
    pub(crate) fn are_sound(&self, vector: &Vector) -> bool {
        let is_sound = |branches: &Vec<Branch>, at: usize, branch: &Branch| match branch.from {
            None => branch.first == 1,
            Some((from, number)) => {
                let before = branches.get(from).filter(|_| from < at);
                before.is_some_and(|before| before.tag(number).is_some())
                    && number.checked_add(1) == Some(branch.first)
            }
        };
        let are_whole = self.0.values().all(|branches| {
            branches.iter().enumerate().all(|(at, branch)| is_sound(branches, at, branch))
        });
        // What a vector covers has a meaning only if all chains are whole.
        let are_covered = || {
            let mut branches =
                self.0.iter().flat_map(|(log, all)| all.iter().map(move |it| (*log, it)));
            branches.all(|(log, branch)| {
                let last = branch.tags.last();
                let last = last.map(|tag| Dot { log, number: branch.last(), tag: *tag });
                last.is_some_and(|last| self.covers(vector, &last))
            })
        };
        are_whole && are_covered() && vector.dots().all(|dot| self.contains(dot))
    }

    fn branch(&self, dot: &Dot) -> Option<usize> {
        let branches = self.0.get(&dot.log)?;
        branches.iter().position(|branch| branch.tag(dot.number) == Some(dot.tag))
    }

    /// Whether the chain that ends in `tip` contains the object.
    fn is_before(&self, dot: &Dot, tip: &Dot) -> bool {
        if dot.log != tip.log || dot.number >= tip.number {
            return dot == tip;
        }
        if !holds(Rule::BranchesApart) {
            return true;
        }
        let branches = self.0.get(&tip.log).map_or(&[][..], Vec::as_slice);
        let mut at = self.branch(tip);
        while let Some((index, branch)) = at.and_then(|at| Some((at, branches.get(at)?))) {
            if dot.number >= branch.first {
                return branch.tag(dot.number) == Some(dot.tag);
            }
            // A sound branch stands after the one it comes from. Others lead nowhere, so that this ends for any chains.
            at = branch.from.map(|(from, _)| from).filter(|from| *from < index);
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dot(number: u64, tag: u8) -> Dot {
        Dot { log: LogId([1; 16]), number, tag: Tag([tag; 16]) }
    }

    #[test]
    fn the_branches_of_a_copied_device_never_stand_for_each_other() {
        let mut chains = Chains::default();
        for (number, tag, previous) in
            [(1, 1, None), (2, 2, Some(1)), (3, 3, Some(2)), (2, 12, Some(1)), (3, 13, Some(12))]
        {
            chains.insert(dot(number, tag), previous.map(|tag| Tag([tag; 16])));
        }
        assert!(chains.forks().eq([LogId([1; 16])]));
        let (one, other) = (Vector::from_iter([dot(3, 3)]), Vector::from_iter([dot(3, 13)]));
        for (vector, covered) in [(&one, [1, 2, 3]), (&other, [1, 12, 13])] {
            for (number, tag) in [(1, 1), (2, 2), (3, 3), (2, 12), (3, 13)] {
                assert_eq!(
                    chains.covers(vector, &dot(number, tag)),
                    covered.contains(&tag),
                    "{tag}"
                );
            }
        }
        let all = chains.join([&one, &other, &Vector::from_iter([dot(2, 12)])]);
        assert_eq!(all, Vector::from_iter([dot(3, 3), dot(3, 13)]));
        assert!(chains.is_within(&one, &all) && !chains.is_within(&all, &one));
    }

    #[test]
    fn branches_that_come_from_themselves_or_later_ones_are_not_sound() {
        let branch = |from, first, tag| Branch { from, first, tags: vec![Tag([tag; 16])] };
        for (branches, tip) in [
            (vec![branch(None, 1, 1), branch(Some((1, 4)), 5, 2)], dot(5, 2)),
            (vec![branch(Some((1, 6)), 7, 1), branch(Some((0, 7)), 8, 2)], dot(8, 2)),
        ] {
            let chains = Chains(BTreeMap::from([(LogId([1; 16]), branches)]));
            let seen = Vector::from_iter([tip]);
            assert!(!chains.are_sound(&seen));
            assert!(chains.covers(&seen, &tip) && !chains.covers(&seen, &dot(1, 1)));
        }
    }

    #[test]
    fn an_object_without_its_predecessor_covers_only_itself() {
        let mut chains = Chains::default();
        chains.insert(dot(1, 1), None);
        chains.insert(dot(3, 3), Some(Tag([2; 16])));
        let vector = Vector::from_iter([dot(3, 3)]);
        assert!(chains.covers(&vector, &dot(3, 3)) && !chains.covers(&vector, &dot(1, 1)));
    }
}
