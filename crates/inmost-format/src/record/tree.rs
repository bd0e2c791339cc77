//! The counted B+tree that folders and long files share.
//!
//! Leaves and inner nodes are records. An inner node's reference to a child carries the child's tag and a
//! summary of everything below it, so a position is found by counting and a changed leaf rewrites only its path.
//! The tree is positional: one operation, [`Body::replace`], swaps a run of whole leaves for others and
//! keeps the nodes between a quarter full and full. The owner of a tree decides what its leaves mean
//! and how full they are.
//!
//! Counted trees are Knuth's indexed trees (TAOCP 3, 6.2.3) with the fan-out of a B+tree.

mod gap;
mod replace;
#[cfg(test)]
mod tests;
mod visit;

use std::ops::{AddAssign, Deref};
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::codec::{CodecError, DirectEncode, Output, Sink};
use super::layout::NODE_BYTES;
use super::layout::Tag;
use super::{Flaw, Kind, Node, NodeSource, ObjectId, RecordError, RecordId};

pub use gap::Place;
pub use replace::{Owner, divide, runs};
pub use visit::Way;

/// The summary that an inner node keeps of everything below one child.
pub trait Summary: Clone + Serialize + DeserializeOwned {
    /// The part of a summary that can be added. As `u64` it is the unit of positions.
    type Count: Copy + Default + AddAssign + Into<u64>;

    /// The counts.
    fn count(&self) -> Self::Count;

    /// Extends this summary by that of the next node on the right.
    fn join(&mut self, right: &Self);
}

/// A leaf: an ordered run of something, never empty inside a tree.
pub trait Leaf: Clone + Default + Serialize + DeserializeOwned {
    /// The summary that inner nodes keep of a leaf.
    type Summary: Summary;
    /// The kind of an inner node's record.
    const INNER: Kind;
    /// The kind of a leaf's record.
    const LEAF: Kind;
    /// The most bytes of references in a head.
    const TOP_REFS: usize = NODE_BYTES - HEAD_FIELDS;

    /// Summarises the leaf.
    fn summary(&self) -> Self::Summary;
    /// The leaf as a record body.
    fn into_node(self) -> Node;
    /// An inner node as a record body.
    fn inner_into_node(inner: Inner<Self::Summary>) -> Node;
    /// The record body as a leaf.
    fn of_node(node: Node) -> Option<Arc<Self>>;
    /// The record body as an inner node.
    fn inner_of_node(node: Node) -> Option<Arc<Inner<Self::Summary>>>;
}

/// The body of an object's head: one leaf, or the top of a tree of leaves.
#[derive(Clone, Serialize, Deserialize)]
#[serde(bound(serialize = "L: Leaf", deserialize = "L: Leaf"))]
pub enum Body<L: Leaf> {
    /// All content in the head itself; may be empty.
    Inline(L),
    /// The top node of a tree with at least one leaf.
    Tree(Inner<L::Summary>),
}

/// An inner node.
#[derive(Clone, Serialize, Deserialize)]
pub struct Inner<S> {
    /// Steps down to the leaves; the children of level 1 are leaves.
    level: u8,
    /// The children in order.
    refs: Vec<Ref<S>>,
}

/// A reference to a child.
#[derive(Clone, Serialize, Deserialize)]
pub struct Ref<S> {
    index: u64,
    tag: Tag,
    summary: S,
}

impl<S> Ref<S> {
    /// The summary of everything below the child.
    pub fn summary(&self) -> &S {
        &self.summary
    }
}

impl<L: Leaf + DirectEncode> DirectEncode for Body<L>
where
    L::Summary: DirectEncode,
{
    fn write(&self, output: &mut Output<impl Sink>) -> Result<(), CodecError> {
        match self {
            Self::Inline(leaf) => {
                output.number(0)?;
                leaf.write(output)
            }
            Self::Tree(inner) => {
                output.number(1)?;
                inner.write(output)
            }
        }
    }
}

