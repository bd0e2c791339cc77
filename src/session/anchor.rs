//! The anchor: what the newest commit was, kept outside the engine.
//!
//! An engine whose log lost its end recovers to an older state and reports success; a whole folder can be put back
//! from a copy. Neither shows in the records, which authenticate. So after each synced commit its number and the nonce
//! and tag of its root are written beside the header, under a MAC. A store behind its anchor was rolled back; a store
//! ahead of it lost power between the two, which is normal.
//!
//! The anchor in the store's own folder detects accidents: whoever can put the store back can put it back too. An
//! application that keeps the same value elsewhere, through [`FreshnessAnchor`], detects that as well.
//!
//! A rotation changes the key of that MAC. Before a header names the new keys, the new state's mark is written under
//! them beside the old one's: whichever header a crash leaves finds a mark of its own. So an external value
//! with no mark under the store's keys is refused: the store may be from before a rotation, in the hands of whoever the
//! rotation was to shut out. In the local file it is only a missing anchor, as after any damage.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::error::StoreError;
use inmost_format::crypto::fixed_width::FixedWidth;
use inmost_format::crypto::keys::AnchorKey;
use inmost_format::crypto::registry::AnchorMessage;
use inmost_format::crypto::store_id::StoreId;
use inmost_format::header::Unlocked;
use inmost_storage::{AnchorSlot, Storage};

/// A place outside the store that remembers the newest commit, kept by the application.
///
/// It need not be secret, only harder to turn back than the store: another disk, a keyring, a server. One value
/// belongs to one store.
pub trait FreshnessAnchor: Send + Sync {
    /// The value that was saved last; `None` if none ever was. A value of another store, or of other keys, does not let
    /// the store open ([`StoreError::ForeignAnchor`]).
    ///
    /// # Errors
    /// Whatever keeps it from being read. The store opens all the same, and [`SessionStatus`](super::Status) says so.
    fn load(&self) -> Result<Option<Vec<u8>>, Box<dyn Error + Send + Sync>>;

    /// Keeps a value, of 88 bytes, or 176 during a rotation of the keys, in place of the last. Called after every durable
    /// commit, by one thread at a time, which holds the session: a call to the session from here would wait for ever.
    ///
    /// # Errors
    /// Whatever keeps it from being saved. The commit stands, and [`SessionStatus`](super::Status) says so.
    fn save(&self, value: &[u8]) -> Result<(), Box<dyn Error + Send + Sync>>;
}

/// How far the freshness of a store is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum AnchorStatus {
    /// The anchor was there when the store was unlocked, and is written with every commit.
    Active,
    /// There was none, or none that could be read, when the store was unlocked; it is written from now on.
    WasMissing,
    /// It could not be written, or the application's anchor could not be used.
    Failing,
    /// The store is in memory and has none.
    None,
}

/// What an anchor says of one commit.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(super) commit: u64,
    generation: u64,
    nonce: [u8; 24],
    tag: [u8; 16],
}

impl Mark {
    /// The mark of a commit whose root is stored as `root_value`.
    pub(crate) fn of(commit: u64, generation: u64, root_value: &[u8]) -> Option<Self> {
        let nonce = *root_value.get(1..)?.first_chunk::<24>()?;
        let tag = *root_value.last_chunk::<16>()?;
        Some(Self { commit, generation, nonce, tag })
    }

    fn slot(&self) -> AnchorSlot {
        if self.commit.is_multiple_of(2) { AnchorSlot::Even } else { AnchorSlot::Odd }
    }

    pub(super) fn encode(&self, key: &AnchorKey, store: &StoreId) -> Vec<u8> {
        let message = self.message();
        [message.encode().as_slice(), &key.mac(store, &message)].concat()
    }

    pub(super) fn decode(bytes: &[u8], key: &AnchorKey, store: &StoreId) -> Option<Self> {
        let (commit, rest) = bytes.split_first_chunk::<8>()?;
        let (generation, rest) = rest.split_first_chunk::<8>()?;
        let (nonce, rest) = rest.split_first_chunk::<24>()?;
        let (tag, rest) = rest.split_first_chunk::<16>()?;
        let mark = Self {
            commit: u64::from_le_bytes(*commit),
            generation: u64::from_le_bytes(*generation),
            nonce: *nonce,
            tag: *tag,
        };
        key.verify(store, &mark.message(), rest.first_chunk::<32>()?).then_some(mark)
    }

    fn message(&self) -> AnchorMessage {
        let Self { commit, generation, nonce, tag } = *self;
        AnchorMessage { commit, generation, nonce, tag }
    }
}

/// Reads and writes the anchors of one unlocked store.
pub(crate) struct Anchor {
    key: AnchorKey,
    store: StoreId,
    external: Option<Arc<dyn FreshnessAnchor>>,
    was_missing: bool,
    foreign: bool,
    /// The application's anchor could not be read. Then it is not written either in this session: its value may be newer
    /// than the store, and is the only thing that would tell.
    unread: bool,
    failing: AtomicBool,
}

impl Anchor {
    pub(crate) fn new(keys: &Unlocked, external: Option<Arc<dyn FreshnessAnchor>>) -> Self {
        let (key, store) = (keys.anchor_key(), keys.header().store());
        let failing = AtomicBool::new(false);
        let (was_missing, foreign, unread) = (false, false, false);
        Self { key, store, external, was_missing, foreign, unread, failing }
    }

