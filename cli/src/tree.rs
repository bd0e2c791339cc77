//! The tree of a memory, read folder by folder.
//!
//! A walk is not a snapshot: a file that another process deletes during the walk may be missing, which is no error.

use unicode_normalization::UnicodeNormalization;

use crate::exit::Failure;
use crate::store::OpenStore;
use crate::store::facts::{Entry, EntryKind, Text};

/// A file or folder, with its path.
pub(crate) struct WalkEntry {
    pub(crate) path: String,
    /// The number of folders between it and the start of the walk.
    pub(crate) depth: usize,
    pub(crate) entry: Entry,
}

impl WalkEntry {
    pub(crate) fn is_folder(&self) -> bool {
        self.entry.kind == EntryKind::Folder
    }
}

/// Visits everything below a folder, or a single file. Entries are sorted by name, and a folder comes before its content.
/// Folders at the depth `deepest` are not opened.
pub(crate) fn walk(
    store: &OpenStore,
    from: &str,
    deepest: usize,
    mut visit: impl FnMut(WalkEntry) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut stack = start(store, &canonical(from))?;
    while let Some(found) = stack.pop() {
        if found.is_folder() && found.depth < deepest {
            let Some(entries) = store.find_entries(&found.path)? else { continue };
            stack.extend(in_folder(&found.path, found.depth + 1, entries));
        }
        visit(found)?;
    }
    Ok(())
}

/// Visits only the files.
pub(crate) fn walk_files(
    store: &OpenStore,
    from: &str,
    mut visit: impl FnMut(&WalkEntry, &Text) -> Result<(), Failure>,
) -> Result<(), Failure> {
    walk(store, from, usize::MAX, |found| {
        if found.is_folder() {
            return Ok(());
        }
        store.find(&found.path)?.map_or(Ok(()), |text| visit(&found, &text))
    })
}

/// Whether there is a folder at the path.
pub(crate) fn is_folder(store: &OpenStore, path: &str) -> Result<bool, Failure> {
    let path = canonical(path);
    let entries = store.find_entries(&path)?;
    Ok(entries.is_some_and(|entries| !is_file(store, &path, &entries)))
}

fn start(store: &OpenStore, from: &str) -> Result<Vec<WalkEntry>, Failure> {
    let entries = store.list(from)?;
    if is_file(store, from, &entries) {
        let found = |entry| WalkEntry { path: from.to_owned(), depth: 0, entry };
        return Ok(entries.into_iter().map(found).collect());
    }
    Ok(in_folder(from, 0, entries).collect())
}

/// In reverse order, for a stack.
fn in_folder(
    folder: &str,
    depth: usize,
    entries: Vec<Entry>,
) -> impl Iterator<Item = WalkEntry> + use<> {
    let folder = folder.to_owned();
    let found =
        move |entry: Entry| WalkEntry { path: format!("{folder}/{}", entry.name), depth, entry };
    entries.into_iter().rev().map(found)
}

/// Whether a listing is that of a file. Listing a file returns the file itself; a folder that contains one file with the
/// folder's name gives the same listing, but only the folder can be listed one level deeper.
fn is_file(store: &OpenStore, path: &str, entries: &[Entry]) -> bool {
    let [entry] = entries else { return false };
    entry.kind != EntryKind::Folder
        && path.rsplit('/').next() == Some(&entry.name)
        && !matches!(store.find_entries(&format!("{path}/{}", entry.name)), Ok(Some(_)))
}

/// A path in the form that the store uses. An invalid path stays invalid. Does no I/O.
pub(crate) fn canonical(path: &str) -> String {
    let rooted =
        if path.starts_with('/') { "" } else { path.split('/').next().unwrap_or_default() };
    let mut canonical = rooted.to_owned();
    for name in path.split('/').skip(usize::from(!rooted.is_empty())) {
        if !name.is_empty() {
            canonical.push('/');
            canonical.extend(name.nfc());
        }
    }
    canonical
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_written_as_the_store_does() {
        for (path, expected) in [
            ("/memories", "/memories"),
            ("/memories//a/", "/memories/a"),
            ("/memories/cafe\u{301}", "/memories/caf\u{e9}"),
            ("memories/a", "memories/a"),
            ("a", "a"),
            ("", ""),
        ] {
            assert_eq!(canonical(path), expected, "{path:?}");
        }
    }
}
