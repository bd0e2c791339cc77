//! A slot of the anchor: the mark of one commit, sealed under the anchor key.

use inmost_format::crypto::aead::{Nonce, SealError, Tag};
use inmost_format::crypto::ids::StoreId;
use inmost_format::crypto::keys::AnchorKey;
use inmost_format::crypto::registry::AnchorAad;
use inmost_format::record::node::Root;

/// The anchor's record of one commit.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(super) commit: u64,
    generation: u64,
    /// The revision of the header that the root names.
    pub(super) revision: u64,
    nonce: [u8; 24],
    tag: [u8; 16],
}

impl Mark {
    /// The mark of the commit with this root, which is stored as `root_value`.
    pub(crate) fn of(root: &Root, generation: u64, root_value: &[u8]) -> Option<Self> {
        let nonce = *root_value.get(1..)?.first_chunk::<24>()?;
        let tag = *root_value.last_chunk::<16>()?;
        let (commit, revision) = (root.commit, root.header.revision);
        Some(Self { commit, generation, revision, nonce, tag })
    }

    /// The number of the commit, and the tag of its root.
    pub(in crate::session) const fn root(&self) -> (u64, [u8; 16]) {
        (self.commit, self.tag)
    }

    /// Whether a store whose newest commit is `found` has lost this commit, or has another one in its place.
    pub(super) fn is_missing_from(&self, found: &Self) -> bool {
        self.commit > found.commit || (self.commit == found.commit && self != found)
    }

    /// Whether this mark can follow `earlier` in the next slot.
    pub(super) fn may_follow(&self, earlier: &Self) -> bool {
        self.commit > earlier.commit || self == earlier
    }
}

/// What a slot says about the freshness of its store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::session) enum Trust {
    /// The session that wrote it knew that the store was not older than its anchor.
    Known,
    /// It did not, and nobody has accepted the store since.
    Unknown,
    /// The store was rotated: this is the last mark under these keys.
    Retired,
}

/// The content of one slot.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::session) struct Slot {
    /// Grows by one with every write of the anchor.
    pub(in crate::session) sequence: u64,
    pub(in crate::session) trust: Trust,
    /// Written by a rotation, before a header named its keys.
    pub(in crate::session) is_announced: bool,
    pub(in crate::session) mark: Mark,
}

impl Slot {
    /// # Errors
    /// [`SealError`], if there is no randomness.
    pub(in crate::session) fn seal(
        &self,
        key: &AnchorKey,
        store: StoreId,
        index: u8,
    ) -> Result<[u8; SEALED_BYTES], SealError> {
        let mut text = self.encode(index);
        let (nonce, tag) = key.seal(&AnchorAad { store, index }, &mut text)?;
        Ok(join(&nonce, &text, &tag))
    }

    /// Opens a sealed slot; `None` if it is not authentic at this index of this store.
    pub(in crate::session) fn open(
        sealed: &[u8],
        key: &AnchorKey,
        store: StoreId,
        index: u8,
    ) -> Option<Self> {
        let (nonce, rest) = sealed.split_first_chunk::<24>()?;
        let (text, rest) = rest.split_first_chunk::<TEXT_BYTES>()?;
        let tag = Tag(*rest.first_chunk::<16>()?);
        let mut text = *text;
        key.open(&Nonce(*nonce), &AnchorAad { store, index }, &mut text, &tag).ok()?;
        Self::decode(&text, index)
    }

    pub(super) fn encode(&self, index: u8) -> [u8; TEXT_BYTES] {
        let trust = match self.trust {
            Trust::Known => KNOWN,
            Trust::Unknown => UNKNOWN,
            Trust::Retired => RETIRED,
        };
        let Mark { commit, generation, revision, nonce, tag } = self.mark;
        let numbers = [self.sequence, commit, generation, revision].map(u64::to_le_bytes);
        let first = [index, trust, u8::from(self.is_announced), 0, 0, 0, 0, 0];
        concatenate([&first, numbers.as_flattened(), &nonce, &tag])
    }

    pub(super) fn decode(text: &[u8; TEXT_BYTES], expected: u8) -> Option<Self> {
        let ([index, trust, announced, zeros @ ..], rest) = text.split_first_chunk::<8>()?;
        let (numbers, rest) = rest.split_first_chunk::<32>()?;
        let (nonce, rest) = rest.split_first_chunk::<24>()?;
        let tag = *rest.first_chunk::<16>()?;
        let mut numbers = numbers.chunks_exact(8).filter_map(|number| number.first_chunk());
        let mut next = || numbers.next().map(|number| u64::from_le_bytes(*number));
        let (sequence, commit, generation, revision) = (next()?, next()?, next()?, next()?);
        let trust = match *trust {
            KNOWN => Trust::Known,
            UNKNOWN => Trust::Unknown,
            RETIRED => Trust::Retired,
            _ => return None,
        };
        let is_announced = match *announced {
            0 => false,
            1 => true,
            _ => return None,
        };
        let mark = Mark { commit, generation, revision, nonce: *nonce, tag };
        (*index == expected && zeros.iter().all(|byte| *byte == 0)).then_some(Self {
            sequence,
            trust,
            is_announced,
            mark,
        })
    }

