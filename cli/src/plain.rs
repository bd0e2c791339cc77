//! Plain files beside the store, read and written without following links and without leaving half a file.

use std::fs::File;
use std::io;
use std::path::Path;

/// More than any file of a store may have; the store's own limit is told by itself.
pub(crate) const MOST_BYTES: usize = 64 << 20;

/// Opens a regular file to read it; a link is not followed, and nothing waits for the other end of a pipe.
#[cfg(unix)]
pub(crate) fn open(path: &Path) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    regular(File::from(rustix::fs::open(path, flags, Mode::empty())?))
}

/// Opens a regular file to read it.
#[cfg(not(unix))]
pub(crate) fn open(path: &Path) -> io::Result<File> {
    if path.symlink_metadata()?.is_symlink() {
        return Err(io::Error::other("it is a link"));
    }
    regular(File::open(path)?)
}

fn regular(file: File) -> io::Result<File> {
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::other("it is no regular file"))
    }
}
