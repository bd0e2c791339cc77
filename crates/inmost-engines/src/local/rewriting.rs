//! The file `rewriting`: the note of a rewrite in progress.
//!
//! It is written durably before the rewrite creates a generation, and removed when the rewrite has removed all that it
//! leaves behind. Anything but a whole note counts as none: then nothing is attributed to a rewrite, and so nothing is
//! removed. The note is not authenticated. Anyone who can change it can remove the generations as well.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::{header_file, overwritten};
use crate::files;
use inmost_storage::{Rewriting, StorageError, limits};

pub(super) const NAME: &str = "rewriting";

const DRAFT: &str = "rewriting.new";

/// Returns the note, or `None` if it is absent or damaged.
pub(super) fn read(folder: &Path) -> Result<Option<Rewriting>, StorageError> {
    let bytes = match files::read_small(&path(folder), MOST) {
        Err(error) if error.kind() == io::ErrorKind::FileTooLarge => return Ok(None),
        read => match read.map_err(StorageError::from) {
            Err(StorageError::UntrustedFile(_)) => return Ok(None),
            read => read?,
        },
    };
    Ok(bytes.as_deref().and_then(decode))
}

/// Writes the note durably, in place of an earlier one.
///
/// # Errors
/// [`StorageError::UntrustedFile`] for a folder in its place.
pub(super) fn write(folder: &Path, rewriting: &Rewriting) -> Result<(), StorageError> {
    let path = path(folder);
    header_file::refuse_folder(&path)?;
    Ok(overwritten::replace(&path, &folder.join(DRAFT), &encode(rewriting))?)
}

/// Removes the note durably.
pub(super) fn remove(folder: &Path) -> Result<(), StorageError> {
    let path = path(folder);
    header_file::refuse_folder(&path)?;
    // Opened before it is removed, because afterwards it has no name. It may hold a header with keyslots that are going to
    // be removed. Overwritten earlier, it would stay as a damaged note after a crash.
    let removed = files::open_to_write(&path);
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        done => done.and_then(|()| files::sync_folder(folder))?,
    }
    if let Ok(removed) = removed {
        let _ = overwritten::fill_with_zeros(&removed);
    }
    Ok(())
}

/// Overwrites and removes an unfinished note, best effort.
pub(super) fn discard_draft(folder: &Path) {
    overwritten::discard(&folder.join(DRAFT));
    overwritten::forget_old(&path(folder));
}

fn path(folder: &Path) -> PathBuf {
    folder.join(NAME)
}

/// The bytes of a note, as docs/FORMAT.md describes them. Does no I/O.
fn encode(rewriting: &Rewriting) -> Vec<u8> {
    let Rewriting { old, new, scratch, switched, kept_header } = rewriting;
    let mut flags = if *switched { SWITCHED } else { 0 };
    if kept_header.is_some() {
        flags |= HAS_HEADER;
    }
    let mut bytes = MAGIC.to_vec();
    for number in [old, new, scratch] {
        bytes.extend(number.to_le_bytes());
    }
    bytes.push(flags);
    bytes.extend(kept_header.iter().flatten());
    bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
    bytes
}

/// Returns the note in these bytes, if they are one. Does no I/O.
fn decode(bytes: &[u8]) -> Option<Rewriting> {
    let (body, checksum) = bytes.split_last_chunk::<4>()?;
    if crc32fast::hash(body) != u32::from_le_bytes(*checksum) {
        return None;
    }
    let rest = body.strip_prefix(MAGIC)?;
    let (old, rest) = rest.split_first_chunk()?;
    let (new, rest) = rest.split_first_chunk()?;
    let (scratch, rest) = rest.split_first_chunk()?;
    let (flags, header) = rest.split_first()?;
    let has_header = flags & HAS_HEADER != 0;
    if flags & !(SWITCHED | HAS_HEADER) != 0 || has_header == header.is_empty() {
        return None;
    }
    Some(Rewriting {
        old: u64::from_le_bytes(*old),
        new: u64::from_le_bytes(*new),
        scratch: u64::from_le_bytes(*scratch),
        switched: flags & SWITCHED != 0,
        kept_header: has_header.then(|| header.to_vec()),
    })
}

const MAGIC: &[u8; 8] = b"inmstrwr";
const SWITCHED: u8 = 1;
const HAS_HEADER: u8 = 2;
/// The most bytes of a note: far more than the fields and a header.
const MOST: u64 = limits::HEADER_READ_BYTES;

#[cfg(test)]
mod tests {
    use super::*;

    fn notes() -> [Rewriting; 3] {
        let plain = Rewriting { old: 1, new: 2, scratch: 3, switched: false, kept_header: None };
        let switched = Rewriting { old: u64::MAX, switched: true, ..plain.clone() };
        let kept = Rewriting { kept_header: Some(vec![7; 4_096]), ..plain.clone() };
        [plain, switched, kept]
    }

    #[test]
    fn a_note_is_read_as_it_was_written_and_removed_without_a_trace() {
        let folder = tempfile::tempdir().unwrap();
        for note in notes() {
            write(folder.path(), &note).unwrap();
            assert!(read(folder.path()).unwrap() == Some(note));
        }
        remove(folder.path()).unwrap();
        remove(folder.path()).unwrap();
        assert!(read(folder.path()).unwrap().is_none());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_damaged_note_is_none() {
        for note in notes() {
            let bytes = encode(&note);
            for at in 0..bytes.len() {
                let mut flipped = bytes.clone();
                flipped[at] ^= 0x10;
                assert!(decode(&flipped).is_none(), "{at}");
                assert!(decode(&bytes[..at]).is_none(), "{at}");
            }
        }
    }

    #[test]
    fn a_note_with_an_unknown_flag_is_none() {
        for flags in [4, HAS_HEADER, 0x80] {
            let mut bytes = encode(&notes()[0]);
            bytes.truncate(bytes.len() - 4);
            bytes[32] = flags;
            bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
            assert!(decode(&bytes).is_none(), "{flags}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_link_in_its_place_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let foreign = folder.path().join("foreign");
        let bytes = encode(&notes()[0]);
        fs::write(&foreign, &bytes).unwrap();
        std::os::unix::fs::symlink(&foreign, path(folder.path())).unwrap();
        assert!(read(folder.path()).unwrap().is_none());
        write(folder.path(), &notes()[1]).unwrap();
        assert!(read(folder.path()).unwrap() == Some(notes()[1].clone()));
        remove(folder.path()).unwrap();
        assert_eq!(fs::read(foreign).unwrap(), bytes);
    }
}
