//! Changes a counted tree: one operation replaces runs of leaves and balances the nodes.

use std::ops::Range;
use std::sync::Arc;

use super::super::codec;
use super::super::layout::NODE_BYTES;
use super::super::layout::Tag;
use super::super::{NodeSink, ObjectId, RecordError, RecordId};
use super::{Body, Inner, LEVELS, Leaf, Ref, Summary, child_id, load_inner, malformed, measure};

/// The object whose tree is changed: where its nodes go and how they are numbered.
pub struct Owner<'a, S> {
    /// Receives the changed nodes.
    pub sink: &'a mut S,
    /// The folder or file.
    pub object: ObjectId,
    /// Its counter. It only grows, so an old address is never reused for other content.
    pub next_index: &'a mut u64,
}

impl<L: Leaf> Body<L> {
    /// Makes a body of these leaves: a tree, or an empty body without leaves.
    pub fn build(
        owner: &mut Owner<'_, impl NodeSink>,
        leaves: Vec<L>,
    ) -> Result<Self, RecordError> {
        if leaves.is_empty() {
            return Ok(Self::Inline(L::default()));
        }
        let refs = leaves.into_iter().map(|leaf| store_leaf(owner, None, leaf)).collect();
        let mut top = Inner { level: 1, refs };
        grow::<L>(owner, &mut top)?;
        Ok(Self::Tree(top))
    }

    /// Replaces the leaves of a tree that cover exactly `range` by others. A range at the very end that is
    /// empty appends. A tree that loses all its leaves becomes an empty inline body.
    ///
    /// # Errors
    /// `Flaw::Malformed` if the range does not begin and end between leaves, or the body is inline.
    pub fn replace(
        &mut self,
        owner: &mut Owner<'_, impl NodeSink>,
        range: Range<u64>,
        leaves: Vec<L>,
    ) -> Result<(), RecordError> {
        let Self::Tree(top) = self else { return Err(malformed::<L>()) };
        let refs = std::mem::take(&mut top.refs);
        top.refs = replace_in::<L>(owner, top.level, refs, 0, range, leaves)?;
        if top.refs.is_empty() {
            *self = Self::Inline(L::default());
            return Ok(());
        }
        shrink::<L>(owner, top)?;
        grow::<L>(owner, top)
    }
}

/// Replaces `range` below one node, which begins at `start`; returns the node's new references, perhaps none
/// or more than fit it. Reads inner nodes on the two edges of the range and between, never a leaf.
fn replace_in<L: Leaf>(
    owner: &mut Owner<'_, impl NodeSink>,
    level: u8,
    mut refs: Vec<Ref<L::Summary>>,
    start: u64,
    range: Range<u64>,
    leaves: Vec<L>,
) -> Result<Vec<Ref<L::Summary>>, RecordError> {
    let (slots, first_start) = covering(&refs, level, start, &range);
    if level <= 1 {
        let covered: u64 = refs.get(slots.clone()).unwrap_or_default().iter().map(measure).sum();
        if first_start != range.start || first_start.saturating_add(covered) != range.end {
            return Err(malformed::<L>());
        }
        let covered = refs.get(slots.clone()).unwrap_or_default().iter().map(|child| child.index);
        let mut old = reusable::<L>(owner, level, covered.collect()).into_iter();
        let fresh: Vec<_> =
            leaves.into_iter().map(|leaf| store_leaf(owner, old.next(), leaf)).collect();
        for index in old {
            owner.sink.remove(child_id::<L>(owner.object, level, index));
        }
        refs.splice(slots, fresh);
        return Ok(refs);
    }

    let mut below = Vec::new();
    let mut reuse = Vec::new();
    let mut leaves = Some(leaves);
    let mut child_start = first_start;
    for child in refs.get(slots.clone()).unwrap_or_default() {
        let node = load_inner::<L>(owner.sink, owner.object, child, level)?;
        let child_end = child_start.saturating_add(measure(child));
        let part = range.start.max(child_start)..range.end.min(child_end).max(child_start);
        let new = leaves.take().unwrap_or_default();
        below.extend(replace_in(owner, level - 1, node.refs.clone(), child_start, part, new)?);
        reuse.push(child.index);
        child_start = child_end;
    }
    let slots = take_in_neighbour::<L>(owner, level, &refs, slots, &mut below, &mut reuse)?;
    let packed = pack::<L>(owner, level - 1, below, reuse)?;
    refs.splice(slots, packed);
    Ok(refs)
}

