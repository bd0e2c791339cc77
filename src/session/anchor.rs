//! The anchor: a record of the newest commit, kept outside the engine.
//!
//! An engine whose log lost its end recovers to an older state and reports success. A whole folder can be replaced by
//! an older copy. The records show neither, because the older ones authenticate too. So after each synced commit, the
//! commit's number and the nonce and tag of its root are sealed into a slot beside the header. A store behind its
//! anchor was rolled back. A store ahead of its anchor lost power between the commit and the anchor's write, which is
//! normal.
//!
//! The two slots of the pair in use are written in turn, each with a sequence number. Only two slots of two writes in a row show that the store
//! is not older than its anchor. If one is missing, the newest mark may be the one that is missing, so the freshness of
//! the store is unknown. It opens, and its slots say from then on that its freshness is unknown, until somebody accepts
//! that on purpose.
//!
//! The anchor in the store's own folder detects accidents, and edits of single files. Anyone who can put back the whole
//! store can put back this anchor with it. An application that keeps the same value elsewhere, through
//! [`FreshnessAnchor`], detects that as well.
//!
//! A rotation changes the anchor key. Before a header names the new keys, the mark of the new state is written under them
//! beside the old marks, so each header that a crash can leave has marks of its own. Afterwards the old slots say, under
//! the old keys, that the store has other keys now. So a header and records from before a rotation are refused: the
//! rotation may have been meant to shut out the person who put them back. For the same reason an external value without
//! a mark under the store's keys is refused.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use self::block::{Block, Evidence, Pair};
pub use self::freshness_mark::{AnchorStatus, FreshnessMark};
pub(crate) use self::slot::Mark;
use self::slot::SEALED_BYTES;
pub(super) use self::slot::{Slot, Trust};
use crate::session::error::StoreError;
use crate::session::sync::{Mutex, lock};
use inmost_format::crypto::aead::SealError;
use inmost_format::crypto::ids::StoreId;
use inmost_format::crypto::keys::AnchorKey;
use inmost_format::header::Unlocked;
use inmost_format::secret::Granted;
use inmost_storage::Storage;

mod block;
pub(crate) mod file_anchor;
#[cfg(test)]
mod format_example;
pub(crate) mod freshness;
mod freshness_mark;
#[cfg(feature = "internals")]
pub(crate) mod fuzzed;
mod slot;
#[cfg(test)]
mod vectors;

/// Storage outside the store for the mark of its newest commit, kept by the application.
///
/// The value is sealed, so it need not be kept secret. It only has to be harder to roll back than the store: on another
/// disk, in a keyring, on a server. One value belongs to one store.
pub trait FreshnessAnchor: Send + Sync {
    /// Returns the value that was saved last, or `None` if none was ever saved. A value of another store, or under
    /// other keys, keeps the store from opening ([`StoreError::ForeignAnchor`]).
    ///
    /// # Errors
    /// Any reason why it cannot be read. The store opens, and [`SessionStatus`](crate::session::SessionStatus) says so.
    fn load(&self) -> Result<Option<Vec<u8>>, Box<dyn Error + Send + Sync>>;

    /// Replaces the saved value. It has 120 bytes, or 240 during a rotation of the keys.
    ///
    /// This is called after every durable commit, by one thread at a time, while the session's locks are held. Calling
    /// the session from here would deadlock.
    ///
    /// # Errors
    /// Any reason why the value cannot be saved. The commit stands, and [`SessionStatus`](crate::session::SessionStatus) reports it.
    fn save(&self, value: &[u8]) -> Result<(), Box<dyn Error + Send + Sync>>;

    /// As [`save`](Self::save) for the mark of this commit, unless that of a later commit was saved before, which then stays.
    /// An anchor that several hosts share implements this in one step, such as `UPDATE .. WHERE commit <= $1`. A second value
    /// for the same commit must replace the first: that is how a rotation ends the old keys. The default is `save`, which is
    /// right where one host at a time has the store.
    ///
    /// # Errors
    /// Those of [`save`](Self::save).
    fn advance(&self, _commit: u64, value: &[u8]) -> Result<(), Box<dyn Error + Send + Sync>> {
        self.save(value)
    }
}

