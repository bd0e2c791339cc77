//! A named pipe. Names of pipes are shared by all users of a machine, so each has the hash of its user in it, and both ends
//! check who is at the other one.
//!
//! The pipes of this user are listed as empty files of the same names in a folder of the user's profile: `inmost\daemons` in
//! `LOCALAPPDATA`, or `inmost` in `XDG_RUNTIME_DIR` if that is set. The path of such a file is the address; nothing trusts it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use winsafe::co;

use super::name::name_of;
use crate::error::DaemonError;
use crate::peer;
use crate::protocol::Folder;

/// The pipe of an address.
pub(crate) fn pipe(address: &Path) -> io::Result<String> {
    let user = peer::this_user()?;
    Ok(format!(r"\\.\pipe\inmost-{}", name_of(&Path::new(&user).join(address))))
}

/// Whether the folder of addresses can be trusted. It need not be: a pipe is trusted for its owner.
pub(crate) fn is_private(_folder: &Path) -> bool {
    true
}

/// The folders of addresses that daemons of this user may have used.
pub(crate) fn folders() -> Vec<PathBuf> {
    vec![folder()]
}

/// Creates the folder of addresses if it does not exist.
pub(crate) fn make_private() -> Result<(), DaemonError> {
    fs::create_dir_all(folder()).map_err(|error| DaemonError::SocketFolder(error.to_string()))
}

/// Volume and number of the folder at this path.
pub(crate) fn identity(store: &Path) -> io::Result<Folder> {
    let path = store.to_str().ok_or(io::ErrorKind::InvalidFilename)?;
    let opened = winsafe::HFILE::CreateFile(
        path,
        co::GENERIC::READ,
        Some(co::FILE_SHARE::READ | co::FILE_SHARE::WRITE | co::FILE_SHARE::DELETE),
        None,
        co::DISPOSITION::OPEN_EXISTING,
        co::FILE_ATTRIBUTE::NORMAL,
        Some(co::FILE_FLAG::BACKUP_SEMANTICS),
        None,
        None,
    );
    let (folder, _) = opened.map_err(peer::failed)?;
    let found = folder.GetFileInformationByHandle().map_err(peer::failed)?;
    Ok(Folder { device: u64::from(found.dwVolumeSerialNumber), inode: found.nFileIndex() })
}

/// The folder of addresses.
pub(crate) fn folder() -> PathBuf {
    let given = |name| std::env::var_os(name).map(PathBuf::from).filter(|it| it.is_absolute());
    if let Some(folder) = given("XDG_RUNTIME_DIR") {
        return folder.join("inmost");
    }
    given("LOCALAPPDATA").unwrap_or_else(std::env::temp_dir).join("inmost").join("daemons")
}
