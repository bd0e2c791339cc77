//! The bytes of a journal: two slots, then two halves of equal length, which hold entries.
//!
//! A slot says which entries are in the engine already. An entry is one commit. Both are checked by a CRC-32, as in the
//! logs of most databases: it detects torn writes and damage, and does not stop an attacker. A slot has a MAC too: who
//! could write one would cut the engine's log back to where it ended on an earlier day. The values in entries are sealed,
//! and the tree above them and the anchor detect any value that was replaced or put back.
//!
//! docs/FORMAT.md describes the same bytes. Does no I/O.

use std::collections::{BTreeMap, BTreeSet};

use crate::local_engine::Frontier;
use inmost_storage::limits::{BATCH_RECORDS_MAX, RECORD_VALUE_BYTES};
use inmost_storage::{Address, Batch, JournalMac, SlotFields};

/// The unit of the layout, in bytes: the block of most file systems. Entries begin at its multiples, so that writing one
/// never rewrites a block of another.
pub(super) const BLOCK: usize = 4_096;
/// Bytes before the first half: the two slots.
pub(super) const SLOTS_BYTES: usize = 2 * BLOCK;

/// The random name of a journal. Its slots, its entries and the mark in its engine all hold it, so nothing of another
/// journal is ever taken for a part of this one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct JournalId(pub(super) [u8; 16]);

/// The new value of a record; `None` removes it.
pub(super) type Change = Option<Vec<u8>>;

/// Changes by address.
pub(super) type Layer = BTreeMap<Address, Change>;

/// The place of the newest slot of a journal, and the slot.
pub(super) fn newest_slot(bytes: &[u8], mac: &dyn JournalMac) -> Result<(Place, Slot), BadSlots> {
    let mut newest = None::<(Place, Slot)>;
    for (place, block) in [Place::First, Place::Second].into_iter().zip(bytes.chunks(BLOCK)) {
        // A torn write has no valid checksum.
        let Some(slot) = Slot::decode(block) else { continue };
        if !Slot::is_authentic(block, place, mac) {
            return Err(BadSlots::Forged);
        }
        newest = match newest {
            Some((_, first)) if (first.id, first.half_blocks) != (slot.id, slot.half_blocks) => {
                return Err(BadSlots::OfTwoJournals);
            }
            Some((_, first)) if slot.revision <= first.revision => newest,
            _ => Some((place, slot)),
        };
    }
    newest.ok_or(BadSlots::Damaged)
}

/// Why the slots of a journal are not used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum BadSlots {
    /// Both are damaged.
    Damaged,
    /// One has a right checksum and a wrong MAC.
    Forged,
    /// They are of two journals.
    OfTwoJournals,
}

/// The places of the two slots.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Place {
    First,
    Second,
}

impl Place {
    pub(super) fn other(self) -> Self {
        match self {
            Self::First => Self::Second,
            Self::Second => Self::First,
        }
    }

    /// Where it begins in the file.
    pub(super) fn offset(self) -> usize {
        match self {
            Self::First => 0,
            Self::Second => BLOCK,
        }
    }

    fn number(self) -> u8 {
        match self {
            Self::First => 0,
            Self::Second => 1,
        }
    }
}

/// How far the engine is: the epoch and the sequence number of the last entry that it holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Position {
    /// An epoch is one filling of a half. Epoch `e` uses half `e % 2`.
    pub(super) epoch: u64,
    /// Entries are numbered from 1, through all epochs.
    pub(super) sequence: u64,
    /// Batches that were too large for the journal and went to the engine directly.
    pub(super) bypassed: u64,
}

/// One of the two slots.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Slot {
    pub(super) id: JournalId,
    /// The newest slot has the highest.
    pub(super) revision: u64,
    /// Blocks of a half.
    pub(super) half_blocks: u32,
    pub(super) stored: Position,
    /// A position in the engine's own files, which the engine verifies when it is opened. Not used here.
    pub(super) frontier: Frontier,
}

