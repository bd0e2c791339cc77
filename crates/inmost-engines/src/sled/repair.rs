//! Checks sled's files before sled opens them, because sled would refuse them or trust them blindly.
//!
//! Snapshots and `conf` hold no data of their own: a snapshot is an index that sled rebuilds from the log,
//! and `conf` follows from our constants. Both are deleted when they are damaged.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use inmost_storage::StorageError;

use crate::files;

/// The log, which contains all of the data.
pub(crate) const LOG: &str = "db";
/// The folder for values that are too long for sled's log.
pub(super) const BLOBS: &str = "blobs";
pub(super) const CONFIGURATION: &str = "conf";
pub(super) const SNAPSHOT_PREFIX: &str = "snap.";
/// The suffix of an unfinished snapshot. sled's reader does not skip it, so a torn one, which sorts last,
/// would prevent the store from ever opening again.
pub(super) const UNFINISHED_SUFFIX: &str = ".generating";

/// The length of a segment of the log, in bytes. A batch of 31 records makes sled write 200 KB on average;
/// the most of 30,000 batches was 1.2 MB. sled rewrites whole pages, and each change may move a page to
/// another segment.
pub(super) const SEGMENT_BYTES: usize = 2 << 20;

/// The text that sled 0.34.7 writes to `conf` for our configuration, without the checksum.
const CONFIGURATION_TEXT: &[u8] = b"segment_size: 2097152\nuse_compression: false\nversion: 0.34\n";

/// Deletes unfinished and damaged snapshots and a damaged `conf`. `log_bytes` is the length of the log.
///
/// # Errors
/// [`StorageError::Corrupt`] if the folder contains anything but regular files and the blob folder: sled
/// would follow a link and write to its target. [`StorageError::UntrustedFile`] if a file has other hard
/// links.
pub(super) fn before_open(folder: &Path, log_bytes: u64) -> Result<(), StorageError> {
    let mut removed = Vec::new();
    let mut snapshots = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let kind = entry.file_type()?;
        if !(kind.is_file() || kind.is_dir() && name == BLOBS) {
            return Err(StorageError::Corrupt(
                "the engine's folder contains something other than files".into(),
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

/// Returns whether the newest snapshot is sound. sled reads only the snapshot whose name sorts last.
fn newest_is_sound(snapshots: &mut [PathBuf], log_bytes: u64) -> io::Result<bool> {
    snapshots.sort();
    let Some(newest) = snapshots.last() else { return Ok(true) };
    let mut newest = files::open(newest)?;
    // A snapshot has about 20 bytes for each live message in the log, and a message is longer than that. A
    // longer file is not a snapshot, and reading it could take very long.
    let most = log_bytes.max(u64::try_from(SEGMENT_BYTES).unwrap_or(u64::MAX));
    if newest.metadata()?.len() > most {
        return Ok(false);
    }
    is_sound_snapshot(&mut newest)
}

/// Returns whether a snapshot is intact: a body, its length in 8 bytes, and the CRC32 of the body in 4 bytes,
/// both little-endian.
fn is_sound_snapshot(file: &mut File) -> io::Result<bool> {
    const LENGTH_AND_CHECKSUM: u64 = 8 + 4;
    let Some(body) = file.metadata()?.len().checked_sub(LENGTH_AND_CHECKSUM).filter(|&it| it > 0)
    else {
        return Ok(false);
    };
    let mut hasher = crc32fast::Hasher::new();
    let mut left = body;
    let mut buffer = vec![0; 64 << 10];
    // Read in parts, because a snapshot grows with the store, to about 30 MB for a million records.
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

/// Returns whether `conf` is what sled would write. An absent file counts, because sled then creates it.
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

/// Returns the bytes of `conf`: the text and its CRC32, little-endian. Does no I/O.
pub(super) fn expected_configuration() -> Vec<u8> {
    let checksum = crc32fast::hash(CONFIGURATION_TEXT).to_le_bytes();
    [CONFIGURATION_TEXT, &checksum].concat()
}
