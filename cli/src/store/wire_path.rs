//! Paths of the host as bytes, whatever their names are: they cross to a process in another folder, so they are absolute.

use std::path::{Path, PathBuf};

use crate::exit::Failure;

/// The absolute path as the system has it.
pub(crate) fn encode(path: &Path) -> Result<Vec<u8>, Failure> {
    let path = std::path::absolute(path).map_err(|error| {
        Failure::io("The folder of this process cannot be told", &error, "Go to another one.")
    })?;
    Ok(path.into_os_string().into_encoded_bytes())
}

/// The path back from its bytes.
#[cfg(unix)]
pub(crate) fn decode(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    PathBuf::from(std::ffi::OsStr::from_bytes(bytes))
}

/// The path back from its bytes; elsewhere what is no text in a name is replaced.
#[cfg(not(unix))]
pub(crate) fn decode(bytes: &[u8]) -> PathBuf {
    PathBuf::from(String::from_utf8_lossy(bytes).into_owned())
}
