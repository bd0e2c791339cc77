//! The anchor: a record of the newest commit, kept outside the engine.
//!
//! An engine whose log lost its end recovers to an older state and reports success. A whole folder can be replaced by
//! an older copy. The records show neither, because the older ones authenticate too. So after each synced commit, the
//! commit's number and the nonce and tag of its root are written beside the header, under a MAC. A store behind its
//! anchor was rolled back. A store ahead of its anchor lost power between the commit and the anchor's write, which is
//! normal.
//!
//! The anchor in the store's own folder detects accidents only: anyone who can roll back the store can roll back this
//! anchor with it. An application that keeps the same value elsewhere, through [`FreshnessAnchor`], detects that as
//! well.
//!
//! A rotation changes the MAC key. Before a header names the new keys, the mark of the new state is written under them
//! beside the old mark, so each header that a crash can leave has a mark of its own. An external value without a mark
//! under the store's keys is therefore refused: the store may be a copy from before a rotation, brought back by an
//! attacker whom the rotation was meant to shut out. In the local file it counts as a missing anchor, as any damage
//! does.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::error::StoreError;
use inmost_format::crypto::fixed_width::FixedWidth;
use inmost_format::crypto::keys::AnchorKey;
use inmost_format::crypto::registry::AnchorMessage;
use inmost_format::crypto::store_id::StoreId;
use inmost_format::header::Unlocked;
use inmost_format::secret::Granted;
use inmost_storage::{AnchorSlot, Storage};

/// Storage outside the store for the mark of its newest commit, kept by the application.
///
/// The value need not be secret. It only has to be harder to roll back than the store: on another disk, in a keyring,
/// on a server. One value belongs to one store.
pub trait FreshnessAnchor: Send + Sync {
    /// Returns the value that was saved last, or `None` if none was ever saved. A value of another store, or under
    /// other keys, keeps the store from opening ([`StoreError::ForeignAnchor`]).
    ///
    /// # Errors
    /// Any reason why the value cannot be read. The store opens all the same, and [`SessionStatus`](super::SessionStatus)
    /// reports it.
    fn load(&self) -> Result<Option<Vec<u8>>, Box<dyn Error + Send + Sync>>;

    /// Replaces the saved value. It has 88 bytes, or 176 during a rotation of the keys.
    ///
    /// This is called after every durable commit, by one thread at a time, while the session's locks are held. Calling
    /// the session from here would deadlock.
    ///
    /// # Errors
    /// Any reason why the value cannot be saved. The commit stands, and [`SessionStatus`](super::SessionStatus) reports it.
    fn save(&self, value: &[u8]) -> Result<(), Box<dyn Error + Send + Sync>>;
}

/// Whether the freshness of a store is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum AnchorStatus {
    /// The anchor was present when the store was unlocked, and is written with every commit.
    Active,
    /// No readable anchor was found when the store was unlocked. It is written from now on.
    WasMissing,
    /// The anchor could not be written, or the application's anchor could not be used.
    Failing,
    /// The store is in memory and has no anchor.
    None,
}

/// The anchor's record of one commit.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(super) commit: u64,
    generation: u64,
    nonce: [u8; 24],
    tag: [u8; 16],
}

impl Mark {
    /// The number of the commit.
    pub(crate) fn commit(&self) -> u64 {
        self.commit
    }

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
    /// The newest marks when the store was opened: beside the header, and in the application's anchor.
    opened: (Option<Mark>, Option<Mark>),
    /// The application's anchor could not be read. In this session it is not written either: its value may be newer
    /// than the store, and then it is the only evidence of a rollback.
    unread: bool,
    failing: AtomicBool,
}

impl Anchor {
    pub(crate) fn new(keys: &Unlocked, external: Option<Arc<dyn FreshnessAnchor>>) -> Self {
        let (key, store) = (keys.anchor_key(), keys.header().store());
        let failing = AtomicBool::new(false);
        let (was_missing, foreign, unread) = (false, false, false);
        let opened = (None, None);
        Self { key, store, external, was_missing, foreign, opened, unread, failing }
    }

