//! The tree of a memory, read folder by folder.
//!
//! It is no snapshot: what another user of the store deletes meanwhile may be missing, and is no failure.

use unicode_normalization::UnicodeNormalization;

use crate::exit::Failure;
use crate::store::OpenStore;
use crate::store::facts::{Entry, EntryKind, Text};

/// A file or folder, and where it is.
pub(crate) struct WalkEntry {
    pub(crate) path: String,
    /// Folders between it and the one that the walk began at.
    pub(crate) depth: usize,
    pub(crate) entry: Entry,
}

impl WalkEntry {
    pub(crate) fn is_folder(&self) -> bool {
        self.entry.kind == EntryKind::Folder
    }
}

/// Visits everything below a folder, in the order of names and a folder before what is in it; of a file, itself alone.
/// Folders of the depth `deepest` are not looked into.
pub(crate) fn walk(
    store: &OpenStore,
    from: &str,
    deepest: usize,
    mut visit: impl FnMut(WalkEntry) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut waiting = start(store, &canonical(from))?;
    while let Some(found) = waiting.pop() {
        if found.is_folder() && found.depth < deepest {
            let Some(entries) = store.find_entries(&found.path)? else { continue };
            waiting.extend(in_folder(&found.path, found.depth + 1, entries));
        }
        visit(found)?;
    }
    Ok(())
}

/// Visits the files alone.
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

/// The last first, as a stack wants them.
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

/// A listing of a file is the file itself; so may be that of a folder which holds a file of its own name. But nothing
/// can be listed below a file.
fn is_file(store: &OpenStore, path: &str, entries: &[Entry]) -> bool {
    let [entry] = entries else { return false };
    entry.kind != EntryKind::Folder
        && path.rsplit('/').next() == Some(&entry.name)
        && !matches!(store.find_entries(&format!("{path}/{}", entry.name)), Ok(Some(_)))
}

/// A path as the store writes it, if it is one at all. Does no I/O.
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
