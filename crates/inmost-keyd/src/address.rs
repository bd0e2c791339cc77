//! The address of a store's daemon: where it listens, and which addresses there are.

mod name;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::protocol::Folder;

pub(crate) use self::name::is_url;
use self::name::{NAME_BYTES, name_of};
#[cfg(unix)]
use self::unix as system;
#[cfg(windows)]
use self::windows as system;
#[cfg(windows)]
pub(crate) use self::windows::pipe;
pub(crate) use system::{folder, folders, is_private, make_private};

/// The address of the store in this folder, which must exist, or at this URL.
pub(crate) fn socket(store: &Path) -> io::Result<PathBuf> {
    let canonical = if is_url(store) { store.to_owned() } else { store.canonicalize()? };
    Ok(folder().join(name_of(&canonical)))
}

/// The addresses of a store in every folder where a daemon of this user may listen. The folder of the store may be gone, as on a
/// disk that was pulled.
pub(crate) fn sockets_of(store: &Path) -> io::Result<Vec<PathBuf>> {
    let named = if is_url(store) {
        store.to_owned()
    } else {
        store.canonicalize().or_else(|_| std::path::absolute(store))?
    };
    let name = name_of(&named);
    Ok(folders().into_iter().map(|folder| folder.join(&name)).collect())
}

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

/// Identifies the folder at this path, so that another folder at the same path is noticed. A URL always names the same store.
pub(crate) fn identity(store: &Path) -> io::Result<Folder> {
    if is_url(store) { Ok(Folder { device: 0, inode: 0 }) } else { system::identity(store) }
}
