//! The lock of a store: a file that one process at a time holds locked, with its process id inside for
//! the message. The operating system drops the lock with the process, so a stale file locks nobody out.

use std::fs::{File, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::Path;

use inmost_storage::StorageError;

use crate::files;

pub(super) const NAME: &str = "lock";

/// Bytes of a lock file worth reading: a process id and a line end.
const PID_BYTES: u64 = 16;

/// Renames and clean-ups that may cross one attempt to lock.
const ATTEMPTS: u32 = 8;

pub(super) struct Lock(File);

impl Lock {
    /// Takes the lock of a folder, or fails at once.
    pub(super) fn take(folder: &Path) -> Result<Self, StorageError> {
        let path = folder.join(NAME);
        for _ in 0..ATTEMPTS {
            let file = open_or_create(&path)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Err(StorageError::InUse(read_pid(&file))),
                Err(TryLockError::Error(error)) => return Err(error.into()),
            }
            // Between opening and locking, the file can have moved away with a published store or been
            // removed with an abandoned one; then this lock guards nothing here.
            if files::names(&path, &file)? {
                write_pid(&file)?;
                return Ok(Self(file));
            }
        }
        Err(StorageError::InUse(None))
    }
}

impl Drop for Lock {
    /// Unlocks by name, not by closing: a child process between fork and exec holds the same open file.
    fn drop(&mut self) {
        let _ = self.0.unlock();
    }
}

fn open_or_create(path: &Path) -> io::Result<File> {
    for _ in 0..ATTEMPTS {
        match files::open_to_write(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            opened => return opened,
        }
        match files::create_private_file(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            created => return created,
        }
    }
    Err(io::ErrorKind::NotFound.into())
}

fn write_pid(mut file: &File) -> io::Result<()> {
    // In one piece with its line end, so that a reader can tell a whole number from a part; and written over
    // what is there before that is cut, because on a full disk a new block may not be had.
    let text = format!("{}\n", std::process::id());
    file.rewind()?;
    match file.write_all(text.as_bytes()) {
        // Only the message to others is the poorer for it.
        Err(error) if is_full(&error) => file.set_len(0),
        written => written.and_then(|()| file.set_len(file.stream_position()?)),
    }
}

fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

fn read_pid(file: &File) -> Option<u32> {
    let mut text = String::new();
    file.take(PID_BYTES).read_to_string(&mut text).ok()?;
    text.strip_suffix('\n')?.parse().ok()
}
