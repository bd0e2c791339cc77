//! A socket in a folder that only its user can enter.
//!
//! The folder is `inmost` in `XDG_RUNTIME_DIR`, or one with the user's number in its name in the folder for temporary
//! files, also if the path of the first would be too long for a socket. A client also looks where a daemon with another environment
//! may listen. A folder is used only if it is a folder and not a link, belongs to this user, and no other user can enter it: in a
//! folder for temporary files, anyone can create an entry with that name. The name of a socket is a hash of the store's
//! canonical path.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::error::DaemonError;
use crate::protocol::Folder;

/// Whether a folder of sockets can be trusted.
pub(crate) fn is_private(folder: &Path) -> bool {
    is_ours(folder).is_ok_and(|mode| mode == PRIVATE)
}

/// Creates the folder of sockets if it does not exist.
pub(crate) fn make_private() -> Result<(), DaemonError> {
    let folder = folder();
    match DirBuilder::new().mode(PRIVATE).create(&folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            return Err(DaemonError::SocketFolder(error.to_string()));
        }
        _ => {}
    }
    if is_private(&folder) {
        return Ok(());
    }
    Err(DaemonError::SocketFolderNotPrivate(folder.display().to_string()))
}

/// Device and inode of the folder at this path.
pub(crate) fn identity(store: &Path) -> io::Result<Folder> {
    let found = fs::metadata(store)?;
    Ok(Folder { device: found.dev(), inode: found.ino() })
}

/// The folder of sockets of this environment.
pub(crate) fn folder() -> PathBuf {
    folders().into_iter().next().unwrap_or_else(|| in_temporary(Path::new("/tmp")))
}

/// The folders of sockets that daemons of this user may have used, whatever their environment was. That of this environment
/// is the first.
pub(crate) fn folders() -> Vec<PathBuf> {
    let user = rustix::process::geteuid().as_raw();
    let given = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    // After `su`, the variable may still name the folder of the previous user.
    let given = given.filter(|folder| folder.is_absolute() && is_ours(folder).is_ok());
    let mut folders: Vec<PathBuf> = given.map(|folder| folder.join("inmost")).into_iter().collect();
    folders.push(in_temporary(&std::env::temp_dir()));
    folders.push(in_temporary(Path::new("/tmp")));
    folders.push(PathBuf::from(format!("/run/user/{user}/inmost")));
    folders.dedup();
    folders.retain(|folder| has_room(folder));
    folders
}

fn in_temporary(folder: &Path) -> PathBuf {
    folder.join(format!("inmost-{}", rustix::process::geteuid().as_raw()))
}

/// Whether the path of a socket in this folder is short enough for the system.
fn has_room(folder: &Path) -> bool {
    folder.as_os_str().len().saturating_add(1).saturating_add(super::name::NAME_BYTES) < SOCKET_PATH
}

/// The permissions of a folder of this user; anything else is an error.
fn is_ours(folder: &Path) -> io::Result<u32> {
    let found = fs::symlink_metadata(folder)?;
    if found.is_dir() && found.uid() == rustix::process::geteuid().as_raw() {
        // A folder inherits the bit for its group from the one that it is made in.
        return Ok(found.permissions().mode() & 0o5777);
    }
    Err(io::ErrorKind::PermissionDenied.into())
}

const PRIVATE: u32 = 0o700;
/// Bytes of a socket's path, with the zero behind it: 108 on Linux, 104 elsewhere.
const SOCKET_PATH: usize =
    if cfg!(any(target_os = "linux", target_os = "android")) { 108 } else { 104 };

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_whose_path_is_too_long_for_a_socket_is_passed_over() {
        assert!(has_room(Path::new("/run/user/1000/inmost")));
        assert!(!has_room(Path::new(&format!("/{}/inmost", "r".repeat(120)))));
        assert!(has_room(&folder()));
    }
}
