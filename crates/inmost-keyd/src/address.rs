//! The address of a store's daemon: where it listens, and which addresses there are.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

use std::fmt::Write;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use blake2::digest::Digest;

use crate::protocol::Folder;

#[cfg(unix)]
use self::unix as system;
#[cfg(windows)]
use self::windows as system;
#[cfg(windows)]
pub(crate) use self::windows::pipe;
pub(crate) use system::{folder, folders, is_private, make_private, socket};

/// Every address in the folders where daemons of this user listen, of a live daemon or of a dead one.
pub(crate) fn sockets() -> Vec<PathBuf> {
    let listed = folders().into_iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten();
    listed.flatten().map(|entry| entry.path()).filter(|path| is_address(path)).collect()
}

/// Whether a path has the name of an address.
pub(crate) fn is_address(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.len() == NAME_BYTES && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The name of the address of the store at this canonical path, or with this URL. 96 bits identify a store, and keep the path short: a
/// socket's path is limited to little over a hundred bytes.
fn name_of(store: &Path) -> String {
    let hash = blake2::Blake2b512::digest(store.as_os_str().as_encoded_bytes());
    let mut name = String::new();
    for byte in hash.iter().take(12) {
        // Writing to a string cannot fail.
        let _ = write!(name, "{byte:02x}");
    }
    name
}

/// Whether the store is in a database, and this is its URL.
pub(crate) fn is_url(store: &Path) -> bool {
    store.to_str().is_some_and(inmost::VaultOptions::is_url)
}

/// The one name of a store: the canonical path of its folder, which must exist, or its URL.
fn canonical(store: &Path) -> io::Result<PathBuf> {
    if is_url(store) { Ok(store.to_owned()) } else { store.canonicalize() }
}

/// Identifies the folder at this path, so that another folder at the same path is noticed. A URL always names the same store.
pub(crate) fn identity(store: &Path) -> io::Result<Folder> {
    if is_url(store) { Ok(Folder { device: 0, inode: 0 }) } else { system::identity(store) }
}

/// The length of an address's name.
const NAME_BYTES: usize = 24;