/// The slots that a range touches and where the first of them begins. An empty range is an append: it touches
/// no leaf, but the last inner node of each level above.
fn covering<S: Summary>(
    refs: &[Ref<S>],
    level: u8,
    start: u64,
    range: &Range<u64>,
) -> (Range<usize>, u64) {
    let mut position = start;
    let mut first = None;
    for (slot, child) in refs.iter().enumerate() {
        if position >= range.end && first.is_some() {
            return first.map_or((slot..slot, position), |(from, begin)| (from..slot, begin));
        }
        let end = position.saturating_add(measure(child));
        let last_of_append = range.is_empty() && level > 1 && slot + 1 == refs.len();
        if first.is_none() && (end > range.start || last_of_append) {
            first = Some((slot, position));
        }
        position = end;
    }
    first.map_or((refs.len()..refs.len(), position), |(from, begin)| (from..refs.len(), begin))
}

/// Prevents nodes from getting too small: if the rest of a run of nodes fills less than a quarter of a node, it is merged
/// with the node beside it.
fn take_in_neighbour<L: Leaf>(
    owner: &Owner<'_, impl NodeSink>,
    level: u8,
    refs: &[Ref<L::Summary>],
    slots: Range<usize>,
    below: &mut Vec<Ref<L::Summary>>,
    reuse: &mut Vec<u64>,
) -> Result<Range<usize>, RecordError> {
    if below.is_empty() || size_of(below)? >= NODE_REFS / 4 {
        return Ok(slots);
    }
    if let Some(right) = refs.get(slots.end)
        && let Some(node) = readable::<L>(owner, right, level)?
    {
        below.extend(node.refs.iter().cloned());
        reuse.push(right.index);
        return Ok(slots.start..slots.end + 1);
    }
    if let Some((before, left)) =
        slots.start.checked_sub(1).and_then(|slot| Some((slot, refs.get(slot)?)))
        && let Some(node) = readable::<L>(owner, left, level)?
    {
        below.splice(0..0, node.refs.iter().cloned());
        reuse.insert(0, left.index);
        return Ok(before..slots.end);
    }
    Ok(slots)
}

