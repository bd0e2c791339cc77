//! The limits of stored data and of the cost of opening it, each with its reason.

use std::ops::RangeInclusive;

use inmost_storage::limits::RECORD_VALUE_BYTES;

/// Segments below the root.
pub const PATH_DEPTH: usize = 20;
/// Bytes of a passphrase after normalisation; a bound so that hostile input cannot cost unbounded hashing.
pub const PASSPHRASE_BYTES: usize = 1_024;
/// Bytes of a passphrase as typed, so that normalising is bounded too. Text shrinks at most 3.5 times on the
/// way to NFC (U+1FBE, U+0308, U+0301: seven bytes to two), so no valid passphrase is refused.
pub const PASSPHRASE_RAW_BYTES: usize = 4 * PASSPHRASE_BYTES;
/// KiB of memory that Argon2id may ask for. Below 19 MiB guessing gets cheap (the least that OWASP advises);
/// above 1 GiB opening a store can exhaust a phone or a small server.
pub const KDF_MEMORY_KIB: RangeInclusive<u32> = 19 << 10..=1 << 20;
/// Passes of Argon2id: one pass has known shortcuts (RFC 9106, 7.2), and beyond 32 more memory is the better way to
/// raise the cost.
pub const KDF_PASSES: RangeInclusive<u32> = 2..=32;
/// Lanes of Argon2id: a constant of the store, not of the machine it is opened on, so few.
pub const KDF_LANES: RangeInclusive<u32> = 1..=16;
/// KiB x passes of one keyslot, 2 GiB-passes: seconds, not minutes, on the slowest machine that has the memory.
pub const KDF_SLOT_WORK: u64 = 2 << 20;
/// KiB x passes of one unlock over all slots it tries: without it, eight slots multiply the bound above.
pub const KDF_UNLOCK_WORK: u64 = 4 << 20;
/// Bytes of text that a file holds in its head. A longer text becomes a rope.
pub const FILE_INLINE: usize = 4_000;
/// A rope below this size becomes one record again. The gap to [`FILE_INLINE`] keeps a file near the border from
/// changing its shape with every edit. A file of fewer bytes is always a single record.
pub const FILE_INLINE_AGAIN: u64 = 3 << 10;
/// Bytes of a full chunk of a rope: the largest record minus the length prefix of its text.
pub const CHUNK_BYTES: usize = 4_066;
/// A chunk that falls below this merges with a neighbour.
pub const CHUNK_BYTES_MIN: usize = 1 << 10;
/// Plaintext bytes of the largest record; five lengths exist on disk.
pub const RECORD_CLASSES: [usize; 5] = [256, 512, 1_024, 2_048, 4_096];
/// Bytes a sealed value adds to its class: version, nonce, tag.
pub const RECORD_FRAME: usize = 1 + 24 + 16;

const _: () = {
    let [.., largest] = RECORD_CLASSES;
    assert!(
        RECORD_VALUE_BYTES == largest + RECORD_FRAME,
        "engines take the largest record and no more"
    );
};
