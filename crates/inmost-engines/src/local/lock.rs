//! The lock of a store: a file that one process at a time keeps locked. It contains the process id, for the
//! message to other processes. The operating system releases the lock when the process ends, so a stale file
//! blocks nobody.
//!
//! On Windows, the lock also keeps other processes from reading the file, so there the message cannot name the holder.

use std::fs::{File, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::Path;

use inmost_storage::StorageError;

use crate::files;

pub(super) const NAME: &str = "lock";

/// The most bytes read from a lock file: a process id and a newline.
const PID_BYTES: u64 = 16;

/// Attempts to take the lock. A rename or clean-up by another process can invalidate one.
const ATTEMPTS: u32 = 8;

/// The lock of a folder, until it is dropped.
pub struct Lock {
    file: File,
    /// The process that took it. A forked child has the same open file, so it could release the lock of its parent.
    process: u32,
}

impl Lock {
    /// Takes the lock of a folder. Fails at once if another process holds it.
    ///
    /// # Errors
    /// [`StorageError::InUse`] with the process id of the holder, if it can be read.
    pub fn take(folder: &Path) -> Result<Self, StorageError> {
        let path = folder.join(NAME);
        for _ in 0..ATTEMPTS {
            let file = open_or_create(&path)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Err(StorageError::InUse(read_pid(&file))),
                Err(TryLockError::Error(error)) => return Err(error.into()),
            }
            // Between opening and locking, the file can have moved away with a published store or been
            // removed with an abandoned one. The lock would then protect nothing here.
            if files::names(&path, &file)? {
                write_pid(&file)?;
                return Ok(Self { file, process: std::process::id() });
            }
        }
        Err(StorageError::InUse(None))
    }
}

impl Lock {
    /// Whether this process took it, and not the one that this process was forked from.
    pub(super) fn is_ours(&self) -> bool {
        self.process == std::process::id()
    }
}

impl Drop for Lock {
    /// Unlocks explicitly instead of by closing: a child process between fork and exec has the same file
    /// open.
    fn drop(&mut self) {
        if self.is_ours() {
            let _ = self.file.unlock();
        }
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
    // Written at once with its newline, so that a reader can tell a whole number from a part. The old text is
    // overwritten before it is truncated, because a full disk may have no new block.
    let text = format!("{}\n", std::process::id());
    file.rewind()?;
    match file.write_all(text.as_bytes()) {
        // Without the process id, only the message to other processes is less precise.
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
