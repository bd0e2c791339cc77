//! Copies and compares the files of a store.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Every file of a folder by its path below it.
pub type Bytes = BTreeMap<PathBuf, Vec<u8>>;

/// Reads a store, without the files that no recovery uses: the lock, and the ballast, which is a quarter of the bytes.
pub fn read(folder: &Path) -> Bytes {
    let mut bytes = Bytes::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if !path.ends_with("ballast") && !path.ends_with("lock") {
                let name = path.strip_prefix(folder).unwrap().to_owned();
                bytes.insert(name, fs::read(&path).unwrap());
            }
        }
    }
    bytes
}

pub fn write(folder: &Path, bytes: &Bytes) {
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder).unwrap();
    for (name, content) in bytes {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
}

/// The first file that differs, if any. Drafts of a header may come and go.
pub fn difference(before: &Bytes, after: &Bytes) -> Option<String> {
    let names = before.keys().chain(after.keys());
    let is_draft = |name: &Path| {
        name.to_string_lossy().starts_with("header.")
            && name.extension().is_some_and(|it| it == "new")
    };
    let mut changed = names.filter(|name| !is_draft(name) && before.get(*name) != after.get(*name));
    changed.next().map(|name| name.display().to_string())
}

/// Whether the file belongs to a generation.
pub fn is_of_generation(name: &Path) -> bool {
    name.starts_with(generation_of(name)) && name.to_string_lossy().starts_with("gen-")
}

fn generation_of(name: &Path) -> PathBuf {
    name.iter().take(1).collect()
}

/// The bytes of all files of a store's generations, without reading them.
pub fn read_lengths(store: &Path) -> usize {
    let generations = fs::read_dir(store).unwrap().map(|entry| entry.unwrap().path());
    let generations = generations.filter(|path| path.is_dir());
    let files = generations.flat_map(|folder| fs::read_dir(folder).unwrap().map(Result::unwrap));
    files.map(|file| usize::try_from(file.metadata().unwrap().len()).unwrap()).sum()
}
