//! The name of a store's address.

use std::fmt::Write;
use std::path::Path;

use blake2::digest::Digest;

/// The name of the address of the store at this canonical path, or with this URL. 96 bits identify a store, and keep the path short: a
/// socket's path is limited to little over a hundred bytes.
pub(super) fn name_of(store: &Path) -> String {
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

/// The length of an address's name.
pub(super) const NAME_BYTES: usize = 24;