    /// The anchor of the same store under its next keys.
    pub(super) fn succeeded_by(&self, keys: &Unlocked) -> Self {
        let Self { was_missing, unread, .. } = *self;
        Self { was_missing, unread, ..Self::new(keys, self.external.clone()) }
    }

    /// Writes the mark of a future state under other keys, and keeps the mark of the present state beside it.
    ///
    /// # Errors
    /// [`StoreError::AnchorUnavailable`] if the application's anchor cannot be read or written. Its value would then be
    /// foreign to the new state, while an older copy, which opens with the old keys, would count as the newest.
    pub(super) fn announce(
        &self,
        storage: &dyn Storage,
        now: &Mark,
        next: &Self,
        then: &Mark,
    ) -> Result<(), StoreError> {
        let announced = next.encode(then);
        // Commit numbers rise by one, so this is not the slot of the present mark.
        let local = storage.write_anchor(then.slot(), &announced).is_ok();
        let both = [self.encode(now), announced].concat();
        let external = self.external.as_ref().is_none_or(|external| external.save(&both).is_ok());
        self.failing.store(!(local && external), Ordering::Relaxed);
        if external && !self.unread { Ok(()) } else { Err(StoreError::AnchorUnavailable) }
    }

    /// Whether the application's value, or the one beside the header, was written under other keys.
    pub(crate) fn is_foreign(&self) -> bool {
        self.foreign
    }

    /// The newest commit in any anchor. An unreadable anchor counts as missing, so that damage to it cannot make a
    /// store unusable.
    pub(crate) fn newest(&mut self, storage: &dyn Storage, generation: u64) -> Option<Mark> {
        let local = storage.read_anchor().unwrap_or_default();
        let newest = self.newest_of(local.iter().map(Vec::as_slice));
        self.was_missing = newest.is_none();
        // The generation in a mark can be read without the key. If that generation may have come after this one, the
        // header and the records were restored from before a rotation. Any other number is damage.
        self.foreign = newest.is_none()
            && local.iter().any(|slot| {
                let named = slot.get(8..).and_then(|rest| rest.first_chunk::<8>());
                let after = generation.saturating_add(1)..=generation.saturating_add(ROTATIONS);
                named.is_some_and(|named| after.contains(&u64::from_le_bytes(*named)))
            });
        // An interrupted rotation leaves two marks, the second one under other keys.
        let mut is_alone = false;
        let external = self.external.clone().and_then(|external| match external.load() {
            Ok(Some(value)) => {
                is_alone = value.len() == MARK_BYTES;
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
        self.opened = (newest, external.filter(|_| is_alone));
        newest.into_iter().chain(external).max_by_key(|mark| mark.commit)
    }

    /// Whether every anchor held this mark when the store was opened.
    pub(super) fn holds(&self, mark: &Mark) -> bool {
        let (local, external) = &self.opened;
        local.as_ref() == Some(mark) && (self.external.is_none() || external.as_ref() == Some(mark))
    }

    /// Writes the mark of a durable commit. Only the first write of a session is synced: if power fails before a later
    /// one is stored, the store is ahead of its anchor, which is accepted.
    pub(crate) fn remember(&self, storage: &dyn Storage, mark: &Mark) {
        let bytes = self.encode(mark);
        let local = storage.write_anchor(mark.slot(), &bytes).is_ok();
        let external = self.external.as_ref().is_none_or(|external| external.save(&bytes).is_ok());
        self.failing.store(!(local && external), Ordering::Relaxed);
    }

    /// As [`remember`](Self::remember), but writes both slots, so that no mark of an earlier root remains.
    pub(crate) fn renew(&self, storage: &dyn Storage, mark: &Mark) {
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

    /// The protections of its key's memory.
    pub(super) fn granted(&self) -> Granted {
        self.key.granted()
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

/// Checks the mark `found` of a store's newest commit against the newest mark `seen` in any anchor.
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

/// The most generations by which a store can be ahead of a copy of it. Random bytes hardly ever name one of them.
const ROTATIONS: u64 = 1 << 20;

/// Commit, generation, nonce, tag, MAC.
const MARK_BYTES: usize = 8 + 8 + 24 + 16 + 32;
