//! The history of a store: one entry for each change, in the order of their numbers.
//!
//! An entry keeps what its change took out of use: the previous head of a file, or a whole file or folder. Nothing is
//! copied for it. While history is on, an edit writes the records that it changes under new indexes, so that the old head
//! and everything below it stay as they are.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize};
use zeroize::Zeroize;

use super::address::{Kind, ObjectId, RecordId};
use super::codec::{self, CodecError};
use super::folder::{Entry, Name};
use super::node::Node;
use super::sealed::Tag;
use super::size_class::{BODY_BYTES, NODE_BYTES};
use super::tree::{Body, Inner, Leaf, Owner, Summary};
use super::{NodeSink, NodeSource, RecordError};

/// The head of a history.
#[derive(Clone, Serialize, Deserialize)]
pub struct History {
    /// The last index that a tree node of this history got.
    #[serde(with = "codec::fixed")]
    pub next_index: u64,
    /// Bytes of the texts that the entries hold.
    #[serde(with = "codec::fixed")]
    pub held: u64,
    /// Entries with a lower number hold no text any more, because there was no room.
    #[serde(with = "codec::fixed")]
    pub texts_from: u64,
    /// The number of the first entry, if the history before it was lost to damage; else 0.
    #[serde(with = "codec::fixed")]
    pub lost_before: u64,
    /// The entries.
    pub body: Body<Versions>,
}

/// Entries of a history in the order of their numbers.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct Versions(pub Vec<Version>);

/// The entry of one change.
#[derive(Clone, Serialize, Deserialize)]
pub struct Version {
    /// The number of the change: 64 times its commit, plus its place in the group.
    pub number: u64,
    /// When it was made, in milliseconds since 1970.
    pub time: u64,
    /// What it did.
    pub operation: Operation,
    /// The part of the program that made it.
    pub channel: Channel,
    /// Who made it, as claimed by the caller; empty if unknown.
    pub actor: Name,
    /// The number of the file: that of the change that created it. 0 for a folder.
    pub file: u64,
    /// The number of the file's previous change, or 0.
    pub previous: u64,
    /// The path after the change; for a deletion, the path before it. Empty if it was redacted.
    pub path: Name,
    /// The path before a rename; else empty.
    pub old_path: Name,
    /// Bytes of the file after the change.
    pub bytes: u64,
    /// Lines of the file after the change.
    pub lines: u64,
    /// What the change took out of use.
    pub before: Before,
    /// The records below the old head that the change took out of use.
    pub retired: Vec<Retired>,
    /// Bytes of the text in `before`.
    pub held: u64,
    /// Objects that this change forgot. A repair does not bring them back.
    pub forgotten: Vec<ObjectId>,
    /// When the entry was redacted, in milliseconds since 1970, or 0.
    pub redacted: u64,
    /// For fields of later versions; empty.
    pub extension: Extension,
}

/// What a change did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Operation {
    /// Made a file.
    Created,
    /// Changed the text of a file.
    Modified,
    /// Moved a file or folder.
    Renamed,
    /// Deleted a file or folder.
    Deleted,
    /// Brought back an earlier text, or a deleted file or folder.
    Restored,
    /// Deleted a file that was not read for a long time.
    Expired,
    /// Wrote a file together with others.
    Imported,
    /// Records that objects were forgotten, so that a repair does not bring them back.
    Forgotten,
}

/// The part of the program that made a change. The code sets it, so it is not a claim.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Channel {
    /// The memory tool: a model.
    Tool,
    /// The typed file interface.
    Files,
    /// The command-line program.
    Program,
    /// An import.
    Import,
    /// The expiry of unread files.
    Expiry,
}

/// What a change took out of use.
#[derive(Clone, Serialize, Deserialize)]
pub enum Before {
    /// Nothing, or it was dropped.
    Nothing,
    /// An earlier head of a file whose object is still in use.
    Head(OldHead),
    /// A whole file or folder that left the tree; its name is empty.
    Object(Box<Entry>),
    /// A whole file or folder that a later change, of this number, brought back.
    Restored(u64),
}

/// An earlier head of a file.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub struct OldHead {
    /// The file.
    pub object: ObjectId,
    /// The index of its head.
    pub index: u64,
    /// The tag of its head.
    pub tag: Tag,
    /// The last index that the file had given out with this head.
    pub last_index: u64,
    /// Bytes of its text.
    pub bytes: u64,
    /// Lines of its text.
    pub lines: u64,
}

/// A record that a change took out of use.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Retired {
    /// Whether it is an inner node. Otherwise it is a piece of text.
    pub is_inner: bool,
    /// Its index.
    pub index: u64,
}

/// Room for fields of later versions. Anything in it is refused.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, Serialize)]
pub struct Extension(u8);

impl<'de> Deserialize<'de> for Extension {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match u8::deserialize(deserializer)? {
            0 => Ok(Self(0)),
            _ => Err(serde::de::Error::custom("unknown flags")),
        }
    }
}

/// A summary of the entries below a child of an inner node.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct VersionRange {
    /// Their number.
    pub count: u64,
    /// The number of the first.
    pub first: u64,
}

