//! Checks for holes in the log: ranges with no block on the disk.
//!
//! When sled opens a log, it writes zeros over every unused segment, and only then truncates the ones at the
//! end. A log that is terabytes long but empty, by accident or from an attacker, would therefore fill the
//! disk. Holes are not unusual in themselves: sled leaves them at the end when it is killed while truncating,
//! and a sparse copy turns zeroed segments into holes. So this module truncates holes at the end, which loses
//! nothing and which sled would do anyway, and limits the holes before it to the most that an honest log can
//! have. It looks first and cuts later, because a log that is refused must stay as it is.
//!
//! A report of the system alone never cuts data off: every segment behind the cut must also read as unused. macOS is not
//! asked at all. Its `SEEK_DATA` returns the next range for an offset inside one, so a log without holes would appear empty.
//! (gnulib works around it: <https://www.gnu.org/software/gnulib/manual/html_node/lseek.html>.)
//!
//! Not promised: anything on systems or file systems that do not report holes.

use std::fs::File;
use std::io;
use std::ops::Range;

use super::log::SEGMENT_BYTES;
use inmost_engines::files;
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
    inspect_with(log, data_after)
}

/// [`inspect`] with another report of what is data: the first range of it at or after an offset of a file of this length.
pub(super) fn inspect_with(
    log: &File,
    data_after: impl Fn(&File, u64, u64) -> Option<Range<u64>>,
) -> Result<Kept, StorageError> {
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
    if whole < length && is_used_after(log, whole, length, segment)? {
        return Ok(Kept { length, has_holes_behind: false });
    }
    Ok(Kept { length: whole.min(length), has_holes_behind: whole < length })
}

/// Whether a segment in this range is in use, although the range was reported as a hole. An unused segment begins with
/// zeros.
fn is_used_after(log: &File, from: u64, length: u64, segment: u64) -> io::Result<bool> {
    let starts = (0..SEGMENTS_READ).map(|index| from.saturating_add(segment.saturating_mul(index)));
    for start in starts.take_while(|start| *start < length) {
        let mut first = [0; FIRST_BYTES];
        match files::read_exact_at(log, &mut first, start) {
            // The last segment is cut off within its header, so it was never written.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
            read => read?,
        }
        if first.iter().any(|byte| *byte != 0) {
            return Ok(true);
        }
    }
    Ok(false)
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
#[cfg(any(target_os = "linux", target_os = "android", target_os = "freebsd"))]
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

#[cfg(not(any(target_os = "linux", target_os = "android", target_os = "freebsd")))]
fn data_after(_: &File, offset: u64, length: u64) -> Option<Range<u64>> {
    (offset < length).then_some(offset..length)
}

/// The most bytes of holes before the end of the log for each byte of data, in addition to a fixed allowance.
///
/// After large deletions a log consists mostly of unused segments, each of which may be a hole. sled moves
/// segments from the end to the front when half of them are unused, so an honest log never comes near this.
const HOLES_PER_BYTE: u64 = 16;
const HOLES_BYTES: u64 = 256 << 20;
/// Bytes read of a segment that was reported as a hole: more than its header, which is not zero while it is in use.
const FIRST_BYTES: usize = 64;
/// The most segments that are read behind the data: 1 TiB of log. It bounds the time that a forged length can cost.
const SEGMENTS_READ: u64 = 1 << 21;
