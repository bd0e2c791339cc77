//! The bounds that every engine and storage enforces, each with its reason.

use std::time::Duration;

/// The longest sealed value, in bytes. sled moves pages above a quarter of a segment (512 KiB) into blob
/// files, which it never syncs and leaks when they are overwritten. A leaf with 17 values of this length
/// stays below that.
pub const RECORD_VALUE_BYTES: usize = 4_137;
/// The most records that an ordinary engine batch changes, including the root. sled reuses log segments that
/// it believes durable before our own sync, so its writes for one batch must stay below one segment. Their
/// size depends on the number of pages touched (each holds up to 17 records) far more than on the length of
/// the values.
pub const BATCH_RECORDS: usize = 31;
/// The most records of a group of calls, on an engine without a journal. An import fills one group after the other with the longest
/// records, and what an engine writes for a batch varies: with 31 of them sled once wrote 1.7 MB between two syncs, of the 2 MiB
/// that it may.
pub const GROUP_RECORDS: usize = 25;
/// The most records that any batch may change, without the mark that a journal adds. Only a rename between two very deep branches needs this
/// many.
pub const BATCH_RECORDS_MAX: usize = 128;
/// The most bytes read from a header copy. It is far above the length of a header and bounds the cost of a
/// huge file in its place.
pub const HEADER_READ_BYTES: u64 = 64 << 10;
/// How long a host's lease on a generation that it writes lasts without renewal. A rewrite renews it with every batch, so only a
/// host that is gone, or was stopped for this long, loses it.
pub const LEASE: Duration = Duration::from_secs(60);
/// The most records of one pull. What a busy store changes between two calls of a session is far below it; a session that was
/// away longer reads the rest when it needs it.
pub const PULL_RECORDS: usize = 256;
/// A shared engine keeps the trail of a root whose commit number is in another group of so many than that of the root before it. A trail
/// holds the tags of 20 roots, so those that are kept overlap.
pub const TRAIL_STEP: u64 = 16;
/// A session that was away for more commits than this cannot tell whether the newest root comes after the one that it knows: it
/// compares their numbers alone.
pub const TRAIL_REACH: u64 = 2_048;
/// A shared engine removes trails that are older than this many commits. It is above the reach, because others may commit between the
/// two readings of a session.
pub const TRAILS_KEPT: u64 = 2_560;
/// The length of a trail.
pub const TRAIL_BYTES: usize = 192;
/// The most bytes of values of one pull.
pub const PULL_BYTES: usize = 1 << 20;
