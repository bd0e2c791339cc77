//! Generations that were set aside: folders `set-aside-` and a number. No unlock opens or removes them.
//!
//! A generation keeps its number unless that name is taken. Its file `header`, if it has one, is a copy of the header that
//! named it, with the only key of its records.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::folder::numbers;
use super::{header_file, overwritten};
use crate::files;
use inmost_storage::{SetAsideGeneration, StorageError};

const PREFIX: &str = "set-aside-";
const HEADER: &str = "header";
const HEADER_DRAFT: &str = "header.new";

/// Renames a generation's folder durably, and first stores the header in it, if one is given.
///
/// A crash leaves the folder under one of the two names. Under the old one it is set aside again.
pub(super) fn add(
    folder: &Path,
    generation: &Path,
    number: u64,
    header: Option<&[u8]>,
) -> Result<(), StorageError> {
    if let Some(header) = header {
        let path = generation.join(HEADER);
        header_file::refuse_folder(&path)?;
        overwritten::replace(&path, &generation.join(HEADER_DRAFT), header)?;
    }
    let name = vacant(folder, number)?;
    // The name is free and the store is locked. Even otherwise, a rename would replace nothing but an empty folder.
    files::rename(generation, &name)?;
    Ok(files::sync_folder(folder)?)
}

/// Returns the generations that were set aside, ascending.
pub(super) fn list(folder: &Path) -> Result<Vec<SetAsideGeneration>, StorageError> {
    let numbers = numbers(folder, PREFIX)?.into_iter();
    let found = |number| {
        Ok(SetAsideGeneration { number, bytes: files::size_below(&path(folder, number))? })
    };
    numbers.map(found).collect()
}

/// Removes one, with its header first.
pub(super) fn discard(folder: &Path, number: u64) -> Result<(), StorageError> {
    let path = path(folder, number);
    let is_ours = match fs::symlink_metadata(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => false,
        // Anything but a folder was not set aside by a store.
        metadata => metadata?.is_dir(),
    };
    if !is_ours {
        return Ok(());
    }
    overwrite_header(folder, number);
    fs::remove_dir_all(path)?;
    Ok(files::sync_folder(folder)?)
}

/// Overwrites the header of one, best effort.
pub(super) fn overwrite_header(folder: &Path, number: u64) {
    let path = path(folder, number);
    overwritten::overwrite(&path.join(HEADER));
    overwritten::overwrite(&path.join(HEADER_DRAFT));
}

/// The first free name from this number on.
fn vacant(folder: &Path, number: u64) -> io::Result<PathBuf> {
    let mut number = number;
    loop {
        let path = path(folder, number);
        match fs::symlink_metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(path),
            taken => taken?,
        };
        number = number.wrapping_add(1);
    }
}

fn path(folder: &Path, number: u64) -> PathBuf {
    folder.join(format!("{PREFIX}{number:016x}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn generation(folder: &Path, text: &str) -> PathBuf {
        let path = folder.join("gen");
        fs::create_dir(&path).unwrap();
        fs::write(path.join("db"), text).unwrap();
        path
    }

    #[test]
    fn a_generation_never_replaces_one_that_was_set_aside_before() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path();
        fs::write(folder.join("set-aside-0000000000000000"), "a file of this name").unwrap();
        for (number, text) in [(7, "first"), (7, "second"), (u64::MAX, "third"), (u64::MAX, "4")] {
            add(folder, &generation(folder, text), number, None).unwrap();
        }
        let found: Vec<_> = list(folder).unwrap().iter().map(|it| (it.number, it.bytes)).collect();
        assert_eq!(found, [(1, 1), (7, 5), (8, 6), (u64::MAX, 5)]);
        let read = |number| fs::read_to_string(path(folder, number).join("db")).unwrap();
        assert_eq!([read(7), read(8), read(u64::MAX), read(1)], ["first", "second", "third", "4"]);

        discard(folder, 7).unwrap();
        discard(folder, 7).unwrap();
        discard(folder, 0).unwrap();
        assert!(folder.join("set-aside-0000000000000000").is_file(), "it is not the store's");
        assert_eq!(list(folder).unwrap().len(), 3);
    }

    /// Reads the old block through a file that was opened before, as an undelete tool would. For Unix: elsewhere the folder of an open file
    /// cannot be removed.
    #[cfg(unix)]
    #[test]
    fn its_header_is_stored_with_it_and_overwritten_when_it_is_discarded() {
        use std::io::Read;

        let place = tempfile::tempdir().unwrap();
        let folder = place.path();
        // An attempt that a crash interrupted after the header was written.
        let begun = generation(folder, "records");
        fs::write(begun.join(HEADER), "another").unwrap();
        add(folder, &begun, 2, Some(b"keyslots")).unwrap();
        let mut header = fs::File::open(path(folder, 2).join(HEADER)).unwrap();
        assert_eq!(fs::read(path(folder, 2).join(HEADER)).unwrap(), b"keyslots");
        discard(folder, 2).unwrap();
        let mut left = Vec::new();
        header.read_to_end(&mut left).unwrap();
        assert_eq!(left, [0; 8]);
        assert_eq!(fs::read_dir(folder).unwrap().count(), 0);
    }

    #[test]
    fn a_name_is_one_only_if_the_store_would_write_it() {
        let parse = |name| super::super::folder::number_in(PREFIX, name);
        assert_eq!(parse("set-aside-00000000000000ff"), Some(255));
        for other in
            ["set-aside-00000000000000FF", "set-aside-ff", "gen-00000000000000ff", "set-aside-"]
        {
            assert_eq!(parse(other), None, "{other}");
        }
    }
}
