//! The bounds that every engine and place keeps, each with its reason.

/// Bytes of the longest sealed value. sled keeps pages above a quarter of a segment (512 KiB) in files of their own,
/// which it never syncs and leaks on overwrite; leaves of 17 such values stay below.
pub const RECORD_VALUE_BYTES: usize = 4_137;
/// Records that an engine batch changes, the root among them. sled reuses segments of its log that it believes durable
/// before our own sync, so what it writes for one batch must stay below a segment. What that is depends on the number
/// of its pages that are touched, each with up to 17 records, far more than on the length of the values.
pub const BATCH_RECORDS: usize = 31;
/// Records of any engine batch: room for the one rename between two very deep branches.
pub const BATCH_RECORDS_MAX: usize = 128;
/// Bytes ever read of a header copy: far above any header, and a huge file in its place costs no more.
pub const HEADER_READ_BYTES: u64 = 64 << 10;
