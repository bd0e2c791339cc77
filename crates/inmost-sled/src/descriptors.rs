//! sled's lock on its log, and forked children.
//!
//! sled locks its log with `flock` and releases the lock by closing the file. A forked child has the same open file, so
//! sled's lock would stay for as long as a child runs: the parent could open the generation never again, not even for the
//! next checkpoint. The store has a lock of its own, which is released by a call. So sled's lock is released as soon as
//! sled has taken it. sled closes its files in the background. Whether it has closed its log is then seen from the
//! descriptor, whose number is remembered.
//!
//! On Linux only, and where `/proc` is there and the system duplicates descriptors; elsewhere sled's lock stays, and
//! tells.

#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(super) use elsewhere::{is_open_in_sled, next_number, release_lock};
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) use linux::{is_open_in_sled, next_number, release_lock};

#[cfg(any(target_os = "linux", target_os = "android"))]
mod linux {
    use std::fs::{self, File, Metadata};
    use std::io;
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::MetadataExt;
    use std::path::Path;
    use std::sync::{Mutex, PoisonError};

    use rustix::fs::{FlockOperation, flock};
    use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};

    /// A descriptor of sled's, of a log.
    struct Descriptor {
        device: u64,
        inode: u64,
        number: i32,
    }

    /// The descriptors of all logs that sled has open, and of some that it has closed. Only the process that sled runs in
    /// takes this lock.
    static OF_SLED: Mutex<Vec<Descriptor>> = Mutex::new(Vec::new());

    /// The number that the next file gets, unless another thread opens or closes one. The lowest free number is used.
    pub(in super::super) fn next_number(folder: &Path) -> i32 {
        File::open(folder).map_or(0, |probe| probe.as_raw_fd())
    }

    /// Releases the lock that sled has on its log, and remembers sled's descriptor. `log` is another file with the log open,
    /// and sled has opened it soon after the number `near` was free.
    ///
    /// # Errors
    /// If the system does not support it. The lock stays then.
    pub(in super::super) fn release_lock(log: &File, near: i32) -> io::Result<()> {
        let wanted = log.metadata()?;
        let is_sleds = |number: &i32| *number != log.as_raw_fd() && is_sleds(*number, &wanted);
        // A process can have thousands of files open, so the likely numbers come first.
        let likely = (near..near.saturating_add(LIKELY)).find(is_sleds);
        let number = match likely {
            Some(number) => number,
            None => numbers()?.into_iter().find(is_sleds).ok_or(io::ErrorKind::NotFound)?,
        };
        let this = pidfd_open(getpid(), PidfdFlags::empty())?;
        let descriptor = File::from(pidfd_getfd(&this, number, PidfdGetfdFlags::empty())?);
        // sled keeps it open, so the number still means the same. If it did not, no lock is released.
        if !is_same(&descriptor.metadata()?, &wanted) {
            return Err(io::ErrorKind::NotFound.into());
        }
        flock(&descriptor, FlockOperation::Unlock)?;
        let (device, inode) = (wanted.dev(), wanted.ino());
        let mut of_sled = OF_SLED.lock().unwrap_or_else(PoisonError::into_inner);
        of_sled.retain(|found| found.number != number);
        of_sled.push(Descriptor { device, inode, number });
        Ok(())
    }

    /// Returns whether sled has a log open, which is also open as each of these files. False where that is not known: then
    /// sled still has its lock.
    pub(in super::super) fn is_open_in_sled(files: &[&File]) -> io::Result<bool> {
        let Some(file) = files.first() else { return Ok(false) };
        let wanted = file.metadata()?;
        let is_ours = |number: i32| files.iter().any(|ours| ours.as_raw_fd() == number);
        let mut of_sled = OF_SLED.lock().unwrap_or_else(PoisonError::into_inner);
        let mut is_open = false;
        of_sled.retain(|found| {
            if (found.device, found.inode) != (wanted.dev(), wanted.ino()) {
                return true;
            }
            // A closed number may have been given to another file, even to one of ours.
            let stays = !is_ours(found.number) && is_sleds(found.number, &wanted);
            is_open |= stays;
            stays
        });
        Ok(is_open)
    }

    /// Whether a descriptor is of this file, and for reading and writing, as sled's is. Who copies a store only reads it.
    fn is_sleds(number: i32, wanted: &Metadata) -> bool {
        let is_of = fs::metadata(format!("/proc/self/fd/{number}"))
            .is_ok_and(|found| is_same(&found, wanted));
        is_of
            && fs::read_to_string(format!("/proc/self/fdinfo/{number}")).is_ok_and(|text| {
                let flags = text.lines().find_map(|line| line.strip_prefix("flags:"));
                flags.is_some_and(|octal| octal.ends_with('2'))
            })
    }

    fn is_same(left: &Metadata, right: &Metadata) -> bool {
        (left.dev(), left.ino()) == (right.dev(), right.ino())
    }

    /// The descriptors of this process.
    fn numbers() -> io::Result<Vec<i32>> {
        let mut numbers = Vec::new();
        for entry in fs::read_dir("/proc/self/fd")? {
            numbers.extend(entry?.file_name().to_str().and_then(|name| name.parse::<i32>().ok()));
        }
        Ok(numbers)
    }

    /// How many numbers are looked at before all are.
    const LIKELY: i32 = 16;
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
mod elsewhere {
    use std::fs::File;
    use std::io;
    use std::path::Path;

    pub(in super::super) fn next_number(_: &Path) -> i32 {
        0
    }

    pub(in super::super) fn release_lock(_: &File, _: i32) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    #[expect(clippy::unnecessary_wraps, reason = "it fails on Linux")]
    pub(in super::super) fn is_open_in_sled(_: &[&File]) -> io::Result<bool> {
        Ok(false)
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs::File;

    use super::*;

    #[test]
    fn the_lock_of_another_descriptor_is_released_and_its_end_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let open =
            || File::options().read(true).write(true).create(true).truncate(false).open(&path);
        // From the expected number on, and far from it.
        for near in [next_number(folder.path()), 100_000] {
            let (holder, other) = (open().unwrap(), open().unwrap());
            let _reader = File::open(&path).unwrap();
            holder.lock().unwrap();
            assert!(other.try_lock().is_err());
            release_lock(&other, near).unwrap();
            other.try_lock().unwrap();
            assert!(is_open_in_sled(&[&other]).unwrap());
            drop(holder);
            assert!(!is_open_in_sled(&[&other]).unwrap());
        }
    }
}
