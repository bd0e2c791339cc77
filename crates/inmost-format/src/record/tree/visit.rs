//! Visiting the leaves of a counted tree in either direction.

use std::collections::HashSet;
use std::marker::PhantomData;
use std::ops::Range;

use super::super::{Flaw, NodeSource, ObjectId, RecordError};
use super::{Body, FoundLeaf, Inner, Leaf, Place, load_inner, load_leaf, measure};

/// Where a visit begins, and its direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// In order, from the first place that ends after this position.
    Forward(u64),
    /// In reverse order, from the last place that begins before this position.
    Back(u64),
}

impl<L: Leaf> Body<L> {
    /// Visits leaves in order, with the position of each, from the first that ends after `from`.
    /// The visitor returns whether to continue. A tree that contains a node twice is damaged: a forged tree of few nodes could
    /// have more leaves than can be read.
    pub fn visit<E: From<RecordError>>(
        &self,
        source: &impl NodeSource,
        object: ObjectId,
        from: u64,
        visitor: &mut impl FnMut(u64, &L) -> Result<bool, E>,
    ) -> Result<(), E> {
        self.walk(source, object, Way::Forward(from), &mut |step| match step {
            Step::Leaf(start, leaf) => visitor(start, &leaf),
            Step::Unread(_, error) => Err(error.into()),
        })
    }

    /// Visits leaves and the positions below nodes that cannot be read. The visitor returns whether to continue. A tree that
    /// contains a node twice is damaged, as in [`visit`](Self::visit).
    ///
    /// # Errors
    /// Those of the visitor, and those of the source but for damage to a node.
    pub fn visit_places<E: From<RecordError>>(
        &self,
        source: &impl NodeSource,
        object: ObjectId,
        way: Way,
        visitor: &mut impl FnMut(Place<'_, L>) -> Result<bool, E>,
    ) -> Result<(), E> {
        self.walk(source, object, way, &mut |step| match step {
            Step::Leaf(start, leaf) => visitor(Place::Leaf(start, leaf)),
            Step::Unread(positions, RecordError::Damaged { .. }) => visitor(Place::Gap(positions)),
            Step::Unread(_, error) => Err(error.into()),
        })
    }

    fn walk<E: From<RecordError>>(
        &self,
        source: &impl NodeSource,
        object: ObjectId,
        way: Way,
        visitor: &mut impl FnMut(Step<'_, L>) -> Result<bool, E>,
    ) -> Result<(), E> {
        match self {
            Self::Inline(leaf) => visitor(Step::Leaf(0, FoundLeaf::Inline(leaf))).map(drop),
            Self::Tree(inner) => {
                let (reached, leaf) = (HashSet::new(), PhantomData);
                let mut walk = Walk::<_, L, _> { source, object, way, visitor, reached, leaf };
                walk.inner(inner, 0).map(drop)
            }
        }
    }
}

/// What a walk comes to.
enum Step<'a, L> {
    /// A leaf, with the position before it.
    Leaf(u64, FoundLeaf<'a, L>),
    /// The positions below a node that could not be read, and why.
    Unread(Range<u64>, RecordError),
}

struct Walk<'a, S, L, V> {
    source: &'a S,
    object: ObjectId,
    way: Way,
    visitor: &'a mut V,
    /// Indexes of the nodes looked at so far.
    reached: HashSet<u64>,
    leaf: PhantomData<L>,
}

impl<S: NodeSource, L: Leaf, V> Walk<'_, S, L, V> {
    /// Visits the places below a node; returns whether to continue after it.
    fn inner<E: From<RecordError>>(
        &mut self,
        inner: &Inner<L::Summary>,
        mut before: u64,
    ) -> Result<bool, E>
    where
        V: FnMut(Step<'_, L>) -> Result<bool, E>,
    {
        let mut children = Vec::with_capacity(inner.refs.len());
        for child in &inner.refs {
            let after = before.saturating_add(measure(child));
            let is_on_the_way = match self.way {
                Way::Forward(from) => after > from,
                Way::Back(from) => before < from,
            };
            if is_on_the_way {
                children.push((before..after, child));
            }
            before = after;
        }
        if matches!(self.way, Way::Back(_)) {
            children.reverse();
        }
        for (positions, child) in children {
            if !self.reached.insert(child.index) {
                let repeated = RecordError::Damaged { kind: L::INNER, flaw: Flaw::Repeated };
                return Err(repeated.into());
            }
            let start = positions.start;
            let goes_on = if inner.level <= 1 {
                (self.visitor)(match load_leaf::<L>(self.source, self.object, child) {
                    Ok(leaf) => Step::Leaf(start, FoundLeaf::Stored(leaf)),
                    Err(error) => Step::Unread(positions, error),
                })?
            } else {
                match load_inner::<L>(self.source, self.object, child, inner.level) {
                    Ok(node) => self.inner(&node, start)?,
                    Err(error) => (self.visitor)(Step::Unread(positions, error))?,
                }
            };
            if !goes_on {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
