//! What travels in the body of a message, in buffers that are wiped: texts, and paths of the host.

use std::path::{Path, PathBuf};

use inmost::StoreError;

use crate::address;
use crate::error::DaemonError;

/// A path of the memory: names are as private as texts.
pub(crate) type WipedPath = inmost::Wiped<String>;

/// A buffer for text and secrets.
pub(crate) type Wiped = inmost::Wiped<Vec<u8>>;

/// The texts, each preceded by its length; `None` if a length does not fit its field.
pub(crate) fn join(texts: &[&str]) -> Option<Wiped> {
    let size = texts
        .iter()
        .fold(0_usize, |sum, text| sum.saturating_add(text.len()).saturating_add(size_of::<u32>()));
    let mut body = Wiped::new(Vec::with_capacity(size));
    for text in texts {
        body.append(&u32::try_from(text.len()).ok()?.to_be_bytes());
        body.append(text.as_bytes());
    }
    Some(body)
}

/// The next text of a body.
pub(crate) fn take<'b>(rest: &mut &'b [u8]) -> Option<&'b str> {
    let (length, after) = rest.split_first_chunk()?;
    let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
    let (text, after) = after.split_at_checked(length)?;
    *rest = after;
    std::str::from_utf8(text).ok()
}

/// The error of a request whose body does not fit its head.
pub(crate) fn malformed(what: &str) -> StoreError {
    StoreError::KeyDaemon(format!("The key daemon received {what}."))
}

/// The bytes of the absolute path, or of the URL of a store in a database. Absolute, because the daemon has another working
/// folder.
pub(crate) fn encode_path(path: &Path) -> Result<Vec<u8>, DaemonError> {
    if address::is_url(path) {
        return Ok(path.as_os_str().as_encoded_bytes().to_vec());
    }
    let path =
        std::path::absolute(path).map_err(|error| DaemonError::WorkingFolder(error.to_string()))?;
    Ok(path.into_os_string().into_encoded_bytes())
}

/// As [`encode_path`], for a file that need not exist: its folder has one name only, whatever `..` and links led to it.
pub(crate) fn encode_anchor(path: &Path) -> Result<Vec<u8>, DaemonError> {
    let absolute = std::path::absolute(path).ok();
    let resolved = absolute
        .as_deref()
        .and_then(|path| Some(path.parent()?.canonicalize().ok()?.join(path.file_name()?)));
    encode_path(resolved.as_deref().unwrap_or(path))
}

/// The path of these bytes.
#[cfg(unix)]
pub(crate) fn decode_path(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    PathBuf::from(std::ffi::OsStr::from_bytes(bytes))
}

/// The path of these bytes. Text that is not Unicode is replaced.
#[cfg(not(unix))]
pub(crate) fn decode_path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(String::from_utf8_lossy(bytes).into_owned())
}