/// Reads and writes the anchors of one unlocked store.
pub(crate) struct Anchor {
    key: AnchorKey,
    store: StoreId,
    external: Option<Arc<dyn FreshnessAnchor>>,
    held: Mutex<Held>,
    /// The slots and the application's value, as they were when the store was opened.
    opened: (Option<Evidence>, Option<Slot>),
    /// A mark that the store must have reached.
    required: Option<Slot>,
    /// The application's value, or the slots, are of other keys.
    is_foreign: bool,
    /// The application's anchor had no value.
    was_missing: bool,
    /// The application's anchor could not be read. In this session it is not written either: its value may be newer
    /// than the store, and then it is the only evidence of a rollback.
    unread: bool,
    failing: AtomicBool,
}

/// The block as it is, or is to be, beside the header.
#[derive(Clone)]
struct Held {
    block: Block,
    /// The pair in use.
    pair: Pair,
    /// Of the next write.
    sequence: u64,
    /// Whether the pair in use holds the marks of two writes in a row, in the present trust.
    is_paired: bool,
    is_known: bool,
    /// The sequence of the last write that is known to be on the disk.
    synced: u64,
    /// Whether this session has synced a write.
    has_synced: bool,
    /// Writes of this session, since one failed.
    writes: u64,
}

impl Anchor {
    /// The anchor of a new store, whose freshness is known.
    pub(crate) fn new(keys: &Unlocked, external: Option<Arc<dyn FreshnessAnchor>>) -> Self {
        let held = Held {
            block: Block::empty(),
            pair: Pair::First,
            sequence: 0,
            is_paired: false,
            is_known: true,
            synced: 0,
            has_synced: false,
            writes: 0,
        };
        Self {
            key: keys.anchor_key(),
            store: keys.header().store(),
            external,
            held: Mutex::new(held),
            opened: (None, None),
            required: None,
            is_foreign: false,
            was_missing: false,
            unread: false,
            failing: AtomicBool::new(false),
        }
    }

    /// The anchor of a copy of the store in another place, whose freshness is as well known as that of this store.
    pub(crate) fn of_copy(&self, keys: &Unlocked) -> Self {
        let copy = Self::new(keys, None);
        lock(&copy.held).is_known = lock(&self.held).is_known;
        copy
    }

    /// The anchor of the same store under its next keys. It uses the other pair of slots.
    fn succeeded_by(&self, keys: &Unlocked) -> Self {
        let mut held = lock(&self.held).clone();
        held.pair = held.pair.other();
        held.is_paired = false;
        let Self { was_missing, unread, .. } = *self;
        let held = Mutex::new(held);
        Self { held, was_missing, unread, ..Self::new(keys, self.external.clone()) }
    }

    /// As `succeeded_by`, when the next keys are in use. The next write says under the present keys, whose last mark is
    /// `last`, that they are retired.
    pub(super) fn retired_for(&self, keys: &Unlocked, last: Option<&Mark>) -> Self {
        let next = self.succeeded_by(keys);
        if let Some(last) = last {
            let retired = |block: &mut Block, pair, sequence| {
                let (trust, mark) = (Trust::Retired, *last);
                let slot = Slot { sequence, trust, is_announced: false, mark };
                block.put(pair, &slot, &self.key, self.store)
            };
            let mut held = lock(&next.held);
            let (pair, sequence) = (held.pair.other(), held.sequence);
            let both = [sequence, sequence.saturating_add(1)];
            if both.into_iter().try_for_each(|it| retired(&mut held.block, pair, it)).is_err() {
                held.block.erase(pair);
            }
        }
        next
    }

