//! Reads sled's log without sled: segment headers and messages, as sled 0.34.7 writes them.
//!
//! The log is a row of segments of equal length. A position in it (sled's LSN) counts bytes through all segments ever
//! written; a segment's header says which positions it holds, because segments are used again. A message is a header, whose
//! integers have a variable length, and a body; a CRC-32 covers both. Nothing here panics on damaged bytes, and nothing
//! writes.

use std::fs::File;
use std::io::{self, Read as _, Seek, SeekFrom};

/// The length of a segment of the log, in bytes. A batch of 31 records makes sled write 200 KB on average;
/// the most of 30,000 batches was 1.2 MB. sled rewrites whole pages, and each change may move a page to
/// another segment.
pub(super) const SEGMENT_BYTES: usize = 2 << 20;
/// The same, as a position.
pub(super) const SEGMENT: u64 = 2 << 20;
/// The bytes of a segment before its first message.
pub(super) const SEGMENT_HEADER: u64 = 20;
/// No message begins in the last bytes of a segment.
pub(super) const RED_ZONE: u64 = 32;

const _: () = assert!(SEGMENT == 2 << 20 && SEGMENT_BYTES == 2 << 20, "both are the same length");

/// What the header of a segment says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct SegmentHeader {
    /// The position of its first byte.
    pub(super) start: u64,
    /// The last position that sled had written when it began the segment; -1 before the first.
    pub(super) stable: i64,
}

impl SegmentHeader {
    /// Reads a header; `None` if its checksum is wrong or no segment has its position.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let (checksum, fields) = bytes.get(..20)?.split_first_chunk::<4>()?;
        if crc32fast::hash(fields) ^ u32::MAX != u32::from_le_bytes(*checksum) {
            return None;
        }
        let (start, stable) = fields.split_first_chunk::<8>()?;
        let start = u64::try_from(i64::from_le_bytes(*start) ^ i64::MAX).ok()?;
        let stable = i64::from_le_bytes(*stable.first_chunk()?) ^ i64::MAX;
        start.is_multiple_of(SEGMENT).then_some(Self { start, stable })
    }
}

/// What a message does to its page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Change {
    /// The whole page is in this message.
    Replace,
    /// The message changes the page that earlier messages made.
    Link,
    /// The page is free.
    Free,
}

/// The outcome of reading a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Read {
    /// A change of a page, in this many bytes.
    Page { page: u64, change: Change, length: u64 },
    /// A message that was canceled.
    Skip { length: u64 },
    /// The rest of the segment is empty.
    Cap,
    /// What follows, up to this position inclusive, takes effect as a whole or not at all.
    Batch { last: i64, length: u64 },
    /// No whole message of this segment begins here.
    Broken,
    /// The message goes on behind the bytes that were given.
    Short,
}

/// Whether a message can begin at this position.
pub(super) fn has_room(position: u64) -> bool {
    (SEGMENT_HEADER..=SEGMENT - RED_ZONE).contains(&(position % SEGMENT))
}

/// Reads the message that begins with `bytes`, at this position of the log.
pub(super) fn read_message(bytes: &[u8], position: u64) -> Read {
    // sled reads 128 bytes, filled up with zeros at the end of the file, before it knows the length.
    let mut window = [0; 128];
    for (to, from) in window.iter_mut().zip(bytes) {
        *to = *from;
    }
    let mut rest = Bytes(&window);
    let Some(header) = MessageHeader::take(&mut rest) else { return Read::Broken };
    let header_bytes = window.len() - rest.0.len();
    let room = SEGMENT.saturating_sub(position % SEGMENT);
    let length = u64::try_from(header_bytes).unwrap_or(u64::MAX).saturating_add(header.body_bytes);
    if length > room || header.kind == 0 || header.kind > LAST_KIND {
        return Read::Broken;
    }
    let Ok(end) = usize::try_from(length) else { return Read::Broken };
    let whole = if end <= window.len() { Some(&window[..]) } else { Some(bytes) };
    let Some(message) = whole.and_then(|bytes| bytes.get(..end)) else { return Read::Short };
    let Some((header_part, body)) = message.split_at_checked(header_bytes) else {
        return Read::Broken;
    };
    let mut checksum = crc32fast::Hasher::new();
    checksum.update(body);
    checksum.update(header_part.get(4..).unwrap_or_default());
    if checksum.finalize() ^ u32::MAX != header.checksum || header.segment != position / SEGMENT {
        return Read::Broken;
    }
    let page = |change| Read::Page { page: header.page, change, length };
    match header.kind {
        1 => Read::Skip { length },
        2 => Read::Cap,
        3 => body
            .try_into()
            .map_or(Read::Broken, |last| Read::Batch { last: i64::from_le_bytes(last), length }),
        4 => page(Change::Free),
        5 | 6 | 8 => page(Change::Replace),
        10 => page(Change::Link),
        // Kinds 7, 9 and 11 have their body in a file of its own, which no store has.
        _ => Read::Broken,
    }
}

