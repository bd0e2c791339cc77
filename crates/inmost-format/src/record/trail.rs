//! The trail of a root: by which other hosts tell whether it comes after a root that they know.
//!
//! A server without the keys can put a shared store back to an earlier state, or show each host a copy of its own. A host that
//! was away for a few commits finds the root that it knows among the latest tags. For a longer time away the server keeps
//! the trails of earlier roots. They need not be authentic, because each root has a hash over the tags of all roots before it:
//! trails that lead from the known tag to this hash are true.

use serde::{Deserialize, Serialize};

use super::layout::Tag;
use crate::crypto::ids::StoreId;
use crate::crypto::prf::{self, PrfKey};
use crate::crypto::registry::role;

/// The roots before a root.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Trail {
    /// The beginnings of the tags of the latest ones, the newest first. Zero where there was no root.
    latest: [Beginning; LATEST],
    /// A hash over the tags of all of them.
    chain: Chain,
}

/// The first bytes of a tag.
type Beginning = [u8; 8];

const LATEST: usize = 20;

/// The hash over the tags of the roots before a root, in their order. It is public: so are the tags.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
struct Chain([u8; 32]);

impl PrfKey<role::Chain> for Chain {
    fn expose_key(&self) -> &[u8] {
        &self.0
    }
}

impl Chain {
    /// The hash with one more root.
    fn after(&self, beginning: Beginning, store: &StoreId) -> Self {
        Self(prf::mac::<role::Chain>(self, store, &beginning))
    }
}

impl Trail {
    /// The trail of the root that follows one with this tag and trail.
    #[must_use]
    pub fn after(mut self, tag: &Tag, store: &StoreId) -> Self {
        let beginning = beginning(tag);
        self.latest.rotate_right(1);
        let [newest, ..] = &mut self.latest;
        *newest = beginning;
        self.chain = self.chain.after(beginning, store);
        self
    }

    /// Whether the root with this tag is among the latest ones.
    #[must_use]
    pub fn contains(&self, tag: &Tag) -> bool {
        self.latest.contains(&beginning(tag))
    }

    /// Whether a root that is this many commits older must be among the latest ones.
    #[must_use]
    pub fn reaches(&self, commits: u64) -> bool {
        usize::try_from(commits).is_ok_and(|commits| commits <= LATEST)
    }

    /// Whether earlier trails prove that the root with this tag is before the root with this trail. `earlier` are in the order
    /// of their roots, and the first belongs to a root that is not after the one with the tag. They can come from anybody.
    #[must_use]
    pub fn comes_after(&self, tag: &Tag, earlier: &[Self], store: &StoreId) -> bool {
        let beginning = beginning(tag);
        let (mut chain, mut last, rest) = match earlier {
            [first, rest @ ..] if !first.contains(tag) => (first.chain, first.newest(), rest),
            // The tag is before the first of them, so everything begins with the first root of the store.
            all => (Chain::default(), None, all),
        };
        let mut is_found = false;
        for trail in rest.iter().chain([self]) {
            let oldest_first = trail.latest.iter().rev().filter(|it| **it != Beginning::default());
            let known = last.map_or(Some(0), |last| {
                let place = oldest_first.clone().position(|it| *it == last)?;
                Some(place.saturating_add(1))
            });
            // One that does not follow the one before it is of a root that was given up.
            let Some(known) = known else { continue };
            for next in oldest_first.skip(known) {
                is_found |= *next == beginning;
                chain = chain.after(*next, store);
                last = Some(*next);
            }
        }
        is_found && chain == self.chain
    }

    fn newest(&self) -> Option<Beginning> {
        self.latest.first().copied().filter(|it| *it != Beginning::default())
    }

    /// As a record of the root has it: [`TRAIL_BYTES`](inmost_storage::limits::TRAIL_BYTES).
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.latest.concat();
        bytes.extend_from_slice(&self.chain.0);
        bytes
    }

    /// Reads what [`to_bytes`](Self::to_bytes) wrote; `None` for bytes of another length.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (latest, chain) =
            bytes.split_at_checked(bytes.len().checked_sub(size_of::<Chain>())?)?;
        let (beginnings, []) = latest.as_chunks() else { return None };
        Some(Self { latest: beginnings.try_into().ok()?, chain: Chain(chain.try_into().ok()?) })
    }
}

fn beginning(tag: &Tag) -> Beginning {
    tag.0.first_chunk().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use inmost_storage::limits::TRAIL_BYTES;

    use super::*;

    const STORE: StoreId = StoreId([3; 16]);

    fn tag(number: u64) -> Tag {
        Tag(u128::from(number + 1).to_le_bytes())
    }

    /// The trails of the roots `0..=newest` of a history; from `fork` on it is another one.
    fn history(newest: u64, fork: u64) -> Vec<Trail> {
        let mut trails = vec![Trail::default()];
        for number in 0..newest {
            let other = if number >= fork { 1 << 32 } else { 0 };
            let next = trails[trails.len() - 1].after(&tag(number + other), &STORE);
            trails.push(next);
        }
        trails
    }

    /// What a server keeps of a history, as a host asks that knows the root `known`.
    fn kept(trails: &[Trail], known: u64) -> Vec<Trail> {
        let kept: Vec<_> = (0..).zip(trails.iter().copied()).step_by(16).skip(1).collect();
        let from = kept.iter().rposition(|(number, _)| *number <= known).unwrap_or(0);
        kept[from..].iter().map(|(_, trail): &(u64, Trail)| *trail).collect()
    }

    #[test]
    fn every_earlier_root_of_a_history_is_proven_and_none_of_another() {
        let (newest, fork) = (150, 70);
        let (true_one, other) = (history(newest, u64::MAX), history(newest, fork));
        let (root, forked) = (true_one.last().unwrap(), other.last().unwrap());
        for known in 0..newest {
            assert!(root.comes_after(&tag(known), &kept(&true_one, known), &STORE), "{known}");
            let proven = forked.comes_after(&tag(known), &kept(&other, known), &STORE);
            assert_eq!(proven, known < fork, "{known}");
            // What the server has of the other history does not help.
            assert!(
                known < fork || !forked.comes_after(&tag(known), &kept(&true_one, known), &STORE)
            );
        }
    }

    #[test]
    fn a_proof_with_a_gap_or_an_odd_trail_is_none() {
        let trails = history(150, u64::MAX);
        let root = trails[150];
        let proof = kept(&trails, 33);
        for missing in 0..proof.len() {
            let mut gap = proof.clone();
            gap.remove(missing);
            assert!(!root.comes_after(&tag(33), &gap, &STORE), "without {missing}");
        }
        for changed in 0..proof.len() {
            let mut odd = proof.clone();
            odd[changed].latest[5][0] ^= 1;
            odd[changed].chain.0[0] ^= 1;
            assert!(!root.comes_after(&tag(33), &odd, &STORE), "{changed}");
        }
        assert!(!root.comes_after(&tag(33), &[], &STORE));
        // A root that was given up left one among them.
        let mut with_other = proof;
        with_other.insert(3, history(60, 50)[60]);
        assert!(root.comes_after(&tag(33), &with_other, &STORE));
    }

    #[test]
    fn bytes_come_back_and_other_lengths_are_refused() {
        let trail = history(30, u64::MAX)[30];
        let bytes = trail.to_bytes();
        assert_eq!(bytes.len(), TRAIL_BYTES);
        assert_eq!(Trail::from_bytes(&bytes), Some(trail));
        for length in (0..TRAIL_BYTES).chain([TRAIL_BYTES + 1]) {
            assert_eq!(Trail::from_bytes(&vec![1; length]), None);
        }
    }
}
