//! Paths of the host as bytes, for the key daemon. They are absolute, because the daemon has another working folder.

use std::path::{Path, PathBuf};

use crate::address;
use crate::error::DaemonError;

/// The bytes of the absolute path, or of the URL of a store in a database.
pub(crate) fn encode(path: &Path) -> Result<Vec<u8>, DaemonError> {
    if address::is_url(path) {
        return Ok(path.as_os_str().as_encoded_bytes().to_vec());
    }
    let path =
        std::path::absolute(path).map_err(|error| DaemonError::WorkingFolder(error.to_string()))?;
    Ok(path.into_os_string().into_encoded_bytes())
}

/// The path of these bytes.
#[cfg(unix)]
pub(crate) fn decode(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    PathBuf::from(std::ffi::OsStr::from_bytes(bytes))
}

/// The path of these bytes. Text that is not Unicode is replaced.
#[cfg(not(unix))]
pub(crate) fn decode(bytes: &[u8]) -> PathBuf {
    PathBuf::from(String::from_utf8_lossy(bytes).into_owned())
}
