//! The room that a store takes on the disk.

use std::fs::{self, Metadata};
use std::io;
use std::path::Path;

/// Bytes allocated on disk for a folder and everything below it, as `du` counts them. The length of a sparse file would not
/// say what it takes.
pub(crate) fn allocated(folder: &Path) -> io::Result<u64> {
    let mut bytes = room(&fs::metadata(folder)?);
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            // The metadata of a link itself, not of its target.
            let metadata = match entry.metadata() {
                // A key daemon removes files of the store at any time.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                metadata => metadata?,
            };
            if metadata.is_dir() {
                folders.push(entry.path());
            }
            bytes = bytes.saturating_add(room(&metadata));
        }
    }
    Ok(bytes)
}

#[cfg(unix)]
fn room(metadata: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::blocks(metadata).saturating_mul(512)
}

#[cfg(not(unix))]
fn room(metadata: &Metadata) -> u64 {
    metadata.len()
}