    /// Writes the mark of a future state under other keys, and keeps the marks of the present state beside it.
    ///
    /// # Errors
    /// [`StoreError::AnchorUnavailable`] if the application's anchor cannot be read or written. Its value would then be
    /// foreign to the new state, while an older copy, which opens with the old keys, would count as the newest.
    pub(super) fn announce(
        &self,
        storage: &dyn Storage,
        now: &Mark,
        keys: &Unlocked,
        then: &Mark,
    ) -> Result<(), StoreError> {
        let next = self.succeeded_by(keys);
        let announced = {
            let mut held = lock(&next.held);
            let sealed = next.put(&mut held, then, true);
            sealed.and_then(|()| Ok((held.block.clone(), next.seal_external(&held, then)?)))
        };
        let Ok((block, value)) = announced else { return Err(StoreError::RandomnessFailed) };
        let mut held = lock(&self.held);
        held.block = block;
        // Synced, because the header that names the next keys will be.
        let local = storage.write_anchor_durably(held.block.bytes()).is_ok();
        let external = self.external.as_ref().is_none_or(|external| {
            let present = self.seal_external(&held, now);
            present.is_ok_and(|present| {
                external.advance(then.commit, &[present, value].concat()).is_ok()
            })
        });
        self.failing.store(!(local && external), Ordering::Relaxed);
        if external && !self.unread { Ok(()) } else { Err(StoreError::AnchorUnavailable) }
    }

    /// Reads the slots beside the header. What cannot be read counts as missing, so that damage to the anchor cannot
    /// make a store unusable.
    pub(super) fn load(&mut self, storage: &dyn Storage) {
        let stored = storage.read_anchor().unwrap_or_default().unwrap_or_default();
        let block = Block::of(&stored);
        let found = block.open(&self.key, self.store);
        let mut held = lock(&self.held);
        held.block = block;
        if let Some((pair, newest)) = found.newest() {
            held.pair = *pair;
            held.sequence = newest.sequence.saturating_add(1);
        }
        held.is_paired = found.are_neighbours();
        held.is_known = found.is_known();
        if found.is_announced() {
            // The slots of the old keys still open to anyone who has those keys, and say that nothing has changed.
            let old = held.pair.other();
            held.block.erase(old);
            held.is_paired = false;
        }
        self.is_foreign = found.is_retired();
        drop(held);
        self.opened.0 = Some(found);
    }

    /// Reads the application's anchor.
    pub(super) fn load_external(&mut self) {
        let Some(external) = self.external.clone() else { return };
        match external.load() {
            Ok(Some(value)) => {
                // An interrupted rotation leaves two marks, the second one under other keys.
                let open = |sealed| Slot::open(sealed, &self.key, self.store, EXTERNAL_INDEX);
                let slots = value.chunks(SEALED_BYTES).filter_map(open);
                let newest = slots.max_by_key(|slot| slot.mark.commit);
                self.is_foreign |= newest.is_none();
                if value.len() != SEALED_BYTES {
                    lock(&self.held).is_paired = false;
                }
                self.opened.1 = newest;
            }
            Ok(None) => self.was_missing = true,
            Err(_) => {
                self.unread = true;
                self.external = None;
            }
        }
    }

    /// Compares the slots with what the root says: that the anchor had been written so often, and was on the disk. Slots from
    /// before that were put back, and show nothing.
    pub(crate) fn check_sequence(&self, anchored: u64) {
        let newest = self.opened.0.as_ref().and_then(Evidence::newest);
        let is_older = newest.is_none_or(|(_, slot)| slot.sequence < anchored);
        self.continue_after(anchored);
        let mut held = lock(&self.held);
        held.synced = anchored;
        held.is_known &= !is_older;
    }

    /// Gives the next write a sequence above this one.
    pub(crate) fn continue_after(&self, anchored: u64) {
        let mut held = lock(&self.held);
        if held.sequence <= anchored && anchored > 0 {
            held.sequence = anchored.saturating_add(1);
            held.is_paired = false;
        }
    }

    /// Compares the store's newest commit with every mark that was read.
    ///
    /// # Errors
    /// [`StoreError::ForeignAnchor`], [`StoreError::RolledBack`].
    pub(super) fn check(&mut self, found: &Mark) -> Result<(), StoreError> {
        if self.is_foreign {
            return Err(StoreError::ForeignAnchor);
        }
        if self.seen().any(|mark| mark.is_missing_from(found)) {
            let expected = self.newest_commit().unwrap_or(found.commit);
            return Err(StoreError::RolledBack { expected, found: found.commit });
        }
        let vouched = self.opened.1.is_some_and(|external| {
            // A session that has the application's anchor saves each commit there, so nothing is missing behind its mark
            // but commits of sessions without it. A store ahead of the mark had such sessions: then it shows nothing.
            external.trust == Trust::Known && external.mark == *found
        });
        let mut held = lock(&self.held);
        if vouched && !held.is_known {
            held.is_known = true;
            held.is_paired = false;
        }
        Ok(())
    }

