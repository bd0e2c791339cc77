//! When the parts of sled's log were written.
//!
//! The log is divided into segments. Each begins with a CRC-32 and the log sequence number (LSN) of its first byte, which
//! grows with all that was ever written. Segments are used again, so their order in the file is not that of their writing.

use super::log::SEGMENT_BYTES;
use inmost_engines::local_engine::{PartOfFile, ReadAt};

/// Divides a log into its segments, and says when each was written: its LSN.
pub(super) fn written(read: &mut ReadAt<'_>, length: u64) -> Vec<PartOfFile> {
    let segment = u64::try_from(SEGMENT_BYTES).unwrap_or(u64::MAX);
    let mut parts = Vec::new();
    let mut offset = 0;
    while offset < length {
        let mut header = [0; HEADER];
        read(offset, &mut header);
        let written = first_lsn(&header).unwrap_or_default();
        let length = segment.min(length - offset);
        parts.push(PartOfFile { offset, length, written, is_ordered: written > 0 });
        offset = offset.saturating_add(segment);
    }
    parts
}

/// The LSN in the header of a segment, plus one; `None` if the header is damaged.
fn first_lsn(header: &[u8; HEADER]) -> Option<u64> {
    let (checksum, rest) = header.split_first_chunk::<4>()?;
    if u32::from_le_bytes(*checksum) ^ u32::MAX != crc32fast::hash(rest) {
        return None;
    }
    let masked = u64::from_le_bytes(*rest.first_chunk()?);
    (masked ^ LSN_MASK).checked_add(1)
}

/// CRC-32, LSN, and the highest LSN that was stable.
const HEADER: usize = 4 + 8 + 8;
/// sled stores numbers combined with this, so that a header of zeros is not valid.
const LSN_MASK: u64 = 0x7fff_ffff_ffff_ffff;
