//! Passes over the nodes of a counted tree that cannot be read, and removes them from its beginning.

use std::ops::Range;

use super::replace::{pack, shrink};
use super::{
    Body, FoundLeaf, Inner, Leaf, Owner, Ref, child_id, load_inner, load_leaf, malformed, measure,
};
use crate::record::{NodeSink, NodeSource, ObjectId, RecordError};

/// What is at a place of a tree.
pub enum Place<'a, L> {
    /// A leaf, with the counts before it.
    Leaf(u64, FoundLeaf<'a, L>),
    /// The positions below a node that cannot be read.
    Gap(Range<u64>),
}

impl<L: Leaf> Body<L> {
    /// The leaf that `choose` leads to, as in [`find`](Self::find), or the unreadable node on the way.
    ///
    /// # Errors
    /// Those of the source, but for damage to a node.
    pub fn look(
        &self,
        source: &impl NodeSource,
        object: ObjectId,
        choose: impl Fn(u64, &[Ref<L::Summary>]) -> usize,
    ) -> Result<Place<'_, L>, RecordError> {
        let mut before = 0_u64;
        let mut node = match self {
            Self::Inline(leaf) => return Ok(Place::Leaf(before, FoundLeaf::Inline(leaf))),
            Self::Tree(inner) => inner,
        };
        let mut held;
        loop {
            let slot = choose(before, &node.refs).min(node.refs.len().saturating_sub(1));
            let left = node.refs.iter().take(slot).map(measure);
            before = left.fold(before, u64::saturating_add);
            let child = node.refs.get(slot).ok_or(malformed::<L>())?;
            let gap = Place::Gap(before..before.saturating_add(measure(child)));
            if node.level <= 1 {
                return match load_leaf::<L>(source, object, child) {
                    Ok(leaf) => Ok(Place::Leaf(before, FoundLeaf::Stored(leaf))),
                    Err(RecordError::Damaged { .. }) => Ok(gap),
                    Err(error) => Err(error),
                };
            }
            held = match load_inner::<L>(source, object, child, node.level) {
                Ok(inner) => inner,
                Err(RecordError::Damaged { .. }) => return Ok(gap),
                Err(error) => return Err(error),
            };
            node = &held;
        }
    }

    /// Removes the first leaf, or the first node on the way to it that cannot be read. What is below such a node is lost
    /// either way, and its records stay.
    pub fn cut_front(&mut self, owner: &mut Owner<'_, impl NodeSink>) -> Result<(), RecordError> {
        let Self::Tree(top) = self else { return Err(malformed::<L>()) };
        let refs = std::mem::take(&mut top.refs);
        top.refs = cut::<L>(owner, top.level, refs)?;
        if top.refs.is_empty() {
            *self = Self::Inline(L::default());
            return Ok(());
        }
        shrink::<L>(owner, top)
    }
}

/// The references of a node without the first leaf below it.
fn cut<L: Leaf>(
    owner: &mut Owner<'_, impl NodeSink>,
    level: u8,
    mut refs: Vec<Ref<L::Summary>>,
) -> Result<Vec<Ref<L::Summary>>, RecordError> {
    let Some(first) = refs.first() else { return Ok(refs) };
    let index = first.index;
    if level > 1 {
        match load_inner::<L>(owner.sink, owner.object, first, level) {
            Ok(node) => {
                let Inner { refs: below, .. } = Inner::clone(&node);
                let below = cut::<L>(owner, level - 1, below)?;
                let packed = pack::<L>(owner, level - 1, below, vec![index])?;
                refs.splice(..1, packed);
                return Ok(refs);
            }
            Err(RecordError::Damaged { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    let id = child_id::<L>(owner.object, level, index);
    if !owner.sink.retires(id) {
        owner.sink.remove(id);
    }
    refs.remove(0);
    Ok(refs)
}
