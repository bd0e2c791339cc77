//! Sealed records that came along with a pull, within a bound.
//!
//! They are what the server sent, not yet opened. Each is compared with the tag of a reference before use, so an entry that
//! is out of date does no harm.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use super::super::handle::lock;
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
        held.bytes = held.bytes.saturating_add(value.len());
        match held.values.insert(address, value.into()) {
            Some(replaced) => held.bytes = held.bytes.saturating_sub(replaced.len()),
            None => held.order.push_back(address),
        }
        while held.bytes > BOUND {
            let Some(first) = held.order.pop_front() else { break };
            let length = held.values.remove(&first).map_or(0, |value| value.len());
            held.bytes = held.bytes.saturating_sub(length);
        }
    }

    pub(super) fn clear(&self) {
        *lock(&self.0) = Held::default();
    }
}

/// Bytes of values that are kept: two full pulls.
const BOUND: usize = 2 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    fn address(number: usize) -> Address {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&number.to_le_bytes());
        Address(bytes)
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
        assert_eq!(held.bytes, held.values.values().map(|value| value.len()).sum::<usize>());
        assert_eq!(held.order.len(), held.values.len());
        assert!(held.bytes <= BOUND && held.bytes > BOUND / 2);
        drop(held);
        assert_eq!(cache.get(&address(records - 1)).unwrap()[0], 2);
        assert!(cache.get(&address(0)).is_none());
    }
}