impl Slot {
    /// The bytes of this slot at a place.
    pub(super) fn encode(&self, place: Place, mac: &dyn JournalMac) -> Vec<u8> {
        let mut bytes = Writer(Vec::with_capacity(BLOCK));
        bytes.put(&SLOT_MAGIC);
        bytes.put(&VERSION.to_le_bytes());
        bytes.put(&[0; 2]);
        bytes.put(&self.half_blocks.to_le_bytes());
        bytes.put(&self.id.0);
        bytes.put_position(&self.stored);
        bytes.put(&self.frontier.position.to_le_bytes());
        bytes.put(&self.frontier.proof);
        bytes.put(&self.revision.to_le_bytes());
        let mac = bytes.0.first_chunk().map(|fields| mac.mac(place.number(), fields));
        bytes.put(&mac.unwrap_or_default());
        bytes.0.resize(BLOCK - CHECKSUM, 0);
        bytes.put_checksum(0);
        bytes.0
    }

    /// Whether a slot that was read from this place was written there by a holder of the key.
    pub(super) fn is_authentic(block: &[u8], place: Place, mac: &dyn JournalMac) -> bool {
        let mut bytes = Reader(block);
        let fields: Option<SlotFields> = bytes.take();
        let parts = fields.zip(bytes.take());
        parts.is_some_and(|(fields, found)| mac.verify(place.number(), &fields, &found))
    }

    /// Writes the MAC of a slot into its bytes.
    #[cfg(any(test, feature = "testing"))]
    pub(super) fn authenticate(slot: &mut [u8], place: Place, mac: &dyn JournalMac) {
        if let Some((fields, rest)) = slot.split_first_chunk_mut::<{ size_of::<SlotFields>() }>()
            && let Some(to) = rest.first_chunk_mut()
        {
            *to = mac.mac(place.number(), fields);
        }
    }

    /// Reads a slot; `None` if it is damaged, torn, or of another version. Anybody can have written it.
    pub(super) fn decode(block: &[u8]) -> Option<Self> {
        let (body, checksum) = block.get(..BLOCK)?.split_last_chunk::<CHECKSUM>()?;
        if crc32fast::hash(body) != u32::from_le_bytes(*checksum) {
            return None;
        }
        let mut bytes = Reader(body);
        let known = bytes.take::<8>()? == SLOT_MAGIC && bytes.take::<2>()? == VERSION.to_le_bytes();
        bytes.take::<2>()?;
        let half_blocks = u32::from_le_bytes(bytes.take()?);
        let id = JournalId(bytes.take()?);
        let stored = bytes.take_position()?;
        let position = u64::from_le_bytes(bytes.take()?);
        let frontier = Frontier { position, proof: bytes.take()? };
        let revision = u64::from_le_bytes(bytes.take()?);
        let slot = Self { id, revision, half_blocks, stored, frontier };
        (known && HALF_BLOCKS.contains(&half_blocks)).then_some(slot)
    }
}

/// The half of an epoch: 0 or 1.
pub(super) fn half_of(epoch: u64) -> usize {
    usize::from(!epoch.is_multiple_of(2))
}

/// The first part of an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct EntryHeader {
    pub(super) epoch: u64,
    pub(super) sequence: u64,
    /// Batches that had bypassed the journal before this entry.
    pub(super) bypassed: u64,
    /// The address of the root record, if the commit names one: it is written to the engine last.
    pub(super) root: Option<Address>,
    changes: u32,
    body_bytes: u32,
    body_checksum: u32,
}

impl EntryHeader {
    /// The whole blocks that the entry takes, in bytes.
    pub(super) fn padded(&self) -> usize {
        padded(usize::try_from(self.body_bytes).unwrap_or(usize::MAX))
    }
}

/// Writes an entry, padded with zeros to whole blocks, over the contents of `bytes`.
pub(super) fn encode_entry(
    bytes: &mut Vec<u8>,
    id: &JournalId,
    place: &Position,
    root: Option<&Address>,
    changes: &Layer,
) {
    let mut out = Writer(std::mem::take(bytes));
    out.0.clear();
    out.0.reserve(entry_bytes(changes));
    out.0.resize(HEADER, 0);
    for (address, value) in changes {
        out.put(&address.0);
        let length = value.as_ref().map_or(Some(REMOVED), |value| u16::try_from(value.len()).ok());
        out.put(&length.unwrap_or(REMOVED).to_le_bytes());
        out.put(value.as_deref().unwrap_or_default());
    }
    let body = out.0.get(HEADER..).unwrap_or_default();
    let length = padded(body.len());
    let mut header = Writer(Vec::with_capacity(HEADER));
    header.put(&ENTRY_MAGIC);
    header.put(&number(body.len()).to_le_bytes());
    header.put(&id.0);
    header.put_position(place);
    header.put(&number(changes.len()).to_le_bytes());
    header.put(&crc32fast::hash(body).to_le_bytes());
    header.put(&root.map_or([0; 32], |root| root.0));
    header.0.resize(HEADER - CHECKSUM, 0);
    header.put_checksum(0);
    if let Some(place) = out.0.get_mut(..HEADER) {
        place.copy_from_slice(&header.0);
    }
    out.0.resize(length, 0);
    *bytes = out.0;
}

