//! Every bound of the store, each with its reason.

use std::ops::RangeInclusive;

/// Bytes in one path segment, so that a name is always a small part of a folder node.
pub(crate) const SEGMENT_BYTES: usize = 255;
/// Bytes of a canonical path, `/memories/` included; equal to the hosted memory stores, so data can move there.
pub(crate) const PATH_BYTES: usize = 1_024;
/// Segments below the root.
pub(crate) const PATH_DEPTH: usize = 20;

/// Lines `view` is willing to number; the documented limit of the tool.
pub(crate) const VIEW_LINES: u64 = 999_999;
/// Characters of file text an unranged `view` shows before it cuts, by default.
pub(crate) const VIEW_CHARACTERS: usize = 16_000;
/// Characters of file text a ranged `view` shows before it cuts, by default.
pub(crate) const RANGED_VIEW_CHARACTERS: usize = 64_000;
/// Entries of a folder listing before it cuts, by default; the first line is not counted.
pub(crate) const LISTING_ENTRIES: usize = 1_000;

/// Bytes of one file, by default.
pub(crate) const FILE_BYTES: u64 = 16 << 20;
/// Files in one store, by default.
pub(crate) const STORE_FILES: u64 = 1_000_000;
/// Bytes of text in one store, by default.
pub(crate) const STORE_BYTES: u64 = 4 << 30;

/// Bytes of a passphrase after normalisation; a bound so that hostile input cannot cost unbounded hashing.
pub(crate) const PASSPHRASE_BYTES: usize = 1_024;
/// Bytes of a passphrase as typed, so that normalising is bounded too. Text shrinks at most 3.5 times on the
/// way to NFC (U+1FBE, U+0308, U+0301: seven bytes to two), so this refuses nothing that would fit.
pub(crate) const PASSPHRASE_RAW_BYTES: usize = 4 * PASSPHRASE_BYTES;

/// KiB of memory that Argon2id may ask for. Below 19 MiB guessing gets cheap (the least that OWASP advises);
/// above 1 GiB opening a store can exhaust a phone or a small server.
pub(crate) const KDF_MEMORY_KIB: RangeInclusive<u32> = 19 << 10..=1 << 20;
/// Passes of Argon2id: one pass has known shortcuts (RFC 9106, 7.2), and beyond 32 memory is the better price.
pub(crate) const KDF_PASSES: RangeInclusive<u32> = 2..=32;
/// Lanes of Argon2id: a constant of the store, not of the machine it is opened on, so few.
pub(crate) const KDF_LANES: RangeInclusive<u32> = 1..=16;
/// KiB x passes of one keyslot, 2 GiB-passes: seconds, not minutes, on the slowest machine that has the memory.
pub(crate) const KDF_SLOT_WORK: u64 = 2 << 20;
/// KiB x passes of one unlock over all slots it tries: without it, eight slots multiply the bound above.
pub(crate) const KDF_UNLOCK_WORK: u64 = 4 << 20;

/// Plaintext bytes of the largest record; five lengths exist on disk.
pub(crate) const RECORD_CLASSES: [usize; 5] = [256, 512, 1_024, 2_048, 4_096];
/// Bytes a sealed value adds to its class: version, nonce, tag.
pub(crate) const RECORD_FRAME: usize = 1 + 24 + 16;
/// Bytes of the longest sealed value. sled keeps pages above a quarter of a segment (512 KiB) in files of their own,
/// which it never syncs and leaks on overwrite; leaves of 17 such values stay below.
pub(crate) const RECORD_VALUE_BYTES: usize = {
    let [.., largest] = RECORD_CLASSES;
    largest + RECORD_FRAME
};
/// Records that an engine batch changes, the root among them. sled reuses segments of its log that it believes durable
/// before our own sync, so what it writes for one batch must stay below a segment. What that is depends on the number
/// of its pages that are touched, each with up to 17 records, far more than on the length of the values.
pub(crate) const BATCH_RECORDS: usize = 31;
/// Records of any engine batch: room for the one rename between two very deep branches.
pub(crate) const BATCH_RECORDS_MAX: usize = 128;

/// Bytes of text that a file holds in its head; more goes into a rope.
pub(crate) const FILE_INLINE: usize = 4_000;
/// A rope that falls below this becomes one record again. The gap keeps a file at the border from changing
/// its shape with every edit; a file of fewer bytes is always a single record.
pub(crate) const FILE_INLINE_AGAIN: u64 = 3 << 10;
/// Bytes of a full chunk of a rope: the largest record less the length of its text.
pub(crate) const CHUNK_BYTES: usize = 4_066;
/// A chunk that falls below this merges with a neighbour.
pub(crate) const CHUNK_BYTES_MIN: usize = 1 << 10;
/// Bytes of decoded nodes that a session keeps, by default.
pub(crate) const CACHE_BYTES: usize = 16 << 20;

/// Text that one ordinary call may bring or take away; more is written in steps. With the path to it, it stays
/// within the part of a batch that calls may use.
pub(crate) const STAGE_BYTES: usize = 32 << 10;
/// Bytes of text in one step of a long write: full chunks, within one batch.
pub(crate) const STAGE_STEP_BYTES: usize = 20 * CHUNK_BYTES;

/// Bytes ever read of a header copy: far above any header, and a huge file in its place costs no more.
pub(crate) const HEADER_READ_BYTES: u64 = 64 << 10;
