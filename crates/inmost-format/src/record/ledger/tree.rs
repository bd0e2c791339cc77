//! The readings of a ledger as a counted tree, ordered by the number of the file.
//!
//! A change takes a list of readings in that order and touches a bounded number of leaves. The caller comes back with the
//! rest of the list.

use std::cell::Cell;
use std::sync::Arc;

use super::super::codec::{self, CodecError};
use super::super::node::Node;
use super::super::size_class::NODE_BYTES;
use super::super::tree::{Body, Inner, Leaf, Owner, Ref, Summary, by_position, runs};
use super::super::{Kind, NodeSink, NodeSource, ObjectId, RecordError};
use super::{Ledger, Reading, ReadingRange, Readings};

/// What a change of some readings did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Taken {
    /// Readings of the list that are done. The rest of the list is left.
    pub readings: usize,
    /// Whether the ledger is another one now.
    pub changed: bool,
}

impl Ledger {
    /// A ledger without readings.
    pub fn empty() -> Self {
        Self { next_index: 0, body: Body::empty() }
    }

    /// The day of the last reading of a file.
    pub fn day_of(
        &self,
        source: &impl NodeSource,
        object: ObjectId,
        file: u64,
    ) -> Result<Option<u64>, RecordError> {
        let (_, leaf) = self.body.find(source, object, |_, refs| slot_of(refs, file))?;
        let slot = leaf.0.binary_search_by_key(&file, |reading| reading.file).ok();
        Ok(slot.and_then(|slot| leaf.0.get(slot)).map(|reading| reading.day))
    }

    /// Notes readings, which are in the order of their files, in at most `most` leaves. An earlier reading of the same file
    /// is replaced; a later one too, because the clock may have been ahead.
    pub fn note(
        &mut self,
        sink: &mut impl NodeSink,
        object: ObjectId,
        readings: &[Reading],
        most: usize,
    ) -> Result<Taken, RecordError> {
        self.change(sink, object, readings, most, |leaf, reading| {
            match leaf.binary_search_by_key(&reading.file, |noted| noted.file) {
                Ok(slot) => match leaf.get_mut(slot) {
                    Some(noted) if noted.day != reading.day => {
                        noted.day = reading.day;
                        true
                    }
                    _ => false,
                },
                Err(slot) => {
                    leaf.insert(slot, *reading);
                    true
                }
            }
        })
    }

    /// Removes readings, which are in the order of their files, in at most `most` leaves. One whose file was read on another
    /// day since stays.
    pub fn remove(
        &mut self,
        sink: &mut impl NodeSink,
        object: ObjectId,
        readings: &[Reading],
        most: usize,
    ) -> Result<Taken, RecordError> {
        self.change(sink, object, readings, most, |leaf, reading| {
            let slot = leaf.binary_search_by_key(&reading.file, |noted| noted.file).ok();
            let slot = slot.filter(|slot| leaf.get(*slot) == Some(reading));
            slot.map(|slot| leaf.remove(slot)).is_some()
        })
    }

    /// Removes up to `leaves` leaves from the end. With this a ledger is removed in steps of bounded size.
    pub fn cut(
        &mut self,
        sink: &mut impl NodeSink,
        object: ObjectId,
        leaves: usize,
    ) -> Result<(), RecordError> {
        if matches!(self.body, Body::Inline(_)) {
            self.body = Body::empty();
            return Ok(());
        }
        let (start, _) = self.body.tail(sink, object, leaves.max(1))?;
        let end = self.body.count();
        let mut owner = Owner { sink, object, next_index: &mut self.next_index };
        self.body.replace(&mut owner, start..end, Vec::new())
    }

    /// A ledger of these readings, which are in the order of their files.
    pub fn of(
        sink: &mut impl NodeSink,
        object: ObjectId,
        readings: Vec<Reading>,
    ) -> Result<Self, RecordError> {
        let mut ledger = Self::empty();
        ledger.body = Body::Inline(Readings(readings));
        ledger.spill(sink, object)?;
        Ok(ledger)
    }

    fn change(
        &mut self,
        sink: &mut impl NodeSink,
        object: ObjectId,
        readings: &[Reading],
        most: usize,
        mut apply: impl FnMut(&mut Vec<Reading>, &Reading) -> bool,
    ) -> Result<Taken, RecordError> {
        let mut taken = Taken { readings: 0, changed: false };
        let (mut leaves, mut looked) = (0, 0);
        while let Some(first) = readings.get(taken.readings) {
            if let Body::Inline(leaf) = &mut self.body {
                for reading in readings.iter().skip(taken.readings) {
                    taken.changed |= apply(&mut leaf.0, reading);
                }
                taken.readings = readings.len();
                self.spill(sink, object)?;
                break;
            }
            if leaves >= most.max(1) || looked >= most.saturating_mul(LOOKED) {
                break;
            }
            looked += 1;
            let (start, next, mut leaf) = self.leaf_of(sink, object, first.file)?;
            let end = start.saturating_add(length(&leaf));
            let mut changed = false;
            // At least the first, so that a leaf out of order does not lead here for ever.
            let mut here = 0;
            for reading in readings.iter().skip(taken.readings) {
                if here > 0 && next.is_some_and(|next| reading.file >= next) {
                    break;
                }
                changed |= apply(&mut leaf.0, reading);
                here += 1;
            }
            taken.readings += here;
            if changed {
                taken.changed = true;
                leaves += 1;
                self.put_leaf(sink, object, start..end, leaf)?;
            }
        }
        Ok(taken)
    }