/// The length of the padded entry of these changes, in bytes.
pub(super) fn entry_bytes(changes: &Layer) -> usize {
    let lengths = changes.values().map(|value| CHANGE + value.as_ref().map_or(0, Vec::len));
    padded(lengths.sum())
}

/// The number of records of the greatest length that an entry of so many bytes has room for.
pub(super) fn longest_records(bytes: usize) -> usize {
    bytes.saturating_sub(HEADER) / (CHANGE + RECORD_VALUE_BYTES)
}

/// The length of the padded entry of this batch alone, in bytes.
pub(super) fn batch_bytes(batch: &Batch) -> usize {
    let values = batch.puts.iter().map(|(_, value)| CHANGE + value.len()).sum::<usize>();
    padded(values.saturating_add(batch.deletes.len().saturating_mul(CHANGE)))
}

/// Reads the header of the entry that begins with these bytes; `None` if no entry of this journal begins here.
pub(super) fn decode_header(bytes: &[u8], id: &JournalId) -> Option<EntryHeader> {
    let (fields, checksum) = bytes.get(..HEADER)?.split_last_chunk::<CHECKSUM>()?;
    if fields.first_chunk() != Some(&ENTRY_MAGIC)
        || crc32fast::hash(fields) != u32::from_le_bytes(*checksum)
    {
        return None;
    }
    let mut bytes = Reader(fields.get(ENTRY_MAGIC.len()..)?);
    let body_bytes = u32::from_le_bytes(bytes.take()?);
    let of_this_journal = bytes.take()? == id.0;
    let Position { epoch, sequence, bypassed } = bytes.take_position()?;
    let changes = u32::from_le_bytes(bytes.take()?);
    let body_checksum = u32::from_le_bytes(bytes.take()?);
    let root = bytes.take::<32>()?;
    let root = (root != [0; 32]).then_some(Address(root));
    let header =
        EntryHeader { epoch, sequence, bypassed, root, changes, body_bytes, body_checksum };
    (of_this_journal && body_bytes <= number(BODY_BYTES_MAX)).then_some(header)
}

/// The header of the entry of any journal that begins with these bytes.
pub(super) fn header_of(bytes: &[u8; HEADER]) -> Option<EntryHeader> {
    let id = JournalId(*bytes.get(8..)?.first_chunk()?);
    decode_header(bytes, &id)
}

/// Reads the changes of the entry that begins with these bytes; `None` if it is torn or damaged, or no commit writes it.
pub(super) fn decode_changes(header: &EntryHeader, bytes: &[u8]) -> Option<Layer> {
    let end = HEADER.checked_add(usize::try_from(header.body_bytes).ok()?)?;
    let body = bytes.get(HEADER..end)?;
    if crc32fast::hash(body) != header.body_checksum {
        return None;
    }
    changes_of(header, body)
}

/// The blocks of the entry that begins with these bytes that are certainly its own. Where the checksum is wrong, these are the blocks
/// with a length of a value, if all lengths lead to the end: they tell damage to a value from a block that was not written, and so
/// has what was there before. A block in the middle of a value could be either.
pub(super) fn own_blocks(header: &EntryHeader, bytes: &[u8]) -> BTreeSet<usize> {
    if decode_changes(header, bytes).is_some() {
        return (0..header.padded() / BLOCK).collect();
    }
    let end = usize::try_from(header.body_bytes).unwrap_or(usize::MAX).saturating_add(HEADER);
    let Some(changes) = bytes.get(HEADER..end).and_then(|body| changes_of(header, body)) else {
        return BTreeSet::new();
    };
    let (mut own, mut at) = (BTreeSet::from([0]), HEADER);
    for value in changes.values() {
        at = at.saturating_add(size_of::<Address>() + size_of::<u16>());
        own.insert(at.saturating_sub(1) / BLOCK);
        at = at.saturating_add(value.as_ref().map_or(0, Vec::len));
    }
    own
}