    /// # Errors
    /// [`StoreError::FreshnessUnknown`], unless every anchor shows that the store is the newest.
    pub(super) fn require_fresh(&self) -> Result<(), StoreError> {
        match self.status() {
            AnchorStatus::Known => Ok(()),
            _ => Err(StoreError::FreshnessUnknown),
        }
    }

    /// Takes the store as it is, as somebody has decided. The next write leaves nothing of what was read before.
    pub(super) fn accept(&mut self) {
        let mut held = lock(&self.held);
        held.is_known = true;
        held.is_paired = false;
        let other = held.pair.other();
        held.block.erase(other);
    }

    /// Begins the sequences of a repaired store, whose header will have this revision. Returns what its root says of the anchor. That
    /// is above every sequence that the store has used, also if who provoked the repair has removed the slots and the root: no
    /// store writes 2^40 marks under one header.
    pub(crate) fn skip_for_repaired(&self, revision: u64) -> u64 {
        let anchored = revision.saturating_mul(1 << 40).max(lock(&self.held).sequence);
        self.continue_after(anchored);
        anchored
    }

    /// From here on the freshness of the store is unknown, until somebody accepts it. Writes that beside the newest mark.
    pub(crate) fn doubt(&self, storage: &dyn Storage) {
        lock(&self.held).is_known = false;
        if let Some(newest) = self.seen().max_by_key(|mark| mark.commit) {
            self.renew(storage, newest);
        }
    }

    /// Whether an anchor was written under other keys.
    pub(crate) fn is_foreign(&self) -> bool {
        self.is_foreign
    }

    /// The highest number of a commit in any anchor when the store was opened.
    pub(crate) fn newest_commit(&self) -> Option<u64> {
        self.seen().map(|mark| mark.commit).max()
    }

    /// The highest revision of a header in any anchor when the store was opened.
    pub(crate) fn newest_revision(&self) -> Option<u64> {
        self.seen().map(|mark| mark.revision).max()
    }

    fn seen(&self) -> impl Iterator<Item = &Mark> {
        let (local, external) = &self.opened;
        let slots = external.iter().chain(&self.required);
        local.iter().flat_map(Evidence::marks).chain(slots.map(|slot| &slot.mark))
    }

    /// The marks of commits that the store must hold: those of the application's anchor and of a user's device.
    pub(in crate::session) fn required(&self) -> impl Iterator<Item = &Mark> {
        let slots = self.opened.1.iter().chain(&self.required);
        slots.filter(|slot| !slot.is_announced).map(|slot| &slot.mark)
    }

    /// Whether every anchor held this mark when the store was opened, and nothing has to be written again.
    pub(super) fn holds(&self, mark: &Mark) -> bool {
        let (local, external) = &self.opened;
        let newest = local.as_ref().and_then(Evidence::newest).map(|(_, slot)| &slot.mark);
        let external = external.as_ref().map(|slot| &slot.mark);
        lock(&self.held).is_paired
            && newest == Some(mark)
            && (self.external.is_none() || external == Some(mark))
    }

    /// Writes the mark of a durable commit. The first write of a session is synced, and then one of [`SYNC_EVERY`]: if power fails
    /// before a later one is stored, the store is ahead of its anchor by so many commits at most.
    pub(crate) fn remember(&self, storage: &dyn Storage, mark: &Mark) {
        self.write_mark(storage, mark, false);
    }

