//! Checksums of changed files, for the fuzzer.

use super::log::{Bytes, MessageHeader, SEGMENT, SEGMENT_BYTES, SEGMENT_HEADER, SegmentHeader};
use super::log_check::walk;

/// Where the segment headers and messages of a log begin, and how long they are.
#[must_use]
pub fn parts(log: &[u8]) -> Vec<(usize, usize)> {
    let mut parts = Vec::new();
    for (number, segment) in log.chunks(SEGMENT_BYTES).enumerate() {
        let Some(header) = SegmentHeader::decode(segment) else { continue };
        let offset = |position: u64| {
            let within = usize::try_from(position.saturating_sub(header.start)).unwrap_or(0);
            number.saturating_mul(SEGMENT_BYTES).saturating_add(within)
        };
        let mut starts = vec![offset(header.start)];
        let end = walk(segment, header.start, |position, _| {
            starts.push(offset(position));
            Ok(true)
        });
        starts.push(offset(end.map_or(header.start, |(end, _)| end)));
        let ends = starts.iter().skip(1);
        parts.extend(starts.iter().zip(ends).map(|(from, to)| (*from, to.saturating_sub(*from))));
    }
    parts
}

/// Makes the checksum of the part that begins at `at` fit its bytes.
pub fn mend(log: &mut [u8], at: usize) {
    let is_header = u64::try_from(at).is_ok_and(|at| at.is_multiple_of(SEGMENT));
    let Some(part) = log.get_mut(at..) else { return };
    let mut checksum = crc32fast::Hasher::new();
    if is_header {
        let header = usize::try_from(SEGMENT_HEADER).unwrap_or(0);
        checksum.update(part.get(4..header).unwrap_or_default());
    } else {
        let mut rest = Bytes(part);
        let Some(header) = MessageHeader::take(&mut rest) else { return };
        let length = usize::try_from(header.body_bytes).unwrap_or(usize::MAX);
        let fields = part.len().saturating_sub(rest.0.len());
        checksum.update(rest.0.get(..length).unwrap_or_default());
        checksum.update(part.get(4..fields).unwrap_or_default());
    }
    let checksum = checksum.finalize() ^ u32::MAX;
    if let Some(place) = part.first_chunk_mut::<4>() {
        *place = checksum.to_le_bytes();
    }
}

/// The bytes of a snapshot with this body.
#[must_use]
pub fn snapshot(body: &[u8]) -> Vec<u8> {
    super::repair::snapshot_file(0, body).1
}
