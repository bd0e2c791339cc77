//! Decoded nodes that were read or written recently, within a bound; wiped when they are evicted.
//!
//! An entry is valid for one tag only. A reference names the tag it wants, so the cache can never return a different
//! state, and nothing has to be invalidated.

use std::collections::HashMap;

use inmost_format::record::{Node, RecordId, Tag};

/// A bounded cache in two generations. When the young one would outgrow half the bound, it becomes the old one and the
/// old one is dropped. An entry of the old one that is used moves to the young one.
#[derive(Default)]
pub(super) struct NodeCache {
    bound: usize,
    young: Nodes,
    old: Nodes,
}

/// One generation.
#[derive(Default)]
struct Nodes {
    nodes: HashMap<RecordId, Cached>,
    bytes: usize,
}

struct Cached {
    tag: Tag,
    node: Node,
    bytes: usize,
}

impl NodeCache {
    /// Sets the most bytes that are kept, from the next insertion on.
    pub(super) fn set_bound(&mut self, bound: usize) {
        self.bound = bound;
    }

    /// Bytes of all entries.
    pub(super) fn bytes(&self) -> usize {
        self.young.bytes.saturating_add(self.old.bytes)
    }

    /// Returns the node if it is cached with this tag.
    pub(super) fn get(&mut self, id: RecordId, tag: &Tag) -> Option<Node> {
        if let Some(cached) = self.young.nodes.get(&id) {
            return (cached.tag == *tag).then(|| cached.node.clone());
        }
        let cached = self.old.remove(id)?;
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
        if self.young.bytes.saturating_add(added) > self.bound / 2 {
            self.drop_older();
        }
        self.young.bytes = self.young.bytes.saturating_add(added);
        self.young.nodes.insert(id, Cached { tag, node, bytes });
    }

    /// Drops a node.
    pub(super) fn remove(&mut self, id: RecordId) {
        self.old.remove(id);
        self.young.remove(id);
    }

    /// Drops the old generation; the young one becomes the old one.
    pub(super) fn drop_older(&mut self) {
        self.old = std::mem::take(&mut self.young);
    }
}

impl Nodes {
    fn remove(&mut self, id: RecordId) -> Option<Cached> {
        let cached = self.nodes.remove(&id)?;
        self.bytes = self.bytes.saturating_sub(cached.bytes.saturating_add(OVERHEAD));
        Some(cached)
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
            let nodes = cache.young.nodes.values().chain(cache.old.nodes.values());
            assert_eq!(nodes.map(|cached| cached.bytes + OVERHEAD).sum::<usize>(), cache.bytes());
            assert!(cache.bytes() <= 10_000);
        }
    }
}
