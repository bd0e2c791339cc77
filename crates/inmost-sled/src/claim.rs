//! Waiting until sled has released its lock on the log.

use std::fs::{File, TryLockError};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use inmost_storage::StorageError;

use super::descriptors;
use inmost_engines::files;

/// Waits until no sled of this process has the log open and its lock is free, and holds the lock until the file is
/// dropped. `ours` are other files that have the log open.
pub(super) fn claim(log: &Path, ours: &[&File]) -> Result<File, StorageError> {
    let file = files::open_to_write(log)?;
    let known: Vec<&File> = ours.iter().copied().chain([&file]).collect();
    while_in_use(|| match file.try_lock() {
        Ok(()) if descriptors::is_open_in_sled(&known)? => Err(StorageError::InUse(None)),
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(StorageError::InUse(None)),
        Err(TryLockError::Error(error)) => Err(error.into()),
    })?;
    Ok(file)
}

/// Repeats an attempt while another handle holds the lock, for at most [`LOCK_WAIT`].
pub(super) fn while_in_use<T>(
    attempt: impl Fn() -> Result<T, StorageError>,
) -> Result<T, StorageError> {
    let deadline = Instant::now() + LOCK_WAIT;
    let mut pause = FIRST_PAUSE;
    loop {
        match attempt() {
            Err(StorageError::InUse(_)) if Instant::now() < deadline => {
                thread::sleep(pause);
                pause = pause.saturating_mul(2).min(LONGEST_PAUSE);
            }
            outcome => return outcome,
        }
    }
}

/// How long to wait for sled's lock, because sled closes its file in the background.
const LOCK_WAIT: Duration = Duration::from_secs(1);
const FIRST_PAUSE: Duration = Duration::from_micros(100);
const LONGEST_PAUSE: Duration = Duration::from_millis(5);
