//! The entries of a history as a counted tree, ordered by number: it grows at its end and is trimmed at its beginning. The newest
//! entries are in the head, behind the tree.

use std::sync::Arc;

use super::super::codec::{self, CodecError};
use super::super::layout::{BODY_BYTES, NODE_BYTES};
use super::super::node::Node;
use super::super::tree::{Body, HEAD_FIELDS, Inner, Leaf, Owner, Summary, by_position, divide};
use super::super::{Kind, NodeSink, NodeSource, ObjectId, RecordError, RecordId, Tag};
use super::{Before, History, Seen, Version, VersionRange, Versions};

impl History {
    /// A history without entries.
    pub fn empty() -> Self {
        let (seen, body, newest) = (Seen::default(), Body::empty(), Versions::default());
        Self {
            next_index: 0,
            held: 0,
            texts_from: 0,
            lost_before: 0,
            commit: 0,
            seen,
            body,
            newest,
        }
    }

    /// The number of entries.
    pub fn count(&self) -> u64 {
        self.body.count().saturating_add(length(&self.newest))
    }

    /// Appends an entry, which has the highest number.
    pub fn append(
        &mut self,
        sink: &mut impl NodeSink,
        object: ObjectId,
        version: Version,
    ) -> Result<(), RecordError> {
        self.held = self.held.saturating_add(version.held);
        let added = size_of(&version)?;
        let mut leaves = Vec::new();
        if sizes(&self.newest)? + added > NEWEST && !self.newest.0.is_empty() {
            leaves.push(std::mem::take(&mut self.newest));
        }
        if added > NEWEST {
            leaves.push(Versions(vec![version]));
        } else {
            self.newest.0.push(version);
        }
        self.append_leaves(sink, object, leaves)
    }

    fn append_leaves(
        &mut self,
        sink: &mut impl NodeSink,
        object: ObjectId,
        leaves: Vec<Versions>,
    ) -> Result<(), RecordError> {
        if leaves.is_empty() {
            return Ok(());
        }
        let mut owner = Owner { sink, object, next_index: &mut self.next_index };
        let end = self.body.count();
        if end == 0 {
            self.body = Body::build(&mut owner, leaves)?;
            return Ok(());
        }
        self.body.replace(&mut owner, end..end, leaves)
    }

    /// Removes the first `count` entries of the first leaf, of which there must be as many.
    pub fn remove_first(
        &mut self,
        sink: &mut impl NodeSink,
        object: ObjectId,
        count: usize,
    ) -> Result<(), RecordError> {
        self.edit_leaf(sink, object, 0, |versions| {
            versions.drain(..count.min(versions.len()));
        })
    }

    /// Changes the entry of this number, or removes it if `edit` returns `false`. Returns whether there is one.
    pub fn edit(
        &mut self,
        sink: &mut impl NodeSink,
        object: ObjectId,
        number: u64,
        edit: impl FnOnce(&mut Version) -> bool,
    ) -> Result<bool, RecordError> {
        let position = self.position_of(sink, object, number)?;
        let mut found = false;
        self.edit_leaf(sink, object, position, |versions| {
            if let Ok(slot) = versions.binary_search_by_key(&number, |version| version.number) {
                found = true;
                if versions.get_mut(slot).is_some_and(|version| !edit(version)) {
                    versions.remove(slot);
                }
            }
        })?;
        Ok(found)
    }

    /// The number of entries before the first whose number is at least `number`.
    pub fn position_of(
        &self,
        source: &impl NodeSource,
        object: ObjectId,
        number: u64,
    ) -> Result<u64, RecordError> {
        if self.is_newest(number) {
            return Ok(self.body.count().saturating_add(self.newest.numbered_below(number)));
        }
        let (before, leaf) = self.body.find(source, object, |_, refs| {
            refs.partition_point(|child| child.summary().first <= number).saturating_sub(1)
        })?;
        Ok(before.saturating_add(leaf.numbered_below(number)))
    }

    /// Whether an entry of this number is among the newest, if there is one.
    pub(super) fn is_newest(&self, number: u64) -> bool {
        self.body.count() == 0
            || self.newest.0.first().is_some_and(|version| version.number <= number)
    }

