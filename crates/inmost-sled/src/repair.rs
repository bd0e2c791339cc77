//! Checks sled's files before sled opens them, because sled would refuse them or trust them blindly.
//!
//! Snapshots and `conf` hold no data of their own: a snapshot is an index that sled rebuilds from the log,
//! and `conf` follows from our constants. Both are deleted when they are damaged.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use inmost_storage::StorageError;

use super::log::SEGMENT_BYTES;
use super::snapshot::{Pages, Snapshot};
use inmost_engines::files;

/// The log, which contains all of the data.
pub(super) const LOG: &str = "db";
/// The folder for values that are too long for sled's log.
pub(super) const BLOBS: &str = "blobs";
pub(super) const CONFIGURATION: &str = "conf";
pub(super) const SNAPSHOT_PREFIX: &str = "snap.";
/// The suffix of an unfinished snapshot. sled's reader does not skip it, so a torn one, which sorts last,
/// would prevent the store from ever opening again.
pub(super) const UNFINISHED_SUFFIX: &str = ".generating";

/// The text that sled 0.34.7 writes to `conf` for our configuration, without the checksum.
const CONFIGURATION_TEXT: &[u8] = b"segment_size: 2097152\nuse_compression: false\nversion: 0.34\n";

/// What is to be done before sled may open its files, and the snapshot that it will read.
pub(super) struct Plan {
    removed: Vec<PathBuf>,
    /// An unfinished snapshot that is whole, and the name that sled was about to give it.
    finished: Option<(PathBuf, PathBuf)>,
    pub(super) snapshot: Option<Snapshot>,
    /// A snapshot that takes the place of a lost one: its name and its bytes.
    made: Option<(PathBuf, Vec<u8>)>,
}

/// Finds unfinished and damaged snapshots, drafts of snapshots, and a damaged `conf`. `log_bytes` is the length of the log. Writes nothing.
///
/// An unfinished snapshot that is whole counts: sled has synced it, and after that fills segments of the log with zeros that
/// an older snapshot needs. Only its name may be lost.
///
/// # Errors
/// [`StorageError::Corrupt`] if the folder contains anything but regular files and the blob folder: sled
/// would follow a link and write to its target. [`StorageError::UntrustedFile`] if a file has other hard
/// links.
pub(super) fn inspect(folder: &Path, log_bytes: u64) -> Result<Plan, StorageError> {
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
        let name = name.to_string_lossy().into_owned();
        if name.starts_with(SNAPSHOT_PREFIX) {
            snapshots.push(name);
        } else if name.strip_prefix('.').is_some_and(|name| name.starts_with(SNAPSHOT_PREFIX)) {
            // A draft of ours.
            removed.push(entry.path());
        }
    }
    snapshots.sort();
    let (mut finished, mut found) = (None, None);
    while let Some(name) = snapshots.pop() {
        let path = folder.join(&name);
        let final_name = name.strip_suffix(UNFINISHED_SUFFIX);
        let body = read_snapshot(&path, log_bytes)?;
        let decoded = body.and_then(|body| Snapshot::decode(&body, longest(log_bytes), log_bytes));
        found = decoded.filter(|snapshot| {
            final_name.unwrap_or(&name) == snapshot_name(snapshot.position.unwrap_or(0))
        });
        if found.is_some() {
            finished = final_name.map(|name| (path, folder.join(name)));
            break;
        }
        removed.push(path);
    }
    // sled reads only the snapshot whose name sorts last, and removes the others itself.
    let configuration = folder.join(CONFIGURATION);
    if !is_expected_configuration(&configuration)? {
        removed.push(configuration);
    }
    Ok(Plan { removed, finished, snapshot: found, made: None })
}

impl Plan {
    /// Adds a snapshot with this body, and returns it. `None` if it cannot be read.
    pub(super) fn make_snapshot(
        &mut self,
        folder: &Path,
        body: &[u8],
        log_bytes: u64,
    ) -> Option<Snapshot> {
        let snapshot = Snapshot::decode(body, log_bytes, log_bytes)?;
        let (name, bytes) = snapshot_file(snapshot.position?, body);
        self.made = Some((folder.join(name), bytes));
        Some(snapshot)
    }

