//! The address of a store's agent: a socket in a folder that only its user can enter.
//!
//! The folder is `inmost` in `XDG_RUNTIME_DIR`, or one with the user's number in its name in the folder for temporary
//! files. It is used only if it is a folder and not a link, belongs to this user, and no other user can enter it: in a
//! folder for temporary files, anyone can create an entry with that name. The name of a socket is a hash of the store's
//! canonical path.

use std::fmt::Write;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use blake2::digest::Digest;

use crate::error::AgentError;
use crate::protocol::Folder;

/// The socket of the store in this folder, which must exist.
pub(crate) fn socket(store: &Path) -> io::Result<PathBuf> {
    let store = store.canonicalize()?;
    let hash = blake2::Blake2b512::digest(store.as_os_str().as_bytes());
    // 96 bits identify a store, and keep the path short: a socket's path is limited to little over a hundred bytes.
    let mut name = String::new();
    for byte in hash.iter().take(12) {
        // Writing to a string cannot fail.
        let _ = write!(name, "{byte:02x}");
    }
    Ok(folder().join(name))
}

/// Whether the folder of sockets can be trusted.
pub(crate) fn is_private() -> bool {
    is_ours(&folder()).is_ok_and(|mode| mode == PRIVATE)
}

/// Every socket of this user, of a live agent or of a dead one.
pub(crate) fn sockets() -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder()) else { return Vec::new() };
    let is_socket =
        |name: &str| name.len() == 24 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    let entries = entries.flatten();
    let sockets = entries.filter(|entry| entry.file_name().to_str().is_some_and(is_socket));
    sockets.map(|entry| entry.path()).collect()
}

/// Creates the folder of sockets if it does not exist.
pub(crate) fn make_private() -> Result<(), AgentError> {
    let folder = folder();
    match DirBuilder::new().mode(PRIVATE).create(&folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            return Err(AgentError::SocketFolder(error.to_string()));
        }
        _ => {}
    }
    if is_private() {
        return Ok(());
    }
    Err(AgentError::SocketFolderNotPrivate(folder.display().to_string()))
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
