//! Which kind of place a location names.

use std::io::{self, ErrorKind};

use super::{FolderPlace, Place};

/// Whether a location is that of a place on a server: `s3://BUCKET/PREFIX`, or the URL of a WebDAV folder.
#[must_use]
pub fn is_remote(location: &str) -> bool {
    ["s3://", "https://", "http://"].iter().any(|scheme| location.starts_with(scheme))
}

/// The place at a location: the path of a folder, `s3://BUCKET/PREFIX` with the feature `s3`, or `https://HOST/FOLDER`, a WebDAV
/// folder, with the feature `webdav`. docs/SYNC.md says where credentials come from; a URL that has any is refused.
///
/// # Errors
/// As for [`FolderPlace::open`]. `Unsupported` without the feature, `InvalidInput` for a malformed URL, `PermissionDenied` without
/// credentials for S3. No server is asked.
pub fn open_place(location: &str) -> io::Result<Box<dyn Place>> {
    if !is_remote(location) {
        return Ok(Box::new(FolderPlace::open(location)?));
    }
    #[cfg(feature = "s3")]
    if location.starts_with("s3://") {
        return Ok(Box::new(super::s3::S3Place::open(location)?));
    }
    #[cfg(feature = "webdav")]
    if location.starts_with("http") {
        return Ok(Box::new(super::webdav::WebDavPlace::open(location)?));
    }
    Err(io::Error::new(
        ErrorKind::Unsupported,
        "this program was built without support for such places",
    ))
}