    /// The leaf where a file is or belongs, with the position before it and the first file of the next leaf.
    fn leaf_of(
        &self,
        source: &impl NodeSource,
        object: ObjectId,
        file: u64,
    ) -> Result<(u64, Option<u64>, Readings), RecordError> {
        let next = Cell::new(None);
        let (start, leaf) = self.body.find(source, object, |_, refs| {
            let slot = slot_of(refs, file);
            if let Some(right) = refs.get(slot + 1) {
                next.set(Some(right.summary().first));
            }
            slot
        })?;
        Ok((start, next.get(), Readings::clone(&leaf)))
    }

    /// Puts a leaf back, cut if it is too long, and joined with its neighbour if it is too short.
    fn put_leaf(
        &mut self,
        sink: &mut impl NodeSink,
        object: ObjectId,
        range: std::ops::Range<u64>,
        mut leaf: Readings,
    ) -> Result<(), RecordError> {
        let (mut start, mut end) = (range.start, range.end);
        if size_of(&leaf)? < LEAF / 4 {
            if end < self.body.count() {
                let (_, right) = self.body.find(sink, object, by_position(end))?;
                end = end.saturating_add(length(&right));
                leaf.0.extend(right.0.iter());
            } else if let Some(last) = start.checked_sub(1) {
                let (before, left) = self.body.find(sink, object, by_position(last))?;
                start = before;
                leaf.0.splice(0..0, left.0.iter().copied());
            }
        }
        let leaves = split(leaf)?;
        let mut owner = Owner { sink, object, next_index: &mut self.next_index };
        self.body.replace(&mut owner, start..end, leaves)
    }

    /// Moves the readings from the head into leaves once they do not fit it.
    fn spill(&mut self, sink: &mut impl NodeSink, object: ObjectId) -> Result<(), RecordError> {
        let Body::Inline(readings) = &mut self.body else { return Ok(()) };
        if size_of(readings)? <= INLINE {
            return Ok(());
        }
        let leaves = split(std::mem::take(readings))?;
        let mut owner = Owner { sink, object, next_index: &mut self.next_index };
        self.body = Body::build(&mut owner, leaves)?;
        Ok(())
    }
}

/// Leads to the leaf where a file is or belongs.
fn slot_of(refs: &[Ref<ReadingRange>], file: u64) -> usize {
    refs.partition_point(|child| child.summary().first <= file).saturating_sub(1)
}

fn split(mut readings: Readings) -> Result<Vec<Readings>, RecordError> {
    let sizes = readings.0.iter().map(reading_size).collect::<Result<Vec<_>, _>>()?;
    let mut rest = std::mem::take(&mut readings.0).into_iter();
    let leaves = runs(&sizes, LEAF).into_iter();
    Ok(leaves.map(|length| Readings(rest.by_ref().take(length).collect())).collect())
}

fn length(readings: &Readings) -> u64 {
    u64::try_from(readings.0.len()).unwrap_or(u64::MAX)
}

fn size_of(readings: &Readings) -> Result<usize, RecordError> {
    readings.0.iter().map(reading_size).sum()
}

fn reading_size(reading: &Reading) -> Result<usize, RecordError> {
    codec::encoded_len(reading).map_err(|CodecError| RecordError::TooLarge)
}

impl Summary for ReadingRange {
    type Count = u64;

    fn count(&self) -> u64 {
        self.count
    }

    fn join(&mut self, right: &Self) {
        self.count = self.count.saturating_add(right.count);
    }
}

impl Leaf for Readings {
    type Summary = ReadingRange;
    const INNER: Kind = Kind::LedgerInner;
    const LEAF: Kind = Kind::LedgerLeaf;

    fn summary(&self) -> ReadingRange {
        let first = self.0.first().map_or(0, |reading| reading.file);
        ReadingRange { count: length(self), first }
    }

    fn into_node(self) -> Node {
        Node::LedgerLeaf(Arc::new(self))
    }

    fn inner_into_node(inner: Inner<ReadingRange>) -> Node {
        Node::LedgerInner(Arc::new(inner))
    }

    fn of_node(node: Node) -> Option<Arc<Self>> {
        if let Node::LedgerLeaf(readings) = node { Some(readings) } else { None }
    }

    fn inner_of_node(node: Node) -> Option<Arc<Inner<ReadingRange>>> {
        if let Node::LedgerInner(inner) = node { Some(inner) } else { None }
    }
}

/// Leaves that a change reads for each that it may write: a reading that is noted already changes nothing.
const LOOKED: usize = 4;
/// Bytes of readings in a leaf: a node's body less the length.
const LEAF: usize = NODE_BYTES - 3;
/// Bytes of readings in the head: less the head's own fields.
const INLINE: usize = NODE_BYTES - 64;

#[cfg(test)]
mod tests;