    fn write_mark(&self, storage: &dyn Storage, mark: &Mark, is_durable: bool) {
        let mut held = lock(&self.held);
        let sealed = self.put(&mut held, mark, false);
        let is_due = held.writes.is_multiple_of(SYNC_EVERY);
        let local = sealed.is_ok()
            && if is_durable || is_due {
                held.write_durably(storage)
            } else {
                storage.write_anchor(held.block.bytes()).is_ok()
            };
        held.writes = if local { held.writes.saturating_add(1) } else { 0 };
        let external = self.external.as_ref().is_none_or(|external| {
            let value = self.seal_external(&held, mark);
            value.is_ok_and(|value| external.advance(mark.commit, &value).is_ok())
        });
        self.failing.store(!(local && external), Ordering::Relaxed);
    }

    /// As [`remember`](Self::remember), but into both slots, and synced: no mark of an earlier root remains, and after a
    /// rotation none that says that the old keys are in use.
    pub(crate) fn renew(&self, storage: &dyn Storage, mark: &Mark) {
        lock(&self.held).is_paired = false;
        self.write_mark(storage, mark, true);
    }

    /// The sequence of the last write that is known to be on the disk, for the next root. What an earlier session has left may be
    /// in the page cache only, so a session writes it again before its first commit, and syncs it.
    pub(crate) fn anchored(&self, storage: &dyn Storage) -> u64 {
        if !lock(&self.held).has_synced {
            self.sync(storage);
        }
        lock(&self.held).synced
    }

    /// Makes the present slots durable, unless they show nothing.
    pub(crate) fn sync(&self, storage: &dyn Storage) {
        let mut held = lock(&self.held);
        if held.is_paired && held.is_known && (held.unsynced() > 0 || !held.has_synced) {
            held.write_durably(storage);
        }
    }

    /// The block, if this session has written it since it was last synced.
    pub(crate) fn unsynced(&self) -> Option<Vec<u8>> {
        let held = lock(&self.held);
        (held.has_synced && held.unsynced() > 0).then(|| held.block.bytes().to_vec())
    }

    /// Puts a mark into the next slot of the pair in use, or into both if the pair does not hold two writes in a row.
    fn put(&self, held: &mut Held, mark: &Mark, is_announced: bool) -> Result<(), SealError> {
        let writes = if held.is_paired { 1 } else { 2 };
        for _ in 0..writes {
            let slot = Slot { is_announced, ..held.slot(mark) };
            held.block.put(held.pair, &slot, &self.key, self.store)?;
            held.sequence = held.sequence.saturating_add(1);
        }
        held.is_paired = true;
        Ok(())
    }

    fn seal_external(&self, held: &Held, mark: &Mark) -> Result<[u8; SEALED_BYTES], SealError> {
        // It accompanies the slot that was written last.
        let sequence = held.sequence.saturating_sub(1);
        Slot { sequence, ..held.slot(mark) }.seal(&self.key, self.store, EXTERNAL_INDEX)
    }

    /// The protections of its key's memory.
    pub(super) fn granted(&self) -> Granted {
        self.key.granted()
    }

    pub(super) fn status(&self) -> AnchorStatus {
        if !lock(&self.held).is_known {
            AnchorStatus::Unknown
        } else if self.unread || self.failing.load(Ordering::Relaxed) {
            AnchorStatus::Failing
        } else if self.was_missing {
            AnchorStatus::WasMissing
        } else {
            AnchorStatus::Known
        }
    }
}

impl Held {
    /// Writes since the last one that is known to be on the disk.
    fn unsynced(&self) -> u64 {
        self.sequence.saturating_sub(1).saturating_sub(self.synced)
    }

    fn write_durably(&mut self, storage: &dyn Storage) -> bool {
        self.has_synced = storage.write_anchor_durably(self.block.bytes()).is_ok();
        if self.has_synced {
            self.synced = self.sequence.saturating_sub(1);
        }
        self.has_synced
    }

    fn slot(&self, mark: &Mark) -> Slot {
        let trust = if self.is_known { Trust::Known } else { Trust::Unknown };
        Slot { sequence: self.sequence, trust, is_announced: false, mark: *mark }
    }
}

/// The anchor is synced after so many commits.
const SYNC_EVERY: u64 = 64;
/// The index of a value that the application keeps.
const EXTERNAL_INDEX: u8 = 4;