#[cfg(test)]
impl<S> Inner<S> {
    /// A node with these children: index, tag and summary of each.
    pub(super) fn of(level: u8, children: Vec<(u64, Tag, S)>) -> Self {
        let refs = children.into_iter();
        Self {
            level,
            refs: refs.map(|(index, tag, summary)| Ref { index, tag, summary }).collect(),
        }
    }
}

impl<S: DirectEncode> DirectEncode for Inner<S> {
    fn write(&self, output: &mut Output<impl Sink>) -> Result<(), CodecError> {
        let Self { level, refs } = self;
        output.bytes(&[*level])?;
        output.count(refs.len())?;
        for Ref { index, tag, summary } in refs {
            output.number(*index)?;
            output.bytes(&tag.0)?;
            summary.write(output)?;
        }
        Ok(())
    }
}

/// A leaf that was found, in the head or in a record of its own.
pub enum FoundLeaf<'a, L> {
    /// In the head.
    Inline(&'a L),
    /// In a record of its own.
    Stored(Arc<L>),
}

impl<L> Deref for FoundLeaf<'_, L> {
    type Target = L;

    fn deref(&self) -> &L {
        match self {
            Self::Inline(leaf) => leaf,
            Self::Stored(leaf) => leaf,
        }
    }
}

type CountOf<L> = <<L as Leaf>::Summary as Summary>::Count;

impl<L: Leaf> Body<L> {
    /// An empty body.
    pub fn empty() -> Self {
        Self::Inline(L::default())
    }

    /// The counts of everything.
    pub fn count(&self) -> CountOf<L> {
        match self {
            Self::Inline(leaf) => leaf.summary().count(),
            Self::Tree(inner) => inner.count(),
        }
    }

    /// The leaf that `choose` leads to, with the counts before it.
    ///
    /// `choose` gets the counts before a node and its references, of which there is at least one, and returns the
    /// index of the reference to descend to.
    pub fn find(
        &self,
        source: &impl NodeSource,
        object: ObjectId,
        choose: impl Fn(CountOf<L>, &[Ref<L::Summary>]) -> usize,
    ) -> Result<(CountOf<L>, FoundLeaf<'_, L>), RecordError> {
        let mut before = CountOf::<L>::default();
        let mut node = match self {
            Self::Inline(leaf) => return Ok((before, FoundLeaf::Inline(leaf))),
            Self::Tree(inner) => inner,
        };
        let mut held;
        loop {
            let slot = choose(before, &node.refs).min(node.refs.len().saturating_sub(1));
            for left in node.refs.iter().take(slot) {
                before += left.summary.count();
            }
            let child = node.refs.get(slot).ok_or(malformed::<L>())?;
            if node.level <= 1 {
                return Ok((before, FoundLeaf::Stored(load_leaf::<L>(source, object, child)?)));
            }
            held = load_inner::<L>(source, object, child, node.level)?;
            node = &held;
        }
    }

    /// Levels of tree below the head; 0 for an inline body.
    pub fn level(&self) -> u8 {
        match self {
            Self::Inline(_) => 0,
            Self::Tree(inner) => inner.level,
        }
    }

    /// The position from which at most `leaves` leaves remain, and their number; both are 0 for an inline body.
    /// With this a tree is removed from its end in steps of bounded size, without opening a leaf.
    pub fn tail(
        &self,
        source: &impl NodeSource,
        object: ObjectId,
        leaves: usize,
    ) -> Result<(u64, usize), RecordError> {
        let Self::Tree(top) = self else { return Ok((0, 0)) };
        let mut node = top;
        let mut end: u64 = self.count().into();
        let mut held;
        while node.level > 1 {
            let child = node.refs.last().ok_or(malformed::<L>())?;
            held = load_inner::<L>(source, object, child, node.level)?;
            node = &held;
        }
        for leaf in node.refs.iter().rev().take(leaves) {
            end = end.saturating_sub(leaf.summary.count().into());
        }
        Ok((end, node.refs.len().min(leaves)))
    }

