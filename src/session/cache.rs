//! Decoded nodes that were read or written recently, within a bound; wiped when they are evicted.
//!
//! An entry is valid for one tag only. A reference names the tag it wants, so the cache can never return a different
//! state, and nothing has to be invalidated.

use std::collections::HashMap;

use inmost_format::record::{Node, RecordId, Tag};

/// A bounded cache in two generations. When the young one would outgrow half the bound, it becomes the old one and the
/// old one is dropped. An entry of the old one that is used moves to the young one.
pub(super) struct NodeCache {
    bound: usize,
    young: HashMap<RecordId, Cached>,
    young_bytes: usize,
    old: HashMap<RecordId, Cached>,
}

struct Cached {
    tag: Tag,
    node: Node,
    bytes: usize,
}

impl NodeCache {
    /// Creates a cache of at most this many bytes.
    pub(super) fn new(bound: usize) -> Self {
        Self { bound, young: HashMap::new(), young_bytes: 0, old: HashMap::new() }
    }

    /// Returns the node if it is cached with this tag.
    pub(super) fn get(&mut self, id: RecordId, tag: &Tag) -> Option<Node> {
        if let Some(cached) = self.young.get(&id) {
            return (cached.tag == *tag).then(|| cached.node.clone());
        }
        let cached = self.old.remove(&id)?;
        let node = (cached.tag == *tag).then(|| cached.node.clone())?;
        self.put(id, cached.tag, cached.node, cached.bytes);
        Some(node)
    }

    /// Caches a node whose body has this many bytes, unless it is larger than half the bound.
    pub(super) fn put(&mut self, id: RecordId, tag: Tag, node: Node, bytes: usize) {
        self.remove(id);
        let added = bytes.saturating_add(OVERHEAD);
        if added > self.bound / 2 {
            return;
        }
        if self.young_bytes.saturating_add(added) > self.bound / 2 {
            self.old = std::mem::take(&mut self.young);
            self.young_bytes = 0;
        }
        self.young_bytes = self.young_bytes.saturating_add(added);
        self.young.insert(id, Cached { tag, node, bytes });
    }

    /// Drops a node.
    pub(super) fn remove(&mut self, id: RecordId) {
        self.old.remove(&id);
        if let Some(cached) = self.young.remove(&id) {
            self.young_bytes =
                self.young_bytes.saturating_sub(cached.bytes.saturating_add(OVERHEAD));
        }
    }
}

/// Bytes that an entry costs besides its body.
const OVERHEAD: usize = 160;

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

    #[test]
    fn another_tag_is_a_miss() {
        let mut cache = NodeCache::new(10_000);
        cache.put(id(1), Tag([1; 16]), node(), 100);
        assert!(cache.get(id(1), &Tag([1; 16])).is_some());
        assert!(cache.get(id(1), &Tag([2; 16])).is_none());
    }

    #[test]
    fn a_bound_of_nothing_keeps_nothing() {
        let mut cache = NodeCache::new(0);
        cache.put(id(1), Tag([1; 16]), node(), 1);
        assert!(cache.get(id(1), &Tag([1; 16])).is_none());
    }

    #[test]
    fn the_bound_holds_and_used_entries_stay() {
        let mut cache = NodeCache::new(10_000);
        for index in 0..1_000 {
            cache.put(id(index), Tag([1; 16]), node(), 100);
            assert!(cache.get(id(0), &Tag([1; 16])).is_some(), "dropped at {index}");
            let bytes: usize = cache
                .young
                .values()
                .chain(cache.old.values())
                .map(|cached| cached.bytes + OVERHEAD)
                .sum();
            assert!(bytes <= 10_000);
        }
    }
}