/// A node, unless it is damaged: damage must not reach to what is beside it.
fn readable<L: Leaf>(
    owner: &Owner<'_, impl NodeSink>,
    child: &Ref<L::Summary>,
    level: u8,
) -> Result<Option<Arc<Inner<L::Summary>>>, RecordError> {
    match load_inner::<L>(owner.sink, owner.object, child, level) {
        Ok(node) => Ok(Some(node)),
        Err(RecordError::Damaged { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Adds levels until the top node fits the head.
fn grow<L: Leaf>(
    owner: &mut Owner<'_, impl NodeSink>,
    top: &mut Inner<L::Summary>,
) -> Result<(), RecordError> {
    while size_of(&top.refs)? > L::TOP_REFS {
        if top.level >= LEVELS {
            return Err(RecordError::TooLarge);
        }
        let refs = std::mem::take(&mut top.refs);
        top.refs = pack::<L>(owner, top.level, refs, Vec::new())?;
        top.level += 1;
    }
    Ok(())
}

/// Removes levels while the top node has a single child that fits the head.
pub(super) fn shrink<L: Leaf>(
    owner: &mut Owner<'_, impl NodeSink>,
    top: &mut Inner<L::Summary>,
) -> Result<(), RecordError> {
    while top.level > 1 {
        let [only] = top.refs.as_slice() else { return Ok(()) };
        let Some(node) = readable::<L>(owner, only, top.level)? else { return Ok(()) };
        if size_of(&node.refs)? > L::TOP_REFS {
            return Ok(());
        }
        for index in reusable::<L>(owner, top.level, vec![only.index]) {
            owner.sink.remove(child_id::<L>(owner.object, top.level, index));
        }
        *top = Inner::clone(&node);
    }
    Ok(())
}

/// Packs references into as few nodes of `level` as hold them, and returns references to those nodes. Nodes are
/// filled from the left, so that an object that grows at its end stays dense. If the last node would be less than half
/// full, it shares the references of the last two.
pub(super) fn pack<L: Leaf>(
    owner: &mut Owner<'_, impl NodeSink>,
    level: u8,
    refs: Vec<Ref<L::Summary>>,
    reuse: Vec<u64>,
) -> Result<Vec<Ref<L::Summary>>, RecordError> {
    let sizes = refs.iter().map(ref_size).collect::<Result<Vec<_>, _>>()?;
    let mut reuse = reusable::<L>(owner, level + 1, reuse).into_iter();
    let mut rest = refs.into_iter();
    let mut packed = Vec::new();
    for length in runs(&sizes, NODE_REFS) {
        let refs: Vec<_> = rest.by_ref().take(length).collect();
        let Some((first, others)) = refs.split_first() else { continue };
        let mut summary = first.summary.clone();
        for other in others {
            summary.join(&other.summary);
        }
        let index = reuse.next().unwrap_or_else(|| fresh_index(owner.next_index));
        let id = RecordId { kind: L::INNER, object: owner.object, index };
        owner.sink.put(id, L::inner_into_node(Inner { level, refs }));
        packed.push(Ref { index, tag: Tag::default(), summary });
    }
    for index in reuse {
        owner.sink.remove(RecordId { kind: L::INNER, object: owner.object, index });
    }
    Ok(packed)
}

/// Lengths of runs of items such that no run is larger than `full`: as many full runs as there are, and the
/// last two levelled out when the last would be less than half full. Does no I/O.
pub fn runs(sizes: &[usize], full: usize) -> Vec<usize> {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for size in sizes {
        match runs.last_mut() {
            Some((length, used)) if *used + size <= full => {
                *length += 1;
                *used += size;
            }
            _ => runs.push((1, *size)),
        }
    }
    let count = runs.len();
    if let Some([left, right]) =
        runs.get_mut(count.saturating_sub(2)..).and_then(|tail| <&mut [_; 2]>::try_from(tail).ok())
        && right.1 < full / 2
    {
        let mut boundary = sizes.len() - right.0;
        while let Some(size) = boundary.checked_sub(1).and_then(|item| sizes.get(item)) {
            if right.1 + size > left.1.saturating_sub(*size) {
                break;
            }
            *left = (left.0 - 1, left.1 - size);
            *right = (right.0 + 1, right.1 + size);
            boundary -= 1;
        }
    }
    runs.into_iter().map(|(length, _)| length).collect()
}

/// Divides items into runs of at most `full` bytes each. Does no I/O.
pub fn divide<T>(
    items: Vec<T>,
    size_of: impl Fn(&T) -> Result<usize, RecordError>,
    full: usize,
) -> Result<Vec<Vec<T>>, RecordError> {
    let sizes = items.iter().map(size_of).collect::<Result<Vec<_>, _>>()?;
    let mut rest = items.into_iter();
    let lengths = runs(&sizes, full).into_iter();
    Ok(lengths.map(|length| rest.by_ref().take(length).collect()).collect())
}

fn store_leaf<L: Leaf>(
    owner: &mut Owner<'_, impl NodeSink>,
    reuse: Option<u64>,
    leaf: L,
) -> Ref<L::Summary> {
    let index = reuse.unwrap_or_else(|| fresh_index(owner.next_index));
    let summary = leaf.summary();
    let id = RecordId { kind: L::LEAF, object: owner.object, index };
    owner.sink.put(id, leaf.into_node());
    Ref { index, tag: Tag::default(), summary }
}

/// Those of the children of a node of `level` that may be overwritten or removed.
fn reusable<L: Leaf>(
    owner: &mut Owner<'_, impl NodeSink>,
    level: u8,
    mut indexes: Vec<u64>,
) -> Vec<u64> {
    indexes.retain(|index| !owner.sink.retires(child_id::<L>(owner.object, level, *index)));
    indexes
}

fn fresh_index(next: &mut u64) -> u64 {
    // 2^64 nodes cannot be written in the life of a store; saturating keeps a forged counter from wrapping to 0.
    *next = next.saturating_add(1);
    *next
}

fn ref_size<S: Summary>(child: &Ref<S>) -> Result<usize, RecordError> {
    codec::encoded_len(child).map_err(|_| RecordError::TooLarge)
}

fn size_of<S: Summary>(refs: &[Ref<S>]) -> Result<usize, RecordError> {
    refs.iter().map(ref_size).sum()
}

/// Bytes of references in one inner node: a node's body less level and length.
const NODE_REFS: usize = NODE_BYTES - 4;
