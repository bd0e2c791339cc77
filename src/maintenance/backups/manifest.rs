//! The manifest of one backup: its header, and which records of which packs it consists of. docs/FORMAT.md describes it.

use inmost_format::crypto::prf::checksum;
use inmost_format::header::HeaderError;

/// What one backup consists of.
pub(super) struct Manifest {
    pub(super) number: u64,
    /// When it was made, in milliseconds since 1970.
    pub(super) time: u64,
    pub(super) header: Vec<u8>,
    pub(super) used: Vec<Used>,
}

/// The records of one pack that a backup has.
pub(super) struct Used {
    pub(super) pack: u64,
    /// A bit for each record that the pack had when it was written.
    pub(super) bits: Vec<u8>,
}

impl Used {
    pub(super) fn none_of(pack: u64, total: u32) -> Self {
        let bytes = usize::try_from(total.div_ceil(8)).unwrap_or_default();
        Self { pack, bits: vec![0; bytes] }
    }

    pub(super) fn add(&mut self, ordinal: u32) {
        let at = usize::try_from(ordinal / 8).unwrap_or(usize::MAX);
        if let Some(byte) = self.bits.get_mut(at) {
            *byte |= 1 << (ordinal % 8);
        }
    }

    pub(super) fn has(&self, ordinal: u32) -> bool {
        let at = usize::try_from(ordinal / 8).unwrap_or(usize::MAX);
        self.bits.get(at).is_some_and(|byte| byte & (1 << (ordinal % 8)) != 0)
    }
}

impl Manifest {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend([0; 6]);
        bytes.extend(self.number.to_le_bytes());
        bytes.extend(self.time.to_le_bytes());
        bytes.extend(&self.header);
        for used in &self.used {
            bytes.extend(used.pack.to_le_bytes());
            bytes.extend(u32::try_from(used.bits.len()).unwrap_or(u32::MAX).to_le_bytes());
            bytes.extend(&used.bits);
        }
        bytes.extend(checksum(&bytes));
        bytes
    }

    /// Does no I/O.
    ///
    /// # Errors
    /// [`HeaderError::UnknownFormat`] for an intact manifest of another version; [`HeaderError::Damaged`].
    pub(super) fn decode(bytes: &[u8]) -> Result<Self, HeaderError> {
        let damaged = HeaderError::Damaged("the manifest of the backup cannot be read");
        // Every version ends with the checksum, so damage is not taken for another version.
        let whole = bytes.split_last_chunk().filter(|(bytes, sum)| checksum(bytes) == **sum);
        let Some(rest) = whole.and_then(|(bytes, _)| bytes.strip_prefix(&MAGIC)) else {
            return Err(damaged);
        };
        match rest.split_first_chunk() {
            Some((version, rest)) if *version == VERSION.to_le_bytes() => {
                Self::decode_parts(rest).ok_or(damaged)
            }
            Some((version, _)) => Err(HeaderError::UnknownFormat(u16::from_le_bytes(*version))),
            None => Err(damaged),
        }
    }

    fn decode_parts(bytes: &[u8]) -> Option<Self> {
        let (number, rest) = bytes.strip_prefix(&[0; 6])?.split_first_chunk::<8>()?;
        let (time, rest) = rest.split_first_chunk::<8>()?;
        let (header, mut rest) = rest.split_first_chunk::<4_096>()?;
        let mut used = Vec::new();
        while !rest.is_empty() {
            let (pack, after) = rest.split_first_chunk::<8>()?;
            let (length, after) = after.split_first_chunk::<4>()?;
            let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
            let (bits, after) = after.split_at_checked(length)?;
            used.push(Used { pack: u64::from_le_bytes(*pack), bits: bits.to_vec() });
            rest = after;
        }
        let (number, time) = (u64::from_le_bytes(*number), u64::from_le_bytes(*time));
        Some(Self { number, time, header: header.to_vec(), used })
    }
}

const MAGIC: [u8; 8] = *b"\x89INMBKP\n";
const VERSION: u16 = 1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_is_read_as_written_and_no_other_bytes_are() {
        let mut used = Used::none_of(3, 9);
        used.add(8);
        used.add(9_000);
        let manifest = Manifest { number: 4, time: 5, header: vec![6; 4_096], used: vec![used] };
        let bytes = manifest.encode();
        let read = Manifest::decode(&bytes).unwrap();
        assert_eq!((read.number, read.time, &read.header), (4, 5, &manifest.header));
        assert!(read.used[0].has(8) && !read.used[0].has(7) && !read.used[0].has(9_000));
        for at in 0..bytes.len() {
            let mut other = bytes.clone();
            other[at] ^= 1;
            for damaged in [Manifest::decode(&other), Manifest::decode(&bytes[..at])] {
                assert!(matches!(damaged, Err(HeaderError::Damaged(_))), "{at}");
            }
        }
    }
}