    /// Seals under a nonce of the caller's choice, for test vectors.
    #[cfg(test)]
    pub(in crate::session) fn seal_with(
        &self,
        nonce: [u8; 24],
        key: &AnchorKey,
        store: StoreId,
        index: u8,
    ) -> [u8; SEALED_BYTES] {
        let mut text = self.encode(index);
        let nonce = Nonce(nonce);
        let aad = AnchorAad { store, index };
        let tag = key.dangerous_seal_with_nonce(&nonce, &aad, &mut text);
        join(&nonce, &text, &tag)
    }
}

pub(super) fn join(nonce: &Nonce, text: &[u8; TEXT_BYTES], tag: &Tag) -> [u8; SEALED_BYTES] {
    concatenate([&nonce.0, text, &tag.0])
}

/// The parts one after the other, which have `N` bytes together.
fn concatenate<const N: usize, const PARTS: usize>(parts: [&[u8]; PARTS]) -> [u8; N] {
    let mut whole = [0; N];
    let mut rest = whole.as_mut_slice();
    for part in parts {
        let (to, after) = rest.split_at_mut(part.len().min(rest.len()));
        to.iter_mut().zip(part).for_each(|(to, from)| *to = *from);
        rest = after;
    }
    whole
}

const KNOWN: u8 = 1;
const UNKNOWN: u8 = 2;
const RETIRED: u8 = 3;
/// Index, trust, announced, five zeros; sequence, commit, generation, revision; nonce and tag of the root.
pub(super) const TEXT_BYTES: usize = 8 + 4 * 8 + 24 + 16;
/// Nonce, ciphertext, tag.
pub(super) const SEALED_BYTES: usize = 24 + TEXT_BYTES + 16;

#[cfg(test)]
mod tests {
    use inmost_format::crypto::keys::MasterKey;

    use super::*;

    const STORE: StoreId = StoreId([7; 16]);

    fn slot() -> Slot {
        let mark = Mark { commit: 3, generation: 1, revision: 2, nonce: [4; 24], tag: [5; 16] };
        Slot { sequence: 9, trust: Trust::Unknown, is_announced: true, mark }
    }

    #[test]
    fn a_slot_opens_at_its_index_of_its_store_under_its_key_only() {
        let key = || MasterKey::generate().unwrap().anchor_key(&STORE);
        let (right, wrong) = (key(), key());
        let sealed = slot().seal(&right, STORE, 1).unwrap();
        assert!(Slot::open(&sealed, &right, STORE, 1) == Some(slot()));
        assert!(Slot::open(&sealed, &right, STORE, 0).is_none());
        assert!(Slot::open(&sealed, &right, StoreId([8; 16]), 1).is_none());
        assert!(Slot::open(&sealed, &wrong, STORE, 1).is_none());
        for length in 0..SEALED_BYTES {
            assert!(Slot::open(&sealed[..length], &right, STORE, 1).is_none());
        }
        for at in 0..SEALED_BYTES {
            let mut flipped = sealed;
            flipped[at] ^= 1;
            assert!(Slot::open(&flipped, &right, STORE, 1).is_none(), "{at}");
        }
    }

    #[test]
    fn an_authentic_slot_with_a_value_that_is_not_defined_does_not_open() {
        let key = MasterKey::generate().unwrap().anchor_key(&STORE);
        let opens = |at: usize, value: u8| {
            let mut text = slot().encode(1);
            text[at] = value;
            let aad = AnchorAad { store: STORE, index: 1 };
            let (nonce, tag) = key.seal(&aad, &mut text).unwrap();
            Slot::open(&join(&nonce, &text, &tag), &key, STORE, 1).is_some()
        };
        let defined =
            [(0, 1), (1, KNOWN), (1, UNKNOWN), (1, RETIRED), (2, 0), (2, 1), (3, 0), (7, 0)];
        assert!(defined.into_iter().all(|(at, value)| opens(at, value)));
        let others = [(0, 0), (0, 2), (1, 0), (1, 4), (2, 2), (3, 1), (7, 1)];
        assert!(!others.into_iter().any(|(at, value)| opens(at, value)));
    }
}