impl Version {
    /// The entry of a change that holds nothing and says nothing but its number and time.
    pub fn nothing(number: u64, time: u64) -> Self {
        Self {
            number,
            time,
            operation: Operation::Forgotten,
            channel: Channel::Files,
            actor: Name::new(""),
            file: 0,
            previous: 0,
            path: Name::new(""),
            old_path: Name::new(""),
            bytes: 0,
            lines: 0,
            before: Before::Nothing,
            retired: Vec::new(),
            held: 0,
            forgotten: Vec::new(),
            redacted: 0,
            extension: Extension::default(),
        }
    }
}

impl Retired {
    /// The name of the record.
    pub fn id(self, object: ObjectId) -> RecordId {
        let kind = if self.is_inner { Kind::FileInner } else { Kind::Chunk };
        RecordId { kind, object, index: self.index }
    }
}

impl OldHead {
    /// The name of the head.
    pub fn id(&self) -> RecordId {
        RecordId { kind: Kind::File, object: self.object, index: self.index }
    }
}

impl History {
    /// A history without entries.
    pub fn empty() -> Self {
        Self { next_index: 0, held: 0, texts_from: 0, lost_before: 0, body: Body::empty() }
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
        if let Body::Inline(versions) = &mut self.body {
            let used: usize = sizes(versions)?;
            if used + added <= INLINE {
                versions.0.push(version);
                return Ok(());
            }
            let mut leaves = vec![std::mem::take(versions)];
            leaves.retain(|leaf| !leaf.0.is_empty());
            leaves.push(Versions(vec![version]));
            let mut owner = Owner { sink, object, next_index: &mut self.next_index };
            self.body = Body::build(&mut owner, leaves)?;
            return Ok(());
        }
        let end = self.body.count();
        let (start, last) = self.body.find(sink, object, |_, refs| refs.len())?;
        let fits = sizes(&last)? + added <= LEAF;
        let (from, leaf) = if fits {
            let mut leaf = Versions::clone(&last);
            leaf.0.push(version);
            (start, leaf)
        } else {
            (end, Versions(vec![version]))
        };
        drop(last);
        let mut owner = Owner { sink, object, next_index: &mut self.next_index };
        self.body.replace(&mut owner, from..end, vec![leaf])
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
        let (before, leaf) = self.body.find(source, object, |_, refs| {
            refs.partition_point(|child| child.summary().first <= number).saturating_sub(1)
        })?;
        let inside = leaf.0.partition_point(|version| version.number < number);
        Ok(before.saturating_add(u64::try_from(inside).unwrap_or(u64::MAX)))
    }

    /// Changes the leaf that holds the entry at a position, or the last leaf. The texts that its entries hold are
    /// counted again.
    fn edit_leaf(
        &mut self,
        sink: &mut impl NodeSink,
        object: ObjectId,
        position: u64,
        edit: impl FnOnce(&mut Vec<Version>),
    ) -> Result<(), RecordError> {
        if let Body::Inline(versions) = &mut self.body {
            let before = held(versions);
            edit(&mut versions.0);
            self.held = self.held.saturating_sub(before).saturating_add(held(versions));
            return Ok(());
        }
        let (start, found) = self.body.find(sink, object, |mut before, refs| {
            refs.iter()
                .take_while(|child| {
                    before = before.saturating_add(child.summary().count);
                    before <= position
                })
                .count()
        })?;
        let mut leaf = Versions::clone(&found);
        drop(found);
        let end = start.saturating_add(length(&leaf));
        let before = held(&leaf);
        edit(&mut leaf.0);
        self.held = self.held.saturating_sub(before).saturating_add(held(&leaf));
        let leaves = if leaf.0.is_empty() { Vec::new() } else { vec![leaf] };
        let mut owner = Owner { sink, object, next_index: &mut self.next_index };
        self.body.replace(&mut owner, start..end, leaves)
    }
}

impl Versions {
    pub(super) fn children_mut<E>(
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

impl Drop for Version {
    fn drop(&mut self) {
        // Sizes, times and numbers are plaintext too; the names wipe themselves.
        for number in [
            &mut self.number,
            &mut self.time,
            &mut self.file,
            &mut self.previous,
            &mut self.bytes,
            &mut self.lines,
            &mut self.held,
        ] {
            number.zeroize();
        }
        if let Before::Head(old) = &mut self.before {
            old.object.0.zeroize();
            old.bytes.zeroize();
            old.lines.zeroize();
        }
    }
}

fn length(versions: &Versions) -> u64 {
    u64::try_from(versions.0.len()).unwrap_or(u64::MAX)
}

fn held(versions: &Versions) -> u64 {
    versions.0.iter().fold(0, |sum, version| sum.saturating_add(version.held))
}

fn sizes(versions: &Versions) -> Result<usize, RecordError> {
    versions.0.iter().map(size_of).sum()
}

fn size_of(version: &Version) -> Result<usize, RecordError> {
    codec::encoded_len(version).map_err(|CodecError| RecordError::TooLarge)
}

/// Bytes of entries in a leaf: a node's body less the length. A single entry may take a larger record, because it may have
/// two of the longest paths.
const LEAF: usize = NODE_BYTES - 3;
/// Bytes of entries in the head: less the head's own fields.
const INLINE: usize = NODE_BYTES / 2 - 64;

const _: () = assert!(BODY_BYTES > 2 * 1_024 + LARGEST_REST, "the largest entry fits a record");
/// Bytes of an entry besides its paths: actor, an entry of a file, numbers and 64 retired records, generously.
const LARGEST_REST: usize = 1_400;
