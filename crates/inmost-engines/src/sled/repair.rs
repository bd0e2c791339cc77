//! What is looked at before sled opens its files, because sled itself would refuse or trust them blindly.
//!
//! Snapshots and `conf` hold nothing that the log does not: a snapshot is an index that sled rebuilds, and
//! `conf` is a function of our constants. So both are deleted when they are not what they should be.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use inmost_storage::StorageError;

use crate::files;

/// The log, all of the data.
pub(super) const LOG: &str = "db";
/// Where sled would put values too long for its log.
pub(super) const BLOBS: &str = "blobs";
pub(super) const CONFIGURATION: &str = "conf";
pub(super) const SNAPSHOT_PREFIX: &str = "snap.";
/// Ending of a snapshot being written. sled's reader does not skip it, so a torn one, which sorts last,
/// would keep the store from ever opening again.
pub(super) const UNFINISHED_SUFFIX: &str = ".generating";

/// Bytes of a segment of the log. A batch of 31 records makes sled write 200 KB on average, and 1.2 MB was the most
/// seen of 30,000 batches: it writes whole pages anew, and with every change it may move a page out of the way.
pub(super) const SEGMENT_BYTES: usize = 2 << 20;

/// What sled 0.34.7 writes into `conf` for the configuration we use, before the checksum.
const CONFIGURATION_TEXT: &[u8] = b"segment_size: 2097152\nuse_compression: false\nversion: 0.34\n";

/// Deletes unfinished and damaged snapshots and a damaged `conf`. `log_bytes` is the length of the log.
///
/// # Errors
/// [`StorageError::Corrupt`] if something other than plain files and the blob folder lies in the folder:
/// sled would follow a link and write to what it points to. [`StorageError::Odd`] if one of the files has other names.
pub(super) fn before_open(folder: &Path, log_bytes: u64) -> Result<(), StorageError> {
    let mut removed = Vec::new();
    let mut snapshots = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let kind = entry.file_type()?;
        if !(kind.is_file() || kind.is_dir() && name == BLOBS) {
            return Err(StorageError::Corrupt(
                "something other than a file among the engine's".into(),
            ));
        }
        files::refuse_other_names(&entry.path(), &entry.metadata()?)?;
        let name = name.to_string_lossy();
        if !name.starts_with(SNAPSHOT_PREFIX) {
            continue;
        }
        let list = if name.ends_with(UNFINISHED_SUFFIX) { &mut removed } else { &mut snapshots };
        list.push(entry.path());
    }
    if !newest_is_sound(&mut snapshots, log_bytes)? {
        removed.append(&mut snapshots);
    }
    let configuration = folder.join(CONFIGURATION);
    if !is_expected_configuration(&configuration)? {
        removed.push(configuration);
    }
    for path in &removed {
        fs::remove_file(path)?;
    }
    if !removed.is_empty() {
        files::sync_folder(folder)?;
    }
    Ok(())
}

/// Deletes every snapshot.
pub(super) fn remove_snapshots(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(SNAPSHOT_PREFIX) {
            fs::remove_file(entry.path())?;
        }
    }
    files::sync_folder(folder)
}

/// sled reads the snapshot whose name sorts last and no other.
fn newest_is_sound(snapshots: &mut [PathBuf], log_bytes: u64) -> io::Result<bool> {
    snapshots.sort();
    let Some(newest) = snapshots.last() else { return Ok(true) };
    let mut newest = files::open(newest)?;
    // It has some 20 bytes for each message in the log that is still of use, and a message takes more than that. What
    // is longer is none, and reading it could take for ever.
    let most = log_bytes.max(u64::try_from(SEGMENT_BYTES).unwrap_or(u64::MAX));
    if newest.metadata()?.len() > most {
        return Ok(false);
    }
    is_sound_snapshot(&mut newest)
}

/// A snapshot is a body, its length in 8 bytes, and the CRC32 of the body in 4, little-endian.
fn is_sound_snapshot(file: &mut File) -> io::Result<bool> {
    const LENGTH_AND_CHECKSUM: u64 = 8 + 4;
    let Some(body) = file.metadata()?.len().checked_sub(LENGTH_AND_CHECKSUM).filter(|&it| it > 0)
    else {
        return Ok(false);
    };
    let mut hasher = crc32fast::Hasher::new();
    let mut left = body;
    let mut buffer = vec![0; 64 << 10];
    // In pieces: a snapshot grows with the store, to some 30 MB for a million records.
    while left > 0 {
        let read = file.by_ref().take(left).read(&mut buffer)?;
        let Some(piece) = buffer.get(..read).filter(|piece| !piece.is_empty()) else {
            return Ok(false);
        };
        hasher.update(piece);
        left = left.saturating_sub(u64::try_from(read).unwrap_or(u64::MAX));
    }
    let mut checksum = [0; 4];
    file.seek(SeekFrom::End(-4))?;
    file.read_exact(&mut checksum)?;
    Ok(u32::from_le_bytes(checksum) == hasher.finalize())
}

/// Whether `conf` is what sled would write; an absent one is, since sled writes it then.
fn is_expected_configuration(path: &Path) -> io::Result<bool> {
    let file = match files::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
        file => file?,
    };
    let expected = expected_configuration();
    let mut found = Vec::with_capacity(expected.len() + 1);
    file.take(u64::try_from(expected.len() + 1).unwrap_or(u64::MAX)).read_to_end(&mut found)?;
    Ok(found == expected)
}

/// The bytes of `conf`: the text and its CRC32, little-endian. Does no I/O.
pub(super) fn expected_configuration() -> Vec<u8> {
    let checksum = crc32fast::hash(CONFIGURATION_TEXT).to_le_bytes();
    [CONFIGURATION_TEXT, &checksum].concat()
}
