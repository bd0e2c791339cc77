//! Keeps sled's page cache near its capacity.
//!
//! sled evicts pages in 256 shards. A shard counts accesses, and only every 64th makes it evict what is beyond its
//! part of the capacity. So reads at random addresses, which is what reads of a store are, leave up to 64 pages in each
//! shard beyond the capacity. A page has about 25 KiB, so a session that read 100,000 files had 100 MiB more than
//! the capacity, however small that was.
//!
//! sled cannot be told to evict. But accesses to the same page count too, so looking up the same address again makes its
//! shard evict sooner. A lookup in a page that is loaded takes about 0.5 microseconds, reading a page 20.

use std::fs::File;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether lookups must be repeated.
#[derive(Default)]
pub(super) struct Eviction {
    is_large: AtomicBool,
}

impl Eviction {
    /// Notes the length of the log. Its pages take about as much memory as in the log, so all of a short one may stay.
    pub(super) fn note_length(&self, log: &File) {
        // Best effort: without the length, only the memory is larger.
        if let Ok(metadata) = log.metadata() {
            self.is_large.store(metadata.len() > SHORT_LOG_BYTES, Ordering::Relaxed);
        }
    }

    /// Looks an address up again, after `db` has loaded its page.
    pub(super) fn hasten(&self, db: &sled::Db, address: [u8; 32]) -> Result<(), sled::Error> {
        if self.is_large.load(Ordering::Relaxed) {
            for _ in 1..ACCESSES {
                db.contains_key(address)?;
            }
        }
        Ok(())
    }
}

/// Accesses that each lookup counts as: at most 64 / 8 pages a shard are beyond the capacity. A session has
/// 165 MiB after it read 100,000 files with one access, 74 with four, 54 with eight, 46 with sixteen.
const ACCESSES: usize = 8;

/// The longest log whose pages may all stay in memory.
const SHORT_LOG_BYTES: u64 = 64 << 20;
