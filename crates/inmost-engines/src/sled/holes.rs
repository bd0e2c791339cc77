//! Checks for holes in the log: ranges with no block on the disk.
//!
//! When sled opens a log, it writes zeros over every unused segment, and only then truncates the ones at the
//! end. A log that is terabytes long but empty, by accident or from an attacker, would therefore fill the
//! disk. Holes are not unusual in themselves: sled leaves them at the end when it is killed while truncating,
//! and a sparse copy turns zeroed segments into holes. So this module truncates holes at the end, which loses
//! nothing and which sled would do anyway, and limits the holes before it to the most that an honest log can
//! have. It looks first and cuts later, because a log that is refused must stay as it is.
//!
//! Not promised: anything on systems or file systems that do not report holes.

use std::fs::File;
use std::ops::Range;

use super::repair::SEGMENT_BYTES;
use inmost_storage::StorageError;

/// The part of a log that is kept.
pub(super) struct Kept {
    /// Its length, up to the end of a segment.
    pub(super) length: u64,
    has_holes_behind: bool,
}

/// Finds the holes in a log. Writes nothing.
///
/// # Errors
/// [`StorageError::Corrupt`] if the log has more holes than an honest log can have, apart from those at its end.
pub(super) fn inspect(log: &File) -> Result<Kept, StorageError> {
    let length = log.metadata()?.len();
    let (mut held, mut end) = (0_u64, 0);
    while let Some(data) = data_after(log, end, length) {
        held = held.saturating_add(data.end.saturating_sub(data.start));
        end = data.end;
    }
    let most = held.saturating_mul(HOLES_PER_BYTE).saturating_add(HOLES_BYTES);
    if end.saturating_sub(held) > most {
        return Err(StorageError::Corrupt(
            "the engine's log has more holes than bytes; if the store was copied, copy it again and keep it from becoming sparse"
                .into(),
        ));
    }
    let segment = u64::try_from(SEGMENT_BYTES).unwrap_or(u64::MAX);
    let whole = end.checked_next_multiple_of(segment).unwrap_or(length);
    Ok(Kept { length: whole.min(length), has_holes_behind: whole < length })
}

impl Kept {
    /// Truncates the holes at the end.
    pub(super) fn cut(&self, log: &File) -> Result<(), StorageError> {
        if self.has_holes_behind {
            log.set_len(self.length)?;
            log.sync_all()?;
        }
        Ok(())
    }
}

/// Returns the first range of data at or after `offset`, or `None` if only a hole follows.
#[cfg(any(
    target_os = "linux",
    target_os = "android",
    target_os = "freebsd",
    target_vendor = "apple"
))]
fn data_after(file: &File, offset: u64, length: u64) -> Option<Range<u64>> {
    use rustix::fs::{SeekFrom, seek};
    use rustix::io::Errno;

    if offset >= length {
        return None;
    }
    let start = match seek(file, SeekFrom::Data(offset)) {
        Ok(start) => start,
        Err(Errno::NXIO) => return None,
        // The file system does not support holes.
        Err(_) => offset,
    };
    let end = seek(file, SeekFrom::Hole(start)).unwrap_or(length);
    // The system never returns less. If it did, the caller's loop would not end, so this is checked.
    (end > offset).then_some(start..end)
}

#[cfg(not(any(
    target_os = "linux",
    target_os = "android",
    target_os = "freebsd",
    target_vendor = "apple"
)))]
fn data_after(_: &File, offset: u64, length: u64) -> Option<Range<u64>> {
    (offset < length).then_some(offset..length)
}

/// The most bytes of holes before the end of the log for each byte of data, in addition to a fixed allowance.
///
/// After large deletions a log consists mostly of unused segments, each of which may be a hole. sled moves
/// segments from the end to the front when half of them are unused, so an honest log never comes near this.
const HOLES_PER_BYTE: u64 = 16;
const HOLES_BYTES: u64 = 256 << 20;