fn changes_of(header: &EntryHeader, body: &[u8]) -> Option<Layer> {
    let mut body = Reader(body);
    let mut changes = Layer::new();
    // Every address is above the one before, and the first one above that of the mark: an entry that changed the mark
    // would separate the engine from its journal.
    let mut last = MARK;
    for _ in 0..header.changes {
        let address = Address(body.take()?);
        if address <= std::mem::replace(&mut last, address) {
            return None;
        }
        let value = match u16::from_le_bytes(body.take()?) {
            REMOVED => None,
            length => Some(body.take_slice(usize::from(length))?.to_vec()),
        };
        if value.as_ref().is_some_and(|value| value.len() > RECORD_VALUE_BYTES) {
            return None;
        }
        changes.insert(address, value);
    }
    (body.0.is_empty() && !changes.is_empty()).then_some(changes)
}

/// The address of the mark, a record in the engine that says how far the engine is. An address is a keyed hash, so no
/// other record is ever there.
pub(super) const MARK: Address = Address([0; 32]);

/// The value of the mark.
pub(super) fn encode_mark(id: &JournalId, stored: &Position) -> Vec<u8> {
    let mut bytes = Writer(Vec::with_capacity(MARK_BYTES));
    bytes.put(&id.0);
    bytes.put_position(stored);
    bytes.0
}

/// Reads a mark; `None` if it is not one of this journal.
pub(super) fn decode_mark(value: &[u8], id: &JournalId) -> Option<Position> {
    let mut bytes = Reader(value);
    let of_this_journal = bytes.take()? == id.0;
    let stored = bytes.take_position()?;
    (of_this_journal && bytes.0.is_empty()).then_some(stored)
}

/// Adds the changes of a batch to a layer.
pub(super) fn add(layer: &mut Layer, batch: &Batch) {
    layer.extend(batch.puts.iter().map(|(address, value)| (*address, Some(value.clone()))));
    layer.extend(batch.deletes.iter().map(|address| (*address, None)));
}

fn padded(body_bytes: usize) -> usize {
    HEADER.saturating_add(body_bytes).next_multiple_of(BLOCK)
}

fn number(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

struct Writer(Vec<u8>);

impl Writer {
    fn put(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    fn put_position(&mut self, position: &Position) {
        self.put(&position.epoch.to_le_bytes());
        self.put(&position.sequence.to_le_bytes());
        self.put(&position.bypassed.to_le_bytes());
    }

    fn put_checksum(&mut self, from: usize) {
        let checksum = crc32fast::hash(self.0.get(from..).unwrap_or_default());
        self.put(&checksum.to_le_bytes());
    }
}

struct Reader<'b>(&'b [u8]);

impl<'b> Reader<'b> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*taken)
    }

    fn take_slice(&mut self, length: usize) -> Option<&'b [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn take_position(&mut self) -> Option<Position> {
        let epoch = u64::from_le_bytes(self.take()?);
        let sequence = u64::from_le_bytes(self.take()?);
        let bypassed = u64::from_le_bytes(self.take()?);
        Some(Position { epoch, sequence, bypassed })
    }
}

const SLOT_MAGIC: [u8; 8] = *b"\x89INMJNL\n";
const ENTRY_MAGIC: [u8; 4] = *b"IJE1";
const VERSION: u16 = 1;
const CHECKSUM: usize = 4;
/// Bytes of an entry before its body: magic, length, id, position, count, checksum of the body, root, zeros, checksum.
/// They fit one sector of 512 bytes, the smallest unit that a disk writes.
pub(super) const HEADER: usize = 128;
/// Bytes of a change before its value: an address and a length.
const CHANGE: usize = 32 + 2;
/// The length that stands for a removed record.
const REMOVED: u16 = u16::MAX;
const MARK_BYTES: usize = 16 + 3 * 8;
/// No commit has more: the largest batch, all of it values of the greatest length.
const BODY_BYTES_MAX: usize = BATCH_RECORDS_MAX * (CHANGE + RECORD_VALUE_BYTES);
/// The lengths of a half that are accepted, in blocks: 16 KiB to 16 MiB.
const HALF_BLOCKS: std::ops::RangeInclusive<u32> = 4..=4_096;

#[cfg(test)]
mod tests;
