//! Where the agent of a store listens: a socket in a folder that is its user's alone.
//!
//! The folder is `inmost` in `XDG_RUNTIME_DIR`, or one with the user's number in its name in the folder for temporary
//! files. It is used only if it is a folder and no link, ours, and closed to everybody else: in a folder for temporary files
//! anybody may have put something of that name. The name of a socket is a hash of the canonical path of the store.

use std::fmt::Write;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use blake2::digest::Digest;

use super::protocol::Folder;
use crate::exit::{Exit, Failure};

/// The socket of the store in a folder, which has to be there.
pub(super) fn socket(store: &Path) -> io::Result<PathBuf> {
    let store = store.canonicalize()?;
    let hash = blake2::Blake2b512::digest(store.as_os_str().as_bytes());
    // 96 bits tell all stores apart, and leave room: the path of a socket has little over a hundred bytes.
    let mut name = String::new();
    for byte in hash.iter().take(12) {
        // Writing to a string cannot fail.
        let _ = write!(name, "{byte:02x}");
    }
    Ok(folder().join(name))
}

/// Whether the folder of sockets can be trusted.
pub(super) fn is_private() -> bool {
    is_ours(&folder()).is_ok_and(|mode| mode == PRIVATE)
}

/// Makes the folder of sockets if it is not there.
pub(super) fn make_private() -> Result<(), Failure> {
    let folder = folder();
    match DirBuilder::new().mode(PRIVATE).create(&folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            let advice = "Set XDG_RUNTIME_DIR to a folder of yours.";
            return Err(Failure::io("The folder for sockets cannot be made", &error, advice));
        }
        _ => {}
    }
    if is_private() {
        return Ok(());
    }
    Err(Failure::new(
        Exit::Other,
        format!("The folder for sockets, {}, is not yours alone.", folder.display()),
        "Remove it, or set XDG_RUNTIME_DIR to a folder of yours.",
    ))
}

/// Which folder it is that now lies at a place.
pub(super) fn identity(store: &Path) -> io::Result<Folder> {
    let found = fs::metadata(store)?;
    Ok(Folder { device: found.dev(), inode: found.ino() })
}

fn folder() -> PathBuf {
    let given = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    // Another user's, kept by a change of the user, is no place for ours.
    if let Some(folder) = given.filter(|folder| folder.is_absolute() && is_ours(folder).is_ok()) {
        return folder.join("inmost");
    }
    let user = rustix::process::geteuid().as_raw();
    std::env::temp_dir().join(format!("inmost-{user}"))
}

/// The permissions of a folder of ours; whatever else is there is an error.
fn is_ours(folder: &Path) -> io::Result<u32> {
    let found = fs::symlink_metadata(folder)?;
    if found.is_dir() && found.uid() == rustix::process::geteuid().as_raw() {
        return Ok(found.permissions().mode() & 0o7777);
    }
    Err(io::ErrorKind::PermissionDenied.into())
}

const PRIVATE: u32 = 0o700;
