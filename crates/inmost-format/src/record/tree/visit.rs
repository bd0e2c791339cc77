//! Visiting the leaves of a counted tree in order.

use std::collections::HashSet;
use std::marker::PhantomData;

use super::super::{Flaw, NodeSource, ObjectId, RecordError};
use super::{Body, CountOf, Inner, Leaf, Summary, load_inner, load_leaf};

impl<L: Leaf> Body<L> {
    /// Visits leaves in order, with the counts before each, from the first that ends after `from`.
    /// The visitor returns whether to continue. A tree that contains a node twice is damaged: a forged tree of few nodes could
    /// have more leaves than can be read.
    pub fn visit<E: From<RecordError>>(
        &self,
        source: &impl NodeSource,
        object: ObjectId,
        from: u64,
        visitor: &mut impl FnMut(CountOf<L>, &L) -> Result<bool, E>,
    ) -> Result<(), E> {
        match self {
            Self::Inline(leaf) => visitor(CountOf::<L>::default(), leaf).map(drop),
            Self::Tree(inner) => {
                let mut walk = Visit::<_, L, _> {
                    source,
                    object,
                    from,
                    visitor,
                    reached: HashSet::new(),
                    leaf: PhantomData,
                };
                walk.inner(inner, CountOf::<L>::default()).map(drop)
            }
        }
    }
}

/// One visit of a run of leaves.
struct Visit<'a, S, L, V> {
    source: &'a S,
    object: ObjectId,
    from: u64,
    visitor: &'a mut V,
    /// Indexes of the nodes read so far.
    reached: HashSet<u64>,
    leaf: PhantomData<L>,
}

impl<S: NodeSource, L: Leaf, V> Visit<'_, S, L, V> {
    /// Visits the leaves below a node; returns whether to continue after it.
    fn inner<E: From<RecordError>>(
        &mut self,
        inner: &Inner<L::Summary>,
        mut before: CountOf<L>,
    ) -> Result<bool, E>
    where
        V: FnMut(CountOf<L>, &L) -> Result<bool, E>,
    {
        for child in &inner.refs {
            let mut after = before;
            after += child.summary.count();
            if after.into() > self.from {
                if !self.reached.insert(child.index) {
                    return Err(repeated::<L>().into());
                }
                let go_on = if inner.level <= 1 {
                    let leaf = load_leaf::<L>(self.source, self.object, child)?;
                    (self.visitor)(before, &*leaf)?
                } else {
                    let node = load_inner::<L>(self.source, self.object, child, inner.level)?;
                    self.inner(&node, before)?
                };
                if !go_on {
                    return Ok(false);
                }
            }
            before = after;
        }
        Ok(true)
    }
}

pub(super) fn repeated<L: Leaf>() -> RecordError {
    RecordError::Damaged { kind: L::INNER, flaw: Flaw::Repeated }
}
