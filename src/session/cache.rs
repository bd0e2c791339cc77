//! The cache of a session, within a bound of its own or within the bound that sessions share.
//!
//! A session with default options shares the bound of the process, so a thousand unlocked stores need no more memory
//! for caches than a few. When the shared caches together exceed it, the sessions whose last use is longest ago give
//! up theirs first, the older half of each before the rest.
//!
//! A node that is evicted is wiped before the call that evicts it returns, and all nodes of a session are wiped when it
//! is dropped, even while another session evicts them.

mod node_cache;
pub(crate) mod notes;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use self::node_cache::NodeCache;
use crate::limits;
use inmost_format::record::{Node, RecordId, Tag};
use inmost_format::secret::PerProcess;

/// Sets the most bytes of decrypted nodes that the sessions of this process cache together, except sessions with a
/// bound of their own ([`SessionOptions::max_cache_bytes`](crate::SessionOptions::max_cache_bytes)); 64 MiB by default.
///
/// A single session caches 16 MiB of it at most, less 12 bytes for each file of its store but no less than 4 MiB, because the index
/// of the engine takes more memory with each file. If the sessions cache more now, nodes are evicted before this returns.
///
/// ```
/// // A host of many stores on a small machine.
/// inmost::set_shared_cache_bytes(8 << 20);
/// ```
pub fn set_shared_cache_bytes(bytes: usize) {
    shared_bound().set_bound(bytes);
}

/// The bound of this process. A forked child begins with the bound of its parent and without its caches, whose locks
/// other threads may have held.
fn shared_bound() -> &'static Arc<SharedBound> {
    static BOUND: PerProcess<Arc<SharedBound>> = PerProcess::new();
    BOUND.get(|parent| {
        let bytes = parent.map(|parent| parent.bound.load(Ordering::Relaxed));
        Arc::new(SharedBound::new(bytes.unwrap_or(limits::SHARED_CACHE_BYTES)))
    })
}

/// The cache of one session; wiped on drop.
pub(super) struct SessionCache {
    member: Arc<Member>,
    bound: Bound,
}

enum Bound {
    Own(usize),
    /// The shared bound, and the number of this cache there.
    Shared(Arc<SharedBound>, u64),
}

/// The part of a cache that other sessions reach.
#[derive(Default)]
struct Member {
    nodes: Mutex<NodeCache>,
    /// When it was last used, by the clock of the shared bound.
    used: AtomicU64,
    /// Files in the store.
    files: AtomicUsize,
}

/// A bound on several caches together.
struct SharedBound {
    bound: AtomicUsize,
    /// Bytes of all members. Each member's part changes only under the lock of its nodes.
    bytes: AtomicUsize,
    /// Counts insertions.
    clock: AtomicU64,
    members: Mutex<Members>,
}

#[derive(Default)]
struct Members {
    next: u64,
    /// Weak, because a session that is locked must not wait for an eviction to be wiped.
    caches: BTreeMap<u64, Weak<Member>>,
}

impl SessionCache {
    /// Creates a cache of at most this many bytes, or one that shares the bound of the process.
    pub(super) fn new(own_bound: Option<usize>) -> Self {
        own_bound.map_or_else(|| Self::sharing(shared_bound()), Self::bounded)
    }

    fn bounded(bytes: usize) -> Self {
        Self { member: Arc::default(), bound: Bound::Own(bytes) }
    }

    fn sharing(bound: &Arc<SharedBound>) -> Self {
        let member = Arc::default();
        let number = bound.admit(&member);
        Self { member, bound: Bound::Shared(Arc::clone(bound), number) }
    }

    /// Sets the number of files in the store.
    pub(super) fn note_files(&self, files: u64) {
        let files = usize::try_from(files).unwrap_or(usize::MAX);
        self.member.files.store(files, Ordering::Relaxed);
    }

    /// Returns the node if it is cached with this tag.
    pub(super) fn get(&self, id: RecordId, tag: &Tag) -> Option<Node> {
        if let Bound::Shared(shared, _) = &self.bound {
            self.member.used.store(shared.clock.load(Ordering::Relaxed), Ordering::Relaxed);
        }
        // An entry of the old generation that moves to the young one may evict others.
        self.change(|nodes| nodes.get(id, tag))
    }