/// The greatest number of a kind of message.
const LAST_KIND: u8 = 11;

pub(super) struct MessageHeader {
    checksum: u32,
    kind: u8,
    pub(super) body_bytes: u64,
    segment: u64,
    page: u64,
}

impl MessageHeader {
    pub(super) fn take(bytes: &mut Bytes<'_>) -> Option<Self> {
        Some(Self {
            checksum: u32::from_le_bytes(bytes.take()?),
            kind: u8::from_le_bytes(bytes.take()?),
            body_bytes: bytes.take_number()?,
            segment: bytes.take_number()?,
            page: bytes.take_number()?,
        })
    }
}

/// Bytes that are being read.
pub(super) struct Bytes<'b>(pub(super) &'b [u8]);

impl Bytes<'_> {
    pub(super) fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*taken)
    }

    /// Reads one of sled's integers of variable length.
    pub(super) fn take_number(&mut self) -> Option<u64> {
        let [first] = self.take::<1>()?;
        let number = u64::from(first);
        Some(match first {
            0..=240 => number,
            241..=248 => 240 + 256 * (number - 241) + u64::from(self.take::<1>()?[0]),
            249 => {
                let [high, low] = self.take::<2>()?;
                2288 + 256 * u64::from(high) + u64::from(low)
            }
            250..=255 => {
                let mut bytes = [0; 8];
                let (taken, rest) = self.0.split_at_checked(usize::from(first) - 247)?;
                bytes.iter_mut().zip(taken).for_each(|(to, from)| *to = *from);
                self.0 = rest;
                u64::from_le_bytes(bytes)
            }
        })
    }
}

/// Reads bytes at an offset of a file, fewer at its end.
pub(super) fn read_at(file: &File, offset: u64, most: u64, bytes: &mut Vec<u8>) -> io::Result<()> {
    bytes.clear();
    // Else they would be read in many small pieces.
    bytes.reserve(usize::try_from(most).unwrap_or(0));
    let mut file = file;
    file.seek(SeekFrom::Start(offset))?;
    file.take(most).read_to_end(bytes)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(bytes: &[u8]) -> Option<u64> {
        Bytes(bytes).take_number()
    }

    #[test]
    fn numbers_of_every_length_are_read() {
        assert_eq!(number(&[240]), Some(240));
        assert_eq!(number(&[241, 0]), Some(240));
        assert_eq!(number(&[248, 255]), Some(2_287));
        assert_eq!(number(&[249, 0, 0]), Some(2_288));
        assert_eq!(number(&[249, 255, 255]), Some(67_823));
        assert_eq!(number(&[250, 1, 2, 3]), Some(0x03_02_01));
        assert_eq!(number(&[255; 9]), Some(u64::MAX));
        assert_eq!(number(&[255; 8]), None);
        assert_eq!(number(&[]), None);
    }

    #[test]
    fn a_position_of_a_header_is_a_multiple_of_the_segment() {
        let header = |start: i64| {
            let fields = [start ^ i64::MAX, -1 ^ i64::MAX].map(i64::to_le_bytes).concat();
            [&(crc32fast::hash(&fields) ^ u32::MAX).to_le_bytes()[..], &fields].concat()
        };
        let expected = SegmentHeader { start: 2 * SEGMENT, stable: -1 };
        assert_eq!(SegmentHeader::decode(&header(4 << 20)), Some(expected));
        assert_eq!(SegmentHeader::decode(&header((4 << 20) + 1)), None);
        assert_eq!(SegmentHeader::decode(&header(-1)), None);
        let mut flipped = header(4 << 20);
        flipped[7] ^= 1;
        assert_eq!(SegmentHeader::decode(&flipped), None);
        assert_eq!(SegmentHeader::decode(&[0; 20]), None);
    }

    #[test]
    fn random_bytes_are_broken() {
        for seed in 0..=255_u8 {
            let bytes: Vec<u8> = (0..200_u8).map(|at| at.wrapping_mul(31) ^ seed).collect();
            assert!(matches!(read_message(&bytes, 20), Read::Broken | Read::Short));
        }
        assert_eq!(read_message(&[], 20), Read::Broken);
    }
}
