//! Parts of the log that are in no block of the disk: holes.
//!
//! When it opens, sled writes zeros over every segment that it finds unused, and only then cuts those at the end off.
//! A log of terabytes without a byte in it, by accident or from somebody who means harm, so fills the disk. But holes are
//! nothing strange: sled leaves them at the end when it is killed while it cuts, and a sparse copy makes them of
//! segments that hold zeros. So those at the end are cut off here, which loses nothing and is what sled would do in the
//! end; and of those before it there may be no more than an honest log can have.
//!
//! Not promised: anything where the system or its file system does not tell of holes.

use std::fs::File;
use std::ops::Range;

use super::repair::SEGMENT_BYTES;
use inmost_storage::StorageError;

/// Cuts the holes at the end of the log off, up to the end of a segment.
///
/// # Errors
/// [`StorageError::Corrupt`] if the rest is holes beyond belief; then nothing has changed.
pub(super) fn cut(log: &File) -> Result<(), StorageError> {
    let length = log.metadata()?.len();
    let (mut held, mut end) = (0_u64, 0);
    while let Some(data) = data_after(log, end, length) {
        held = held.saturating_add(data.end.saturating_sub(data.start));
        end = data.end;
    }
    let most = held.saturating_mul(HOLES_PER_BYTE).saturating_add(HOLES_BYTES);
    if end.saturating_sub(held) > most {
        return Err(StorageError::Corrupt(
            "its log has more holes than bytes; if it was copied, copy it anew without holes"
                .into(),
        ));
    }
    let segment = u64::try_from(SEGMENT_BYTES).unwrap_or(u64::MAX);
    if let Some(whole) = end.checked_next_multiple_of(segment)
        && whole < length
    {
        log.set_len(whole)?;
        log.sync_all()?;
    }
    Ok(())
}

/// The first bytes from `offset` on that the file really has; `None` if nothing but a hole follows.
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
        // A file system that knows nothing of holes.
        Err(_) => offset,
    };
    let end = seek(file, SeekFrom::Hole(start)).unwrap_or(length);
    // It never answers less; that it went on for ever if it did must not be left to it.
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

/// Bytes of holes before the end of the log for each byte that it has, and beside those. After much was deleted a log
/// is mostly unused segments, each of which may be a hole; sled moves what is at the end to the front when
/// half of them are, so it never comes near this.
const HOLES_PER_BYTE: u64 = 16;
const HOLES_BYTES: u64 = 256 << 20;
