//! Finds the entries of a journal that the engine may lack, and tells a torn entry from damage.
//!
//! An entry is written only when the one before it is synced. So one entry at most can be torn, the last one, and it was
//! never acknowledged. A bad entry with a later one behind it is damage. A bad last entry may be either: then the root
//! is older than the anchor if the entry was acknowledged, and the store above reports a rollback. Does no I/O.

use super::layout::{
    BLOCK, EntryHeader, JournalId, Layer, Position, decode_changes, decode_header, half_of,
};
use inmost_storage::Address;

/// One epoch that the engine may lack.
#[derive(Debug, Default)]
pub(super) struct Epoch {
    /// Every change, the last one of each address.
    pub(super) changes: Layer,
    /// The address of the root record, if an entry names it.
    pub(super) root: Option<Address>,
    /// Bytes of its entries in its half.
    pub(super) length: usize,
    /// Where its last entry begins in its half.
    pub(super) last_entry: Option<usize>,
}

/// What a journal holds beyond the position that its slots name.
#[derive(Debug)]
pub(super) struct Replay {
    /// The epoch that was being written to the engine, if the next one has begun.
    pub(super) frozen: Option<Epoch>,
    /// The epoch that commits were being appended to.
    pub(super) active: Epoch,
    /// The position of `active`: its epoch, and the last entry of all.
    pub(super) position: Position,
    /// The same for `frozen`.
    pub(super) frozen_position: Position,
}

impl Replay {
    /// Ends the first epoch, as the writer had before it wrote a mark of it to the engine. No commit may be appended to an
    /// epoch that a mark names: the next opening would take it for a part of what the engine has.
    pub(super) fn freeze_first(self) -> Self {
        if self.frozen.is_some() {
            return self;
        }
        let frozen_position = self.position;
        let position =
            Position { epoch: frozen_position.epoch.saturating_add(1), ..frozen_position };
        Self { frozen: Some(self.active), active: Epoch::default(), position, frozen_position }
    }
}

/// A journal that lost an acknowledged entry, or does not belong to its engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Damage(pub(super) &'static str);

/// Reads everything after `stored` from the two halves.
pub(super) fn replay(
    halves: [&[u8]; 2],
    id: &JournalId,
    stored: &Position,
) -> Result<Replay, Damage> {
    let first = Walk::of(halves, id, stored.epoch.saturating_add(1));
    let second = Walk::of(halves, id, stored.epoch.saturating_add(2));
    if first.newest().max(second.newest()) > stored.epoch.saturating_add(2) {
        return Err(Damage(OLDER_ENGINE));
    }
    let (older, position) = first.read(stored)?;
    if !second.has_begun() {
        let frozen_position = *stored;
        return Ok(Replay { frozen: None, active: older, position, frozen_position });
    }
    let (active, newest) = second.read(&position)?;
    Ok(Replay { frozen: Some(older), active, position: newest, frozen_position: position })
}

/// Reads one epoch from its half.
struct Walk<'b> {
    half: &'b [u8],
    epoch: u64,
    /// Every readable header in the half, at the block where it begins.
    headers: Vec<(usize, EntryHeader)>,
}

impl<'b> Walk<'b> {
    fn of(halves: [&'b [u8]; 2], id: &JournalId, epoch: u64) -> Self {
        let [even, odd] = halves;
        let half = if half_of(epoch) == 0 { even } else { odd };
        let blocks = half.chunks(BLOCK).enumerate();
        let headers = blocks
            .filter_map(|(block, bytes)| {
                Some((block.checked_mul(BLOCK)?, decode_header(bytes, id)?))
            })
            .collect();
        Self { half, epoch, headers }
    }

    /// The newest epoch that the half holds anything of.
    fn newest(&self) -> u64 {
        self.headers.iter().map(|(_, header)| header.epoch).max().unwrap_or_default()
    }

    fn has_begun(&self) -> bool {
        self.headers.iter().any(|(_, header)| header.epoch == self.epoch)
    }

    /// Reads the entries that follow `before`, and returns the position of the last one.
    fn read(&self, before: &Position) -> Result<(Epoch, Position), Damage> {
        let mut found = Epoch::default();
        let mut position = Position { epoch: self.epoch, ..*before };
        while let Some((header, changes)) = self.entry_at(found.length, &position)? {
            found.changes.extend(changes);
            found.root = header.root.or(found.root);
            found.last_entry = Some(found.length);
            found.length = found.length.saturating_add(header.padded());
            position.sequence = header.sequence;
        }
        let next = position.sequence.saturating_add(1);
        // A header of the next number is the entry that was being written. Any later one proves that an entry before it
        // was acknowledged and is lost.
        let lost = self
            .headers
            .iter()
            .filter(|(at, header)| *at >= found.length && header.epoch == self.epoch)
            .any(|(at, header)| *at != found.length || header.sequence != next);
        if lost { Err(Damage(LOST_ENTRY)) } else { Ok((found, position)) }
    }

    /// The entry after `position`, if one that is whole begins here.
    fn entry_at(
        &self,
        at: usize,
        position: &Position,
    ) -> Result<Option<(EntryHeader, Layer)>, Damage> {
        let Some((_, header)) = self.headers.iter().find(|(start, _)| *start == at) else {
            return Ok(None);
        };
        if header.epoch != self.epoch || header.sequence != position.sequence.saturating_add(1) {
            return Ok(None);
        }
        let bytes = self.half.get(at..at.saturating_add(header.padded())).unwrap_or_default();
        let Some(changes) = decode_changes(header, bytes) else { return Ok(None) };
        // The engine must hold exactly the batches that had bypassed the journal when this entry was written. A torn entry
        // does not count: it stays where it is while the next batch bypasses the journal.
        if header.bypassed != position.bypassed {
            return Err(Damage(OLDER_ENGINE));
        }
        Ok(Some((*header, changes)))
    }
}

const LOST_ENTRY: &str = "an entry of the journal is damaged";
pub(super) const OLDER_ENGINE: &str = "the engine's records are older than the journal; they are from different copies of the store, or the end of the engine's log was lost";
pub(super) const OLDER_JOURNAL: &str =
    "the journal is older than the engine's records; they are from different copies of the store";
