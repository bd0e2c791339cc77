//! A socket in a folder that only its user can enter.
//!
//! The folder is `inmost` in `XDG_RUNTIME_DIR`, or one with the user's number in its name in the folder for temporary
//! files. It is used only if it is a folder and not a link, belongs to this user, and no other user can enter it: in a
//! folder for temporary files, anyone can create an entry with that name. The name of a socket is a hash of the store's
//! canonical path.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::{canonical, name_of};
use crate::error::DaemonError;
use crate::protocol::Folder;

/// The socket of the store in this folder, which must exist, or at this URL.
pub(crate) fn socket(store: &Path) -> io::Result<PathBuf> {
    Ok(folder().join(name_of(&canonical(store)?)))
}

/// Whether the folder of sockets can be trusted.
pub(crate) fn is_private() -> bool {
    is_ours(&folder()).is_ok_and(|mode| mode == PRIVATE)
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
    if is_private() {
        return Ok(());
    }
    Err(DaemonError::SocketFolderNotPrivate(folder.display().to_string()))
}

/// Device and inode of the folder at this path.
pub(crate) fn identity(store: &Path) -> io::Result<Folder> {
    let found = fs::metadata(store)?;
    Ok(Folder { device: found.dev(), inode: found.ino() })
}

/// The folder of sockets.
pub(crate) fn folder() -> PathBuf {
    let given = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    // After `su`, the variable may still name the folder of the previous user.
    if let Some(folder) = given.filter(|folder| folder.is_absolute() && is_ours(folder).is_ok()) {
        return folder.join("inmost");
    }
    let user = rustix::process::geteuid().as_raw();
    std::env::temp_dir().join(format!("inmost-{user}"))
}

/// The permissions of a folder of this user; anything else is an error.
fn is_ours(folder: &Path) -> io::Result<u32> {
    let found = fs::symlink_metadata(folder)?;
    if found.is_dir() && found.uid() == rustix::process::geteuid().as_raw() {
        return Ok(found.permissions().mode() & 0o7777);
    }
    Err(io::ErrorKind::PermissionDenied.into())
}

const PRIVATE: u32 = 0o700;
