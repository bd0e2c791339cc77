//! What a session keeps of a store because other hosts change it too.
//!
//! Sealed records come along with a pull, not yet opened. Each is compared with the tag of a reference before use, so one that
//! is out of date does no harm.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::session::sync::{Mutex, lock};
use inmost_storage::Address;

/// Records that a pull has brought, and what came of reading others.
pub(crate) struct Pulled {
    /// Commits of other hosts, or several at once, that the session has taken over.
    pub(crate) adopted: u64,
    /// Sealed records, as they were stored.
    sealed: Mutex<Sealed>,
    /// Nodes that were not those that their references mean.
    mismatches: AtomicU64,
    /// How long to look for the server after a connection was lost.
    pub(crate) outcome_timeout: Duration,
}

impl Pulled {
    pub(super) fn new(outcome_timeout: Duration) -> Self {
        let sealed = Mutex::default();
        Self { adopted: 0, sealed, mismatches: AtomicU64::new(0), outcome_timeout }
    }

    /// A record that a pull has brought.
    pub(super) fn get(&self, address: &Address) -> Option<Arc<[u8]>> {
        lock(&self.sealed).values.get(address).cloned()
    }

    /// Keeps records, of which the newest come first.
    pub(crate) fn keep(&self, rows: &[(Address, Vec<u8>)]) {
        // What comes last stays longest.
        rows.iter().rev().for_each(|(address, value)| self.put(*address, value));
    }

    /// Keeps the newest value of a record.
    fn put(&self, address: Address, value: &[u8]) {
        let mut sealed = lock(&self.sealed);
        sealed.bytes = sealed.bytes.saturating_add(cost(value));
        match sealed.values.insert(address, value.into()) {
            Some(replaced) => sealed.bytes = sealed.bytes.saturating_sub(cost(&replaced)),
            None => sealed.order.push_back(address),
        }
        while sealed.bytes > BOUND {
            let Some(first) = sealed.order.pop_front() else { break };
            let freed = sealed.values.remove(&first).map_or(0, |value| cost(&value));
            sealed.bytes = sealed.bytes.saturating_sub(freed);
        }
    }

    /// Forgets the records, for a generation that is used no more.
    pub(crate) fn clear(&self) {
        *lock(&self.sealed) = Sealed::default();
    }

    pub(super) fn note_mismatch(&self) {
        self.mismatches.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn mismatches(&self) -> u64 {
        self.mismatches.load(Ordering::Relaxed)
    }
}

/// A bounded map. When it is full, what came first goes first.
#[derive(Default)]
struct Sealed {
    values: HashMap<Address, Arc<[u8]>>,
    order: VecDeque<Address>,
    bytes: usize,
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
        let cache = Pulled::new(Duration::ZERO);
        for number in 0..4 * BOUND / 297 {
            cache.put(address(number), &[1; 297]);
        }
        let held = lock(&cache.sealed);
        let map = held.values.capacity() * (size_of::<Address>() + size_of::<Arc<[u8]>>() + 1);
        let order = held.order.capacity() * size_of::<Address>();
        let values = held.values.len() * (297 + 2 * size_of::<usize>());
        assert!(map + order + values <= BOUND, "{map} + {order} + {values}");
    }

    #[test]
    fn the_bound_holds_and_the_newest_stay() {
        let cache = Pulled::new(Duration::ZERO);
        let records = 2 * BOUND / 4_096;
        for number in 0..records {
            cache.put(address(number), &[1; 4_096]);
            cache.put(address(number), &[2; 4_096]);
        }
        let held = lock(&cache.sealed);
        assert_eq!(held.bytes, held.values.values().map(|value| cost(value)).sum::<usize>());
        assert_eq!(held.order.len(), held.values.len());
        assert!(held.bytes <= BOUND && held.bytes > BOUND / 2);
        drop(held);
        assert_eq!(cache.get(&address(records - 1)).unwrap()[0], 2);
        assert!(cache.get(&address(0)).is_none());
    }
}
