//! The folder over which the memory is mounted: what it must be, mounts that are dead, and unmounting.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::fs::Dir;
use rustix::io::Errno;
use rustix::mount::UnmountFlags;

use crate::MountError;

/// A folder for a mount. Without one it is closed: a program that comes too early writes no plain text.
pub(crate) struct Place {
    pub(crate) folder: PathBuf,
    /// The folder itself, also when something is mounted over it.
    below: File,
}

impl Place {
    /// Opens the folder for the mount: fusermount3 refuses one to which the user cannot write.
    ///
    /// # Errors
    /// Those of the folder.
    pub(crate) fn open(&self) -> io::Result<()> {
        self.below.set_permissions(Permissions::from_mode(0o700))
    }

    /// Closes the folder below the mount, and looks whether a program has written there meanwhile.
    ///
    /// # Errors
    /// [`MountError::NotEmpty`]; those of the folder.
    pub(crate) fn close(&self) -> Result<(), MountError> {
        let failed = |error| MountError::Folder(self.folder.clone(), error);
        self.below.set_permissions(Permissions::from_mode(0o500)).map_err(failed)?;
        let entries = Dir::read_from(&self.below).map_err(|error| failed(error.into()))?;
        let mut names = entries.flatten().filter(|it| ![c".", c".."].contains(&it.file_name()));
        match names.next() {
            Some(_) => Err(MountError::NotEmpty(self.folder.clone())),
            None => Ok(()),
        }
    }
}

/// Makes a folder ready for a mount: cleans up after a dead one, makes it if it is missing, and closes it.
pub(crate) fn prepare(folder: &Path) -> Result<Place, MountError> {
    if is_dead(folder) {
        detach(folder)?;
    }
    match fs::create_dir(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            return Err(MountError::Folder(folder.to_owned(), error));
        }
        _ => {}
    }
    let failed = |error| MountError::Folder(folder.to_owned(), error);
    // A link would show the memory at two paths, and some programs refuse one.
    if fs::symlink_metadata(folder).map_err(failed)?.is_symlink() {
        return Err(MountError::NotAFolder(folder.to_owned()));
    }
    let folder = folder.canonicalize().map_err(failed)?;
    if is_mounted(&folder) {
        return Err(MountError::Mounted(folder));
    }
    let metadata = fs::metadata(&folder).map_err(failed)?;
    if !metadata.is_dir() {
        return Err(MountError::NotAFolder(folder));
    }
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return Err(MountError::NotOwn(folder));
    }
    if fs::read_dir(&folder).map_err(failed)?.next().is_some() {
        return Err(MountError::NotEmpty(folder));
    }
    let below = File::open(&folder).map_err(failed)?;
    let place = Place { folder, below };
    place.close()?;
    Ok(place)
}

/// Whether the process of a mount has ended without unmounting it.
fn is_dead(folder: &Path) -> bool {
    let error = fs::metadata(folder).err().and_then(|error| error.raw_os_error());
    error == Some(Errno::NOTCONN.raw_os_error())
}

/// Whether an Inmost mount is at a folder.
pub(crate) fn is_mounted(folder: &Path) -> bool {
    // Names need not be UTF-8.
    let mounts = fs::read("/proc/self/mounts").unwrap_or_default();
    let (mounts, folder) = (String::from_utf8_lossy(&mounts), folder.to_string_lossy());
    mounts.lines().any(|line| {
        let mut fields = line.split(' ');
        let (source, place) = (fields.next(), fields.next().unwrap_or_default());
        source == Some(SOURCE) && unescaped(place) == folder
    })
}

/// A path of the list of mounts, in which a space is `\040`.
fn unescaped(path: &str) -> String {
    let escapes = [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")];
    escapes.iter().fold(path.to_owned(), |path, (escape, char)| path.replace(escape, char))
}

/// Takes a mount out of the tree at once; it ends when the last program has closed its files.
pub(crate) fn detach(folder: &Path) -> Result<(), MountError> {
    unmount_as(folder, UnmountFlags::DETACH, &["-u", "-z", "-q"])
}

pub(crate) fn unmount(folder: &Path) -> Result<(), MountError> {
    unmount_as(folder, UnmountFlags::empty(), &["-u"])
}

fn unmount_as(folder: &Path, flags: UnmountFlags, options: &[&str]) -> Result<(), MountError> {
    let failed = |error| MountError::Folder(folder.to_owned(), error);
    match rustix::mount::unmount(folder, flags) {
        Ok(()) => return Ok(()),
        // Only root may; a program of the system does it for others.
        Err(Errno::PERM) => {}
        Err(Errno::BUSY) => return Err(MountError::Busy(folder.to_owned())),
        Err(error) => return Err(failed(error.into())),
    }
    let mut helper = Command::new("fusermount3");
    helper.args(options).arg("--").arg(folder);
    match helper.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err(MountError::Busy(folder.to_owned())),
        Err(error) => Err(failed(error)),
    }
}

/// What the list of mounts shows as the device.
pub(crate) const SOURCE: &str = "inmost";
