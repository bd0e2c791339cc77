//! Decoded nodes that were read or written recently, within a bound; wiped when they are evicted.
//!
//! An entry is valid for one tag only. A reference names the tag it wants, so the cache can never return a different
//! state, and nothing has to be invalidated.

use std::collections::VecDeque;

use inmost_format::record::{ByRecord, Node, RecordId, Tag};

/// A bounded cache that evicts the oldest entry, unless it was used since it was looked at last: then it counts as new
/// ("second chance"; Corbato, "A paging experiment with the Multics system", 1968). So a walk through everything finds what it
/// found before, if that fits the bound.
#[derive(Default)]
pub(super) struct NodeCache {
    bound: usize,
    nodes: ByRecord<Cached>,
    bytes: usize,
    /// The entries by age, and the numbers of their insertions. An entry that has another number now is no more.
    by_age: VecDeque<(u64, RecordId)>,
    insertions: u64,
}

struct Cached {
    tag: Tag,
    node: Node,
    bytes: usize,
    insertion: u64,
    was_used: bool,
}

impl NodeCache {
    /// Sets the most bytes that are kept, from the next insertion on.
    pub(super) fn set_bound(&mut self, bound: usize) {
        self.bound = bound;
    }

    /// Bytes of all entries.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the node if it is cached with this tag.
    pub(crate) fn get(&mut self, id: RecordId, tag: &Tag) -> Option<Node> {
        let cached = self.nodes.get_mut(&id).filter(|cached| cached.tag == *tag)?;
        cached.was_used = true;
        Some(cached.node.clone())
    }

    /// Caches a node whose body has this many bytes, unless it is larger than half the bound.
    pub(crate) fn put(&mut self, id: RecordId, tag: Tag, node: Node, bytes: usize) {
        self.remove(id);
        let bytes = bytes.saturating_add(OVERHEAD);
        if bytes > self.bound / 2 {
            return;
        }
        self.evict_to(self.bound.saturating_sub(bytes));
        self.insertions = self.insertions.wrapping_add(1);
        let insertion = self.insertions;
        self.bytes = self.bytes.saturating_add(bytes);
        self.nodes.insert(id, Cached { tag, node, bytes, insertion, was_used: false });
        if self.by_age.len() > self.nodes.len().saturating_mul(2).saturating_add(LEAST_AGES) {
            self.by_age.retain(|(insertion, id)| {
                self.nodes.get(id).is_some_and(|cached| cached.insertion == *insertion)
            });
        }
        self.by_age.push_back((insertion, id));
    }

    /// Drops a node.
    pub(crate) fn remove(&mut self, id: RecordId) {
        if let Some(removed) = self.nodes.remove(&id) {
            self.bytes = self.bytes.saturating_sub(removed.bytes);
        }
    }

    /// Evicts nodes until so many bytes are left.
    pub(super) fn evict_to(&mut self, bytes: usize) {
        while self.bytes > bytes
            && let Some((insertion, id)) = self.by_age.pop_front()
        {
            match self.nodes.get_mut(&id).filter(|cached| cached.insertion == insertion) {
                Some(cached) if cached.was_used => {
                    cached.was_used = false;
                    self.by_age.push_back((insertion, id));
                }
                Some(_) => self.remove(id),
                None => {}
            }
        }
    }
}

/// Entries of `by_age` that may be no more, besides as many as there are nodes.
const LEAST_AGES: usize = 64;
/// Bytes that an entry costs besides its body.
const OVERHEAD: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;
    use inmost_format::record::node::{Node, Text};
    use inmost_format::record::tree::Leaf;
    use inmost_format::record::{Kind, ObjectId};

    fn id(index: u64) -> RecordId {
        RecordId { kind: Kind::Chunk, object: ObjectId([0; 16]), index }
    }

    fn node() -> Node {
        Text::new("x").into_node()
    }

    fn cache(bound: usize) -> NodeCache {
        let mut cache = NodeCache::default();
        cache.set_bound(bound);
        cache
    }

    #[test]
    fn another_tag_is_a_miss() {
        let mut cache = cache(10_000);
        cache.put(id(1), Tag([1; 16]), node(), 100);
        assert!(cache.get(id(1), &Tag([1; 16])).is_some());
        assert!(cache.get(id(1), &Tag([2; 16])).is_none());
    }

    #[test]
    fn a_bound_of_nothing_keeps_nothing() {
        let mut cache = cache(0);
        cache.put(id(1), Tag([1; 16]), node(), 1);
        assert!(cache.get(id(1), &Tag([1; 16])).is_none());
    }

    #[test]
    fn the_bound_holds_and_used_entries_stay() {
        let mut cache = cache(10_000);
        for index in 0..1_000 {
            cache.put(id(index), Tag([1; 16]), node(), 100);
            assert!(cache.get(id(0), &Tag([1; 16])).is_some(), "dropped at {index}");
            let nodes = cache.nodes.values();
            assert_eq!(nodes.map(|cached| cached.bytes).sum::<usize>(), cache.bytes());
            assert!(cache.bytes() <= 10_000 && cache.by_age.len() <= 200);
        }
    }

    #[test]
    fn a_walk_that_fits_is_found_again() {
        let mut cache = cache(10_000);
        let ids = 0..33;
        for round in 0..5 {
            for index in ids.clone() {
                let found = cache.get(id(index), &Tag([1; 16])).is_some();
                assert_eq!(found, round > 0, "{index}");
                if !found {
                    cache.put(id(index), Tag([1; 16]), node(), 100);
                }
            }
        }
    }

    #[test]
    fn the_ages_of_removed_entries_take_little_room() {
        let mut cache = cache(10_000);
        for round in 0..10_000 {
            cache.put(id(round % 3), Tag([1; 16]), node(), 100);
            cache.remove(id(round % 2));
            assert!(cache.by_age.len() <= 100);
        }
        cache.evict_to(0);
        assert_eq!((cache.bytes(), cache.nodes.len(), cache.by_age.len()), (0, 0, 0));
    }
}