    /// Changes the leaf that holds the entry at a position, or the last leaf. The texts that its entries hold are
    /// counted again. An entry may become longer: a leaf that is too long then is divided.
    fn edit_leaf(
        &mut self,
        sink: &mut impl NodeSink,
        object: ObjectId,
        position: u64,
        edit: impl FnOnce(&mut Vec<Version>),
    ) -> Result<(), RecordError> {
        let end = self.body.count();
        if end == 0 || position >= end && !self.newest.0.is_empty() {
            let before = held(&self.newest);
            edit(&mut self.newest.0);
            self.held = self.held.saturating_sub(before).saturating_add(held(&self.newest));
            if sizes(&self.newest)? <= NEWEST {
                return Ok(());
            }
            let leaves = divided(std::mem::take(&mut self.newest))?;
            return self.append_leaves(sink, object, leaves);
        }
        let (start, found) = self.body.find(sink, object, by_position(position))?;
        let mut leaf = Versions::clone(&found);
        drop(found);
        let end = start.saturating_add(length(&leaf));
        let before = held(&leaf);
        edit(&mut leaf.0);
        self.held = self.held.saturating_sub(before).saturating_add(held(&leaf));
        let leaves = divided(leaf)?;
        let mut owner = Owner { sink, object, next_index: &mut self.next_index };
        self.body.replace(&mut owner, start..end, leaves)
    }
}

impl Versions {
    /// How many entries have a lower number, if they are in order.
    pub fn numbered_below(&self, number: u64) -> u64 {
        let below = self.0.partition_point(|version| version.number < number);
        u64::try_from(below).unwrap_or(u64::MAX)
    }

    pub(in crate::record) fn children_mut<E>(
        &mut self,
        mut visit: impl FnMut(RecordId, &mut Tag) -> Result<(), E>,
    ) -> Result<(), E> {
        self.0.iter_mut().try_for_each(|version| match &mut version.before {
            Before::Nothing | Before::Restored(_) => Ok(()),
            Before::Head(old) => visit(old.id(), &mut old.tag),
            Before::Object(entry) => visit(entry.head(), &mut entry.tag),
        })
    }
}

impl Summary for VersionRange {
    type Count = u64;

    fn count(&self) -> u64 {
        self.count
    }

    fn join(&mut self, right: &Self) {
        self.count = self.count.saturating_add(right.count);
    }
}

impl Leaf for Versions {
    type Summary = VersionRange;
    const INNER: Kind = Kind::HistoryInner;
    const LEAF: Kind = Kind::HistoryLeaf;
    const TOP_REFS: usize = TOP_REFS;

    fn summary(&self) -> VersionRange {
        let first = self.0.first().map_or(0, |version| version.number);
        VersionRange { count: length(self), first }
    }

    fn into_node(self) -> Node {
        Node::HistoryLeaf(Arc::new(self))
    }

    fn inner_into_node(inner: Inner<VersionRange>) -> Node {
        Node::HistoryInner(Arc::new(inner))
    }

    fn of_node(node: Node) -> Option<Arc<Self>> {
        if let Node::HistoryLeaf(versions) = node { Some(versions) } else { None }
    }

    fn inner_of_node(node: Node) -> Option<Arc<Inner<VersionRange>>> {
        if let Node::HistoryInner(inner) = node { Some(inner) } else { None }
    }
}

pub(super) fn length(versions: &Versions) -> u64 {
    u64::try_from(versions.0.len()).unwrap_or(u64::MAX)
}

pub(super) fn held(versions: &Versions) -> u64 {
    versions.0.iter().fold(0, |sum, version| sum.saturating_add(version.held))
}

fn sizes(versions: &Versions) -> Result<usize, RecordError> {
    versions.0.iter().map(size_of).sum()
}

/// The leaves that these entries take: none without entries, and one with a single entry, however long.
fn divided(versions: Versions) -> Result<Vec<Versions>, RecordError> {
    Ok(divide(versions.0, size_of, LEAF)?.into_iter().map(Versions).collect())
}

fn size_of(version: &Version) -> Result<usize, RecordError> {
    codec::encoded_len(version).map_err(|CodecError| RecordError::TooLarge)
}

/// Bytes of the newest entries, which the head holds. A longer entry becomes a leaf at once, which may take a larger record,
/// because it may have two of the longest paths.
const NEWEST: usize = NODE_BYTES - HEAD_FIELDS - SEEN - TOP_REFS;
/// Bytes of the time that a history has seen.
const SEEN: usize = 48;
/// Bytes of entries in a leaf of several: a node's body less the length.
const LEAF: usize = NODE_BYTES - 3;
/// Bytes of references in the head: a few, because it is written with each change.
const TOP_REFS: usize = 256;

const _: () = assert!(BODY_BYTES > 2 * 1_024 + LARGEST_REST, "the largest entry fits a record");
/// Bytes of an entry besides its paths: actor, an entry of a file, numbers and 64 retired records, generously.
const LARGEST_REST: usize = 1_400;
