//! The anchor of a store as it is stored: four slots in one block of 512 bytes.
//!
//! A pair of slots is in use, and its slots are written in turn. The other pair is for a rotation, which needs marks
//! under the old keys and under the new ones at the same time. All four are in one block because a disk writes a sector
//! of 512 bytes as a whole: so a power cut leaves a pair as it was after some write, and never two slots of different
//! times. Does no I/O.

use inmost_format::crypto::aead::SealError;
use inmost_format::crypto::ids::StoreId;
use inmost_format::crypto::keys::AnchorKey;
use inmost_format::crypto::rng;

use super::slot::{Mark, SEALED_BYTES, Slot, Trust};

/// The stored bytes.
#[derive(Clone)]
pub(super) struct Block(Vec<u8>);

/// One of the two pairs of slots.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Pair {
    First,
    Second,
}

/// The slots that open under the present keys.
pub(super) struct Evidence(Vec<(Pair, Slot)>);

impl Block {
    /// A block without a slot. Noise in the place of a slot cannot be told from one.
    pub(super) fn empty() -> Self {
        let mut bytes = vec![0; BLOCK_BYTES];
        // Without randomness nothing will be sealed either, and the anchor counts as failing.
        let _ = rng::fill(&mut bytes);
        Self(bytes)
    }

    /// The block with these bytes. What is missing is noise.
    pub(super) fn of(stored: &[u8]) -> Self {
        let mut block = Self::empty();
        block.0.iter_mut().zip(stored).for_each(|(to, from)| *to = *from);
        block
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Opens every slot that is authentic under this key and in its place.
    pub(super) fn open(&self, key: &AnchorKey, store: StoreId) -> Evidence {
        let open = |(pair, odd): (Pair, bool)| {
            let index = pair.index(odd);
            let sealed = self.0.get(usize::from(index) * STRIDE..)?;
            let slot = Slot::open(sealed, key, store, index)?;
            (is_odd(slot.sequence) == odd).then_some((pair, slot))
        };
        let places = Pair::BOTH.into_iter().flat_map(|pair| [(pair, false), (pair, true)]);
        Evidence(places.filter_map(open).collect())
    }

    /// Seals a slot into its place in a pair.
    pub(super) fn put(
        &mut self,
        pair: Pair,
        slot: &Slot,
        key: &AnchorKey,
        store: StoreId,
    ) -> Result<(), SealError> {
        let index = pair.index(is_odd(slot.sequence));
        let sealed = slot.seal(key, store, index)?;
        let place = self.0.iter_mut().skip(usize::from(index) * STRIDE);
        place.zip(sealed).for_each(|(to, from)| *to = from);
        Ok(())
    }

    /// Replaces a pair with noise.
    pub(super) fn erase(&mut self, pair: Pair) {
        let noise = Self::empty().0;
        let from = usize::from(pair.index(false)) * STRIDE;
        let places = self.0.iter_mut().zip(noise).skip(from).take(2 * STRIDE);
        places.for_each(|(to, noise)| *to = noise);
    }
}

impl Pair {
    pub(super) const BOTH: [Self; 2] = [Self::First, Self::Second];

    pub(super) fn other(self) -> Self {
        match self {
            Self::First => Self::Second,
            Self::Second => Self::First,
        }
    }

    /// The index of one of its slots, which is part of the slot's associated data.
    fn index(self, odd: bool) -> u8 {
        match (self, odd) {
            (Self::First, false) => 0,
            (Self::First, true) => 1,
            (Self::Second, false) => 2,
            (Self::Second, true) => 3,
        }
    }
}

impl Evidence {
    /// The marks of the commits that were seen.
    pub(super) fn marks(&self) -> impl Iterator<Item = &Mark> {
        let live = self.0.iter().filter(|(_, slot)| slot.trust != Trust::Retired);
        live.map(|(_, slot)| &slot.mark)
    }

    /// The slot that was written last, and its pair.
    pub(super) fn newest(&self) -> Option<&(Pair, Slot)> {
        self.0.iter().max_by_key(|(_, slot)| slot.sequence)
    }

    /// Whether the store has other keys than these.
    pub(super) fn is_retired(&self) -> bool {
        self.0.iter().any(|(_, slot)| slot.trust == Trust::Retired)
    }

    /// Whether the slots are those that two writes in a row leave: two of one pair, whose sequences differ by one and
    /// whose commits do not contradict each other.
    pub(super) fn are_neighbours(&self) -> bool {
        let [(pair, one), (other_pair, other)] = self.0.as_slice() else { return false };
        let (earlier, later) =
            if one.sequence < other.sequence { (one, other) } else { (other, one) };
        pair == other_pair
            && earlier.sequence.checked_add(1) == Some(later.sequence)
            && later.mark.may_follow(&earlier.mark)
    }

    /// Whether the slots show that the store is not older than they are.
    pub(super) fn is_known(&self) -> bool {
        self.are_neighbours() && self.0.iter().all(|(_, slot)| slot.trust == Trust::Known)
    }

    /// Whether a rotation ended before it had retired the old keys.
    pub(super) fn is_announced(&self) -> bool {
        self.0.iter().any(|(_, slot)| slot.is_announced)
    }
}

fn is_odd(sequence: u64) -> bool {
    !sequence.is_multiple_of(2)
}

/// From the beginning of a slot to that of the next.
pub(super) const STRIDE: usize = 128;
/// Four slots: one sector of a disk.
pub(super) const BLOCK_BYTES: usize = 4 * STRIDE;
const _: () = assert!(SEALED_BYTES <= STRIDE, "slots do not overlap");