    /// Caches a node whose body has this many bytes.
    pub(super) fn put(&self, id: RecordId, tag: Tag, node: Node, bytes: usize) {
        let Bound::Shared(shared, _) = &self.bound else {
            return self.change(|nodes| nodes.put(id, tag, node, bytes));
        };
        let now = shared.clock.fetch_add(1, Ordering::Relaxed).saturating_add(1);
        self.member.used.store(now, Ordering::Relaxed);
        self.change(|nodes| nodes.put(id, tag, node, bytes));
        shared.make_room();
    }

    /// Drops a node.
    pub(super) fn remove(&self, id: RecordId) {
        self.change(|nodes| nodes.remove(id));
    }

    /// Drops all nodes.
    pub(super) fn clear(&self) {
        self.change(|nodes| *nodes = NodeCache::default());
    }

    fn change<T>(&self, change: impl FnOnce(&mut NodeCache) -> T) -> T {
        let mut nodes = lock(&self.member.nodes);
        match &self.bound {
            Bound::Own(bytes) => {
                nodes.set_bound(*bytes);
                change(&mut nodes)
            }
            Bound::Shared(shared, _) => {
                nodes.set_bound(shared.of_one(self.member.files.load(Ordering::Relaxed)));
                shared.count(&mut nodes, change)
            }
        }
    }
}

impl Drop for SessionCache {
    fn drop(&mut self) {
        // Here and not with the last reference, which another session may hold while it evicts.
        self.clear();
        if let Bound::Shared(shared, number) = &self.bound {
            lock(&shared.members).caches.remove(number);
        }
    }
}

impl SharedBound {
    fn new(bytes: usize) -> Self {
        Self {
            bound: AtomicUsize::new(bytes),
            bytes: AtomicUsize::new(0),
            clock: AtomicU64::new(0),
            members: Mutex::default(),
        }
    }

    fn set_bound(&self, bytes: usize) {
        self.bound.store(bytes, Ordering::Relaxed);
        self.make_room();
    }

    /// The most bytes of a member whose store has so many files.
    fn of_one(&self, files: usize) -> usize {
        let index = files.saturating_mul(limits::INDEX_BYTES_OF_FILE);
        let rest = limits::CACHE_BYTES.saturating_sub(index).max(limits::CACHE_BYTES_LEAST);
        self.bound.load(Ordering::Relaxed).min(rest)
    }

    fn admit(&self, member: &Arc<Member>) -> u64 {
        let mut members = lock(&self.members);
        let number = members.next;
        members.next = number.wrapping_add(1);
        members.caches.insert(number, Arc::downgrade(member));
        number
    }

    /// Changes the nodes of a member and counts their bytes again.
    fn count<T>(&self, nodes: &mut NodeCache, change: impl FnOnce(&mut NodeCache) -> T) -> T {
        let before = nodes.bytes();
        let result = change(nodes);
        let after = nodes.bytes();
        if after >= before {
            self.bytes.fetch_add(after - before, Ordering::Relaxed);
        } else {
            self.bytes.fetch_sub(before - after, Ordering::Relaxed);
        }
        result
    }

    /// Evicts nodes until the members are within the bound. The caller must hold no member's lock.
    fn make_room(&self) {
        let bound = self.bound.load(Ordering::Relaxed);
        if self.bytes.load(Ordering::Relaxed) <= bound {
            return;
        }
        // Held throughout, so that a second thread finds the room that the first one made.
        let members = lock(&self.members);
        if self.bytes.load(Ordering::Relaxed) <= bound {
            return;
        }
        // A part of the bound is freed at once, because finding the members takes time for each of them.
        let goal = bound - bound / 8;
        let mut by_use: Vec<_> = members
            .caches
            .values()
            .filter_map(Weak::upgrade)
            .map(|member| (member.used.load(Ordering::Relaxed), member))
            .collect();
        by_use.sort_by_key(|(used, _)| *used);
        for (_, member) in by_use {
            for share in [2, usize::MAX] {
                if self.bytes.load(Ordering::Relaxed) <= goal {
                    return;
                }
                let mut nodes = lock(&member.nodes);
                let rest = nodes.bytes() / share;
                self.count(&mut nodes, |nodes| nodes.evict_to(rest));
            }
        }
    }
}

