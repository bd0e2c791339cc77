//! Memory files as resources, which a person attaches to a conversation. They can only be read.

use std::borrow::Cow;

use inmost::{EntryKind, FileError, FileText, Page, PageCursor, StoreError, WalkEntry};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use rmcp::model::{ErrorData, ListResourcesResult, ReadResourceResult, Resource, ResourceContents};

use crate::memory_path::ROOT;
use crate::store::no_store::NoStore;
use crate::store::restrictions::LOCKED_HINT;

/// Files and folders of one page of the list.
pub(super) const PAGE: usize = 500;

/// Why a resource cannot be listed or read.
pub(super) enum ResourceError {
    /// There is no file of this URI.
    NotFound,
    NoStore(NoStore),
}

impl ResourceError {
    /// Also returns the error of the store, which is printed for the user.
    pub(super) fn of(error: FileError) -> (Self, Option<StoreError>) {
        match error {
            FileError::Store(error) => {
                let no_store = match error {
                    StoreError::Locked => NoStore::Locked,
                    _ => NoStore::Unavailable,
                };
                (Self::NoStore(no_store), Some(error))
            }
            _ => (Self::NotFound, None),
        }
    }
}

impl From<ResourceError> for ErrorData {
    fn from(error: ResourceError) -> Self {
        let message: Cow<'static, str> = match error {
            ResourceError::NotFound => {
                return Self::resource_not_found("There is no memory file of this URI.", None);
            }
            ResourceError::NoStore(NoStore::Locked) => {
                format!("Memory is locked. {LOCKED_HINT}").into()
            }
            ResourceError::NoStore(NoStore::Unavailable) => "Memory is unavailable.".into(),
        };
        Self::internal_error(message, None)
    }
}

/// A page of the list. Folders are left out, so a page may be empty although more pages follow.
pub(super) fn list(page: &Page<WalkEntry>) -> ListResourcesResult {
    let mut result =
        ListResourcesResult::with_all_items(page.items.iter().filter_map(resource).collect());
    // Serialising a cursor into memory cannot fail.
    result.next_cursor = page.next.as_ref().and_then(|next| serde_json::to_string(next).ok());
    result
}

/// The position that the client got with the page before.
pub(super) fn cursor(text: &str) -> Result<PageCursor, ErrorData> {
    serde_json::from_str(text)
        .map_err(|_| ErrorData::invalid_params("`cursor` is not one of this server.", None))
}

fn resource(entry: &WalkEntry) -> Option<Resource> {
    if !matches!(entry.metadata.kind, EntryKind::File { .. }) {
        return None;
    }
    let path = entry.path.as_str();
    let name = path.strip_prefix(ROOT)?.trim_start_matches('/');
    let resource = Resource::new(uri(name), name).with_mime_type(mime_type(path));
    Some(resource.with_size(entry.metadata.bytes))
}

/// The contents of a file.
pub(super) fn contents(uri: &str, text: &FileText) -> ReadResourceResult {
    // The URI names the type, and a wrong URI has no contents.
    let contents = ResourceContents::text(text.as_str(), uri).with_mime_type(mime_type(uri));
    ReadResourceResult::new(vec![contents])
}

fn mime_type(path: &str) -> &'static str {
    let ending = path.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
    match ending.as_deref() {
        Some("md" | "markdown") => "text/markdown",
        _ => "text/plain",
    }
}

fn uri(name: &str) -> String {
    format!("{SCHEME}{}", utf8_percent_encode(name, ESCAPED))
}

/// The path of the file that a URI names.
pub(super) fn path(uri: &str) -> Option<String> {
    let name = percent_decode_str(uri.strip_prefix(SCHEME)?).decode_utf8().ok()?;
    Some(format!("{ROOT}/{name}"))
}

const SCHEME: &str = "memory:///";

/// All but the characters that RFC 3986 calls unreserved, and the separator.
const ESCAPED: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/');

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uri_names_one_path() {
        for name in ["a.md", "people/ada l\u{e9}.md", "100%/#?.txt", "memory:///x"] {
            assert_eq!(path(&uri(name)), Some(format!("/memories/{name}")));
        }
        assert_eq!(uri("a b/\u{e9}#.md"), "memory:///a%20b/%C3%A9%23.md");
        for odd in ["file:///etc/passwd", "memory://a", "memory:///%ff", ""] {
            assert_eq!(path(odd), None, "{odd}");
        }
        // The store refuses such a path.
        assert_eq!(path("memory:///../x").as_deref(), Some("/memories/../x"));
    }
}