    /// The anchor of the same store under the keys that it is going to have.
    pub(super) fn succeeded_by(&self, keys: &Unlocked) -> Self {
        let Self { was_missing, unread, .. } = *self;
        Self { was_missing, unread, ..Self::new(keys, self.external.clone()) }
    }

    /// Writes the mark of a state that is going to be under other keys, and leaves that of the present one in its place.
    ///
    /// # Errors
    /// [`StoreError::AnchorUnavailable`] if the application's anchor does not take part. It would call the new state
    /// foreign, and a copy from before, which opens with the old keys, the newest.
    pub(super) fn announce(
        &self,
        storage: &dyn Storage,
        now: &Mark,
        next: &Self,
        then: &Mark,
    ) -> Result<(), StoreError> {
        let announced = next.encode(then);
        // The number of a commit is one above the last, so this is the slot that the present mark is not in.
        let local = storage.write_anchor(then.slot(), &announced).is_ok();
        let both = [self.encode(now), announced].concat();
        let external = self.external.as_ref().is_none_or(|external| external.save(&both).is_ok());
        self.failing.store(!(local && external), Ordering::Relaxed);
        if external && !self.unread { Ok(()) } else { Err(StoreError::AnchorUnavailable) }
    }

    /// Whether the value that the application keeps, or the one beside the header, was written under other keys.
    pub(super) fn is_foreign(&self) -> bool {
        self.foreign
    }

    /// The newest commit that any anchor knows of. What cannot be read counts as missing: the anchor must not be one
    /// more thing whose damage makes a store unusable.
    pub(super) fn newest(&mut self, storage: &dyn Storage, generation: u64) -> Option<Mark> {
        let local = storage.read_anchor().unwrap_or_default();
        let newest = self.newest_of(local.iter().map(Vec::as_slice));
        self.was_missing = newest.is_none();
        // The generation that a mark names can be read without its key. If it is one that may have come after this, then
        // the header and the records were put back to before a rotation. Anything else is damage.
        self.foreign = newest.is_none()
            && local.iter().any(|slot| {
                let named = slot.get(8..).and_then(|rest| rest.first_chunk::<8>());
                let after = generation.saturating_add(1)..=generation.saturating_add(ROTATIONS);
                named.is_some_and(|named| after.contains(&u64::from_le_bytes(*named)))
            });
        let external = self.external.clone().and_then(|external| match external.load() {
            Ok(Some(value)) => {
                let mark = self.newest_of(value.chunks(MARK_BYTES));
                self.foreign |= mark.is_none();
                mark
            }
            Ok(None) => {
                self.was_missing = true;
                None
            }
            Err(_) => {
                self.unread = true;
                self.external = None;
                None
            }
        });
        newest.into_iter().chain(external).max_by_key(|mark| mark.commit)
    }

    /// Remembers a commit that is durable. Not synced but for the first of a session: if power fails first, the store
    /// is ahead of its anchor, which is no alarm.
    pub(crate) fn remember(&self, storage: &dyn Storage, mark: &Mark) {
        let bytes = self.encode(mark);
        let local = storage.write_anchor(mark.slot(), &bytes).is_ok();
        let external = self.external.as_ref().is_none_or(|external| external.save(&bytes).is_ok());
        self.failing.store(!(local && external), Ordering::Relaxed);
    }

    /// As [`remember`](Self::remember), and in both slots, so that nothing is left of roots before.
    pub(super) fn renew(&self, storage: &dyn Storage, mark: &Mark) {
        let bytes = self.encode(mark);
        for slot in [AnchorSlot::Even, AnchorSlot::Odd] {
            let _ = storage.write_anchor(slot, &bytes);
        }
        self.remember(storage, mark);
    }

    fn encode(&self, mark: &Mark) -> Vec<u8> {
        mark.encode(&self.key, &self.store)
    }

    fn newest_of<'v>(&self, values: impl Iterator<Item = &'v [u8]>) -> Option<Mark> {
        values
            .filter_map(|bytes| Mark::decode(bytes, &self.key, &self.store))
            .max_by_key(|mark| mark.commit)
    }

    pub(super) fn status(&self) -> AnchorStatus {
        if self.unread || self.failing.load(Ordering::Relaxed) {
            AnchorStatus::Failing
        } else if self.was_missing {
            AnchorStatus::WasMissing
        } else {
            AnchorStatus::Active
        }
    }
}

/// Whether a store whose newest commit has the mark `found` may be believed after `seen`.
pub(super) fn check(found: &Mark, seen: Option<&Mark>) -> Result<(), StoreError> {
    match seen {
        Some(seen)
            if seen.commit > found.commit || (seen.commit == found.commit && seen != found) =>
        {
            Err(StoreError::RolledBack { expected: seen.commit, found: found.commit })
        }
        _ => Ok(()),
    }
}

/// Generations that a store may have gone on by since a copy of it was made; random bytes hardly ever name one of them.
const ROTATIONS: u64 = 1 << 20;

/// Commit, generation, nonce, tag, MAC.
const MARK_BYTES: usize = 8 + 8 + 24 + 16 + 32;