/// A panic elsewhere cannot corrupt a cache in a way that matters: an entry is used only for the tag it was stored with.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use inmost_format::record::node::Text;
    use inmost_format::record::tree::Leaf;
    use inmost_format::record::{Kind, ObjectId};

    const TAG: Tag = Tag([1; 16]);

    fn id(index: u64) -> RecordId {
        RecordId { kind: Kind::Chunk, object: ObjectId([0; 16]), index }
    }

    fn node() -> Node {
        Text::new("x").into_node()
    }

    fn put(cache: &SessionCache, indices: std::ops::Range<u64>) {
        indices.for_each(|index| cache.put(id(index), TAG, node(), 840));
    }

    fn cached(cache: &SessionCache, indices: std::ops::Range<u64>) -> usize {
        indices.filter(|index| cache.get(id(*index), &TAG).is_some()).count()
    }

    fn bytes(bound: &SharedBound) -> usize {
        bound.bytes.load(Ordering::Relaxed)
    }

    #[test]
    fn sessions_keep_within_the_bound_that_they_share() {
        let bound = Arc::new(SharedBound::new(100_000));
        let caches: Vec<_> = (0..50).map(|_| SessionCache::sharing(&bound)).collect();
        for cache in &caches {
            put(cache, 0..10);
            assert!(bytes(&bound) <= 100_000);
        }
        let sum: usize = caches.iter().map(|cache| lock(&cache.member.nodes).bytes()).sum();
        assert_eq!((sum, sum > 80_000), (bytes(&bound), true));
    }

    #[test]
    fn the_session_that_was_not_used_for_longest_gives_up_its_nodes_first() {
        let bound = Arc::new(SharedBound::new(40_000));
        let [idle, used, busy] = [(); 3].map(|()| SessionCache::sharing(&bound));
        put(&idle, 0..10);
        put(&used, 0..10);
        put(&busy, 0..10);
        assert_eq!(cached(&used, 0..10), 10);
        put(&busy, 10..21);
        assert_eq!(
            (cached(&idle, 0..10), cached(&used, 0..10), cached(&busy, 10..21)),
            (0, 10, 11)
        );
    }

    #[test]
    fn a_session_alone_keeps_within_a_small_bound_without_losing_everything() {
        let bound = Arc::new(SharedBound::new(40_000));
        let cache = SessionCache::sharing(&bound);
        for index in 0..1_000 {
            put(&cache, index..index + 1);
            assert!(bytes(&bound) <= 40_000 && cached(&cache, 0..1) == 1, "at {index}");
        }
    }

    #[test]
    fn a_session_of_a_large_store_caches_less() {
        let bound = Arc::new(SharedBound::new(64 << 20));
        assert_eq!(bound.of_one(0), 16 << 20);
        assert_eq!(bound.of_one(100_000), (16 << 20) - 1_200_000);
        assert_eq!([bound.of_one(2_000_000), bound.of_one(usize::MAX)], [4 << 20; 2]);
        let cache = SessionCache::sharing(&bound);
        put(&cache, 0..10_000);
        cache.note_files(1_000_000);
        put(&cache, 0..1);
        assert!(bytes(&bound) <= 5 << 20);
    }

    #[test]
    fn a_lowered_bound_evicts_at_once() {
        let bound = Arc::new(SharedBound::new(100_000));
        let cache = SessionCache::sharing(&bound);
        put(&cache, 0..50);
        bound.set_bound(10_000);
        assert!(bytes(&bound) <= 10_000);
        bound.set_bound(0);
        put(&cache, 0..10);
        assert_eq!((bytes(&bound), cached(&cache, 0..50)), (0, 0));
    }

    #[test]
    fn a_session_with_its_own_bound_is_apart() {
        let bound = Arc::new(SharedBound::new(10_000));
        let own = SessionCache::bounded(100_000);
        put(&own, 0..40);
        assert_eq!((cached(&own, 0..40), bytes(&bound)), (40, 0));
    }

    #[test]
    fn a_dropped_session_leaves_nothing_behind() {
        let bound = Arc::new(SharedBound::new(100_000));
        let cache = SessionCache::sharing(&bound);
        put(&cache, 0..10);
        // Another session is about to evict it.
        let reached = Arc::clone(&cache.member);
        drop(cache);
        assert_eq!((bytes(&bound), lock(&reached.nodes).bytes()), (0, 0));
        assert!(lock(&bound.members).caches.is_empty());
    }

    #[test]
    fn sessions_evict_each_other_from_many_threads() {
        let bound = Arc::new(SharedBound::new(20_000));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..20 {
                        let cache = SessionCache::sharing(&bound);
                        put(&cache, 0..50);
                        cached(&cache, 0..50);
                    }
                });
            }
        });
        assert_eq!(bytes(&bound), 0);
    }
}
