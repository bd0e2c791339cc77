//! The names in a store's folder, and what may be replaced by a store.

use std::fs;
use std::io;
use std::path::Path;

use super::header_file;
use crate::files;

pub(super) const GENERATION_PREFIX: &str = "gen-";

/// Returns the number in the name of a folder, if the name is exactly what the store would write. Does no I/O.
pub(super) fn number_in(prefix: &str, name: &str) -> Option<u64> {
    let number = u64::from_str_radix(name.strip_prefix(prefix)?, 16).ok()?;
    (name == format!("{prefix}{number:016x}")).then_some(number)
}

/// Returns the number in a generation's folder name.
pub(super) fn parse_generation(name: &str) -> Option<u64> {
    number_in(GENERATION_PREFIX, name)
}

/// Returns the numbers of the folders whose names have this prefix, ascending.
pub(super) fn numbers(folder: &Path, prefix: &str) -> io::Result<Vec<u64>> {
    let mut numbers = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if let Some(number) = number_in(prefix, &entry.file_name().to_string_lossy())
            && entry.file_type()?.is_dir()
        {
            numbers.push(number);
        }
    }
    numbers.sort_unstable();
    Ok(numbers)
}

pub(super) fn holds_store(folder: &Path) -> io::Result<bool> {
    let entries = match fs::read_dir(folder) {
        // A path through a regular file holds no store either.
        Err(error)
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
        {
            return Ok(false);
        }
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        let mut copies = header_file::COPIES.map(header_file::name).into_iter();
        // A folder is never a header. It may be the remainder of a destroyed store.
        if copies.any(|copy| name == copy) && !entry.file_type()?.is_dir()
            || parse_generation(&name.to_string_lossy()).is_some()
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Checks that a store can be published at `target`.
///
/// # Errors
/// `AlreadyExists` unless the path is absent or an empty folder.
pub(super) fn check_vacant(target: &Path) -> io::Result<()> {
    let vacant = match fs::symlink_metadata(target) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => true,
        metadata => metadata?.is_dir() && fs::read_dir(target)?.next().is_none(),
    };
    if vacant { Ok(()) } else { Err(io::ErrorKind::AlreadyExists.into()) }
}

/// Moves a new store to its place. Replaces nothing but an empty folder.
///
/// # Errors
/// `AlreadyExists` if the place is taken.
pub(super) fn rename(folder: &Path, target: &Path) -> io::Result<()> {
    if cfg!(windows) && target.exists() {
        fs::remove_dir(target)?; // there, a rename does not replace an empty folder
    }
    files::rename(folder, target).map_err(|error| match error.kind() {
        io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::NotADirectory => {
            io::ErrorKind::AlreadyExists.into()
        }
        _ => error,
    })
}