    /// Deletes what is damaged and gives a whole snapshot its name.
    pub(super) fn carry_out(&self, folder: &Path) -> io::Result<()> {
        for path in &self.removed {
            fs::remove_file(path)?;
        }
        if let Some((path, bytes)) = &self.made {
            files::replace(path, bytes)?;
        }
        if let Some((from, to)) = &self.finished {
            fs::rename(from, to)?;
        }
        if !self.removed.is_empty() || self.finished.is_some() {
            files::sync_folder(folder)?;
        }
        Ok(())
    }
}

/// Gives every file in the folder to its owner alone.
pub(super) fn make_private(folder: &Path) -> Result<(), StorageError> {
    for entry in fs::read_dir(folder)? {
        files::make_private(&entry?.path())?;
    }
    Ok(())
}

/// The names of all snapshots, the newest last.
pub(super) fn snapshots(folder: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.retain(|name| name.starts_with(SNAPSHOT_PREFIX));
    names.sort();
    Ok(names)
}

/// Deletes every snapshot.
pub(super) fn remove_snapshots(folder: &Path) -> io::Result<()> {
    for name in snapshots(folder)? {
        fs::remove_file(folder.join(name))?;
    }
    files::sync_folder(folder)
}

/// The newest snapshot: the position that it covers the log up to, and the pages there. `None` if no snapshot exists or the newest is
/// damaged.
pub(super) fn newest_snapshot(folder: &Path, log_bytes: u64) -> io::Result<Option<(u64, Pages)>> {
    let Some(name) = snapshots(folder)?.pop() else { return Ok(None) };
    let body = read_snapshot(&folder.join(name), log_bytes)?;
    Ok(body.and_then(|body| Pages::decode(&body, longest(log_bytes), log_bytes)))
}

/// The name and the bytes of the snapshot with this body, which covers the log up to this position.
pub(super) fn snapshot_file(position: u64, body: &[u8]) -> (String, Vec<u8>) {
    let length = u64::try_from(body.len()).unwrap_or(u64::MAX).to_le_bytes();
    let checksum = crc32fast::hash(body).to_le_bytes();
    (snapshot_name(position), [body, &length, &checksum].concat())
}

fn snapshot_name(position: u64) -> String {
    format!("{SNAPSHOT_PREFIX}{position:016X}")
}

/// Reads a snapshot: a body, its length in 8 bytes, and the CRC32 of the body in 4 bytes, both little-endian. Returns the body;
/// `None` if it is damaged.
fn read_snapshot(path: &Path, log_bytes: u64) -> io::Result<Option<Vec<u8>>> {
    const LENGTH_AND_CHECKSUM: usize = 8 + 4;
    let mut bytes = match files::read_small(path, longest(log_bytes)) {
        Err(error) if error.kind() == io::ErrorKind::FileTooLarge => return Ok(None),
        read => read?.ok_or(io::ErrorKind::NotFound)?,
    };
    let Some(length) = bytes.len().checked_sub(LENGTH_AND_CHECKSUM).filter(|&body| body > 0) else {
        return Ok(None);
    };
    let checksum = bytes.last_chunk::<4>().map(|checksum| u32::from_le_bytes(*checksum));
    bytes.truncate(length);
    Ok((checksum == Some(crc32fast::hash(&bytes))).then_some(bytes))
}

/// The longest snapshot. It has about 20 bytes for each live message in the log, and a message is longer than that. A longer file is
/// not a snapshot, and reading it could take very long.
fn longest(log_bytes: u64) -> u64 {
    log_bytes.max(u64::try_from(SEGMENT_BYTES).unwrap_or(u64::MAX))
}

/// Returns whether `conf` is what sled would write. An absent file counts, because sled then creates it.
fn is_expected_configuration(path: &Path) -> io::Result<bool> {
    let expected = expected_configuration();
    match files::read_small(path, u64::try_from(expected.len()).unwrap_or(u64::MAX)) {
        Err(error) if error.kind() == io::ErrorKind::FileTooLarge => Ok(false),
        found => Ok(found?.is_none_or(|found| found == expected)),
    }
}

/// Returns the bytes of `conf`: the text and its CRC32, little-endian. Does no I/O.
pub(super) fn expected_configuration() -> Vec<u8> {
    let checksum = crc32fast::hash(CONFIGURATION_TEXT).to_le_bytes();
    [CONFIGURATION_TEXT, &checksum].concat()
}
