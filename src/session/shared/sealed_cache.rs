//! Sealed records that came along with a pull, within a bound.
//!
//! They are what the server sent, not yet opened. Each is compared with the tag of a reference before use, so an entry that
//! is out of date does no harm.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use crate::session::sync::lock;
use inmost_storage::Address;

/// A bounded map. When it is full, what came first goes first.
#[derive(Default)]
pub(super) struct SealedCache(Mutex<Held>);

#[derive(Default)]
struct Held {
    values: HashMap<Address, Arc<[u8]>>,
    order: VecDeque<Address>,
    bytes: usize,
}

impl SealedCache {
    pub(super) fn get(&self, address: &Address) -> Option<Arc<[u8]>> {
        lock(&self.0).values.get(address).cloned()
    }

    /// Keeps the newest value of a record.
    pub(super) fn put(&self, address: Address, value: &[u8]) {
        let mut held = lock(&self.0);
        held.bytes = held.bytes.saturating_add(cost(value));
        match held.values.insert(address, value.into()) {
            Some(replaced) => held.bytes = held.bytes.saturating_sub(cost(&replaced)),
            None => held.order.push_back(address),
        }
        while held.bytes > BOUND {
            let Some(first) = held.order.pop_front() else { break };
            let freed = held.values.remove(&first).map_or(0, |value| cost(&value));
            held.bytes = held.bytes.saturating_sub(freed);
        }
    }

    pub(super) fn clear(&self) {
        *lock(&self.0) = Held::default();
    }
}

/// Bytes that an entry takes.
fn cost(value: &[u8]) -> usize {
    value.len().saturating_add(OVERHEAD)
}

/// Bytes that are kept: two full pulls.
const BOUND: usize = 2 << 20;
/// Bytes of an entry besides its value: the address twice, in the map and in the order, the pointer with its length, the counters of
/// the allocation, and the room that a map and a queue keep free, which is up to as much again.
const OVERHEAD: usize =
    2 * (2 * size_of::<Address>() + 2 * size_of::<usize>()) + 4 * size_of::<usize>();

#[cfg(test)]
mod tests {
    use super::*;

    fn address(number: usize) -> Address {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&number.to_le_bytes());
        Address(bytes)
    }

    #[test]
    fn short_values_do_not_exceed_the_bound_by_their_addresses() {
        let cache = SealedCache::default();
        for number in 0..4 * BOUND / 297 {
            cache.put(address(number), &[1; 297]);
        }
        let held = lock(&cache.0);
        let map = held.values.capacity() * (size_of::<Address>() + size_of::<Arc<[u8]>>() + 1);
        let order = held.order.capacity() * size_of::<Address>();
        let values = held.values.len() * (297 + 2 * size_of::<usize>());
        assert!(map + order + values <= BOUND, "{map} + {order} + {values}");
    }

    #[test]
    fn the_bound_holds_and_the_newest_stay() {
        let cache = SealedCache::default();
        let records = 2 * BOUND / 4_096;
        for number in 0..records {
            cache.put(address(number), &[1; 4_096]);
            cache.put(address(number), &[2; 4_096]);
        }
        let held = lock(&cache.0);
        assert_eq!(held.bytes, held.values.values().map(|value| cost(value)).sum::<usize>());
        assert_eq!(held.order.len(), held.values.len());
        assert!(held.bytes <= BOUND && held.bytes > BOUND / 2);
        drop(held);
        assert_eq!(cache.get(&address(records - 1)).unwrap()[0], 2);
        assert!(cache.get(&address(0)).is_none());
    }
}
