//! sled's lock on its log, and forked children.
//!
//! sled locks its log with `flock` and releases the lock by closing the file. A forked child has the same open file, so
//! sled's lock would stay for as long as a child runs: the parent could open the generation never again, not even for the
//! next checkpoint. The store has a lock of its own, which is released by a call. So sled's lock is released as soon as
//! sled has taken it. Whether sled has closed its files, which it does in the background, is then seen from the
//! descriptors of this process.
//!
//! On Linux only, and where `/proc` is there and the system duplicates descriptors; elsewhere sled's lock stays.

use std::fs::File;
use std::io;

/// Releases every lock that this process has on the file.
///
/// # Errors
/// If the system does not support it. The locks stay then.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) fn release_locks(file: &File) -> io::Result<()> {
    use rustix::fs::{FlockOperation, flock, fstat};
    use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};

    let this = pidfd_open(getpid(), PidfdFlags::empty())?;
    let wanted = fstat(file)?;
    for number in numbers()? {
        // Another thread may close it and reuse the number, so what was duplicated is looked at, and not the number.
        let Ok(descriptor) = pidfd_getfd(&this, number, PidfdGetfdFlags::empty()) else { continue };
        let found = fstat(&descriptor)?;
        if (found.st_dev, found.st_ino) == (wanted.st_dev, wanted.st_ino) {
            flock(&descriptor, FlockOperation::Unlock)?;
        }
    }
    Ok(())
}

/// Returns whether this process has the file open for reading and writing, as sled has, through other descriptors than
/// these. Where that cannot be known, it returns false, and the lock tells.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) fn is_open_elsewhere(files: &[&File]) -> io::Result<bool> {
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::MetadataExt;

    let Some(file) = files.first() else { return Ok(false) };
    let wanted = file.metadata()?;
    let is_same = |number: i32| {
        std::fs::metadata(format!("/proc/self/fd/{number}"))
            .is_ok_and(|found| (found.dev(), found.ino()) == (wanted.dev(), wanted.ino()))
    };
    let is_ours = |number: i32| files.iter().any(|ours| ours.as_raw_fd() == number);
    let mut numbers = numbers().unwrap_or_default().into_iter();
    Ok(numbers.any(|number| !is_ours(number) && is_same(number) && is_read_and_written(number)))
}

/// Whoever copies the files of a store only reads them.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn is_read_and_written(number: i32) -> bool {
    let Ok(text) = std::fs::read_to_string(format!("/proc/self/fdinfo/{number}")) else {
        return false;
    };
    let flags = text.lines().find_map(|line| line.strip_prefix("flags:"));
    flags.is_some_and(|octal| octal.ends_with('2'))
}

/// The descriptors of this process.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn numbers() -> io::Result<Vec<i32>> {
    let mut numbers = Vec::new();
    for entry in std::fs::read_dir("/proc/self/fd")? {
        numbers.extend(entry?.file_name().to_str().and_then(|name| name.parse::<i32>().ok()));
    }
    Ok(numbers)
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(super) fn release_locks(_: &File) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(super) fn is_open_elsewhere(_: &[&File]) -> io::Result<bool> {
    Ok(false)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_lock_of_another_descriptor_is_released_and_the_descriptor_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let open =
            || File::options().read(true).write(true).create(true).truncate(false).open(&path);
        let (holder, other) = (open().unwrap(), open().unwrap());
        let _reader = File::open(&path).unwrap();
        holder.lock().unwrap();
        assert!(other.try_lock().is_err());
        assert!(is_open_elsewhere(&[&other]).unwrap());
        assert!(!is_open_elsewhere(&[&other, &holder]).unwrap());
        release_locks(&other).unwrap();
        other.try_lock().unwrap();
        drop(holder);
        assert!(!is_open_elsewhere(&[&other]).unwrap());
    }
}