    /// The only leaf of a tree, if it has one leaf: its content may fit the head again.
    pub fn only_leaf(
        &self,
        source: &impl NodeSource,
        object: ObjectId,
    ) -> Result<Option<Arc<L>>, RecordError> {
        match self {
            Self::Tree(Inner { level: 1, refs }) => match refs.as_slice() {
                [only] => load_leaf::<L>(source, object, only).map(Some),
                _ => Ok(None),
            },
            _ => Ok(None),
        }
    }
}

impl<S: Summary> Inner<S> {
    /// Steps down to the leaves.
    pub fn level(&self) -> u8 {
        self.level
    }

    fn count(&self) -> S::Count {
        let mut count = S::Count::default();
        for child in &self.refs {
            count += child.summary.count();
        }
        count
    }

    /// The children: the name of the record, the tag that it must have, and the summary of everything below it.
    pub fn children<L: Leaf<Summary = S>>(
        &self,
        object: ObjectId,
    ) -> impl Iterator<Item = (RecordId, &Tag, &S)> {
        self.refs.iter().map(move |child| {
            (child_id::<L>(object, self.level, child.index), &child.tag, &child.summary)
        })
    }

    /// Calls `visit` with every child.
    pub(super) fn children_mut<L: Leaf<Summary = S>, E>(
        &mut self,
        object: ObjectId,
        mut visit: impl FnMut(RecordId, &mut Tag) -> Result<(), E>,
    ) -> Result<(), E> {
        let level = self.level;
        self.refs
            .iter_mut()
            .try_for_each(|child| visit(child_id::<L>(object, level, child.index), &mut child.tag))
    }
}

fn load_leaf<L: Leaf>(
    source: &impl NodeSource,
    object: ObjectId,
    child: &Ref<L::Summary>,
) -> Result<Arc<L>, RecordError> {
    let id = RecordId { kind: L::LEAF, object, index: child.index };
    L::of_node(source.load(id, &child.tag)?).ok_or(malformed::<L>())
}

/// The child of a node of `level`. Levels must decrease, so that a damaged tree cannot contain a cycle or overflow
/// the stack.
fn load_inner<L: Leaf>(
    source: &impl NodeSource,
    object: ObjectId,
    child: &Ref<L::Summary>,
    level: u8,
) -> Result<Arc<Inner<L::Summary>>, RecordError> {
    if level > LEVELS {
        return Err(malformed::<L>());
    }
    let id = RecordId { kind: L::INNER, object, index: child.index };
    let node = L::inner_of_node(source.load(id, &child.tag)?).ok_or(malformed::<L>())?;
    if node.level.checked_add(1) == Some(level) { Ok(node) } else { Err(malformed::<L>()) }
}

fn child_id<L: Leaf>(object: ObjectId, level: u8, index: u64) -> RecordId {
    RecordId { kind: if level <= 1 { L::LEAF } else { L::INNER }, object, index }
}

/// Leads to the leaf that holds a position, for [`Body::find`].
pub fn by_position<S: Summary>(position: u64) -> impl Fn(S::Count, &[Ref<S>]) -> usize {
    move |before, refs| {
        let mut before: u64 = before.into();
        refs.iter()
            .take_while(|child| {
                before = before.saturating_add(measure(child));
                before <= position
            })
            .count()
    }
}

fn measure<S: Summary>(child: &Ref<S>) -> u64 {
    child.summary.count().into()
}

fn malformed<L: Leaf>() -> RecordError {
    RecordError::Damaged { kind: L::INNER, flaw: Flaw::Malformed }
}

/// Bytes of a head besides its body, generously: a folder's are 53.
pub(super) const HEAD_FIELDS: usize = 64;
/// Levels of the highest tree. A node has at least two children, even with the longest names, and a leaf has at least
/// half a KiB. A higher tree would need more than 8 GiB of names in one folder.
pub const LEVELS: u8 = 24;
