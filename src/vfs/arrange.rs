//! Deletes and moves files and folders, each in one atomic step, whatever the size of a folder.

use std::collections::HashSet;

use super::conditional::conditional;
use super::error::FileError;
use super::folder::{self, ResolvedPath, Target, not_a_folder};
use super::name::InvalidPath;
use super::path::MemoryPath;
use super::path::Subtree;
use super::precondition::Precondition;
use crate::session::history::{Change, nameless};
use crate::session::{Session, Txn, reap};
use inmost_format::record::history::{Before, Operation};
use inmost_format::record::node::{Entries, Entry, FileInfo, What};
use inmost_format::record::{Flaw, Kind, ObjectId, RecordError, load_folder};

/// Deletes a file, or a folder with everything below it.
///
/// # Errors
/// [`FileError::Root`], [`FileError::NotFound`].
pub(crate) fn delete(session: &Session, path: &MemoryPath) -> Result<(), FileError> {
    session.write(|txn| delete_in(txn, path))
}

/// As [`delete`], if the condition holds.
///
/// # Errors
/// Those of [`delete`]; [`FileError::Changed`].
pub(crate) fn delete_if(
    session: &Session,
    path: &MemoryPath,
    condition: &Precondition,
) -> Result<(), FileError> {
    conditional(session, path, condition, |expected| {
        session.write(|txn| {
            expected.check(&ResolvedPath::new(txn, &txn.root()?, path)?.target)?;
            delete_in(txn, path)
        })
    })
}

/// As [`rename`], if the condition holds for the old path. Returns the number of the change.
///
/// # Errors
/// Those of [`rename`]; [`FileError::Changed`].
pub(crate) fn rename_if(
    session: &Session,
    (old, new): (&MemoryPath, &MemoryPath),
    condition: &Precondition,
) -> Result<u64, FileError> {
    conditional(session, old, condition, |expected| {
        session.write(|txn| {
            expected.check(&ResolvedPath::new(txn, &txn.root()?, old)?.target)?;
            rename_in(txn, old, new)
        })
    })
}

/// As [`delete`], as part of a transaction.
pub(super) fn delete_in(txn: &mut Txn<'_>, path: &MemoryPath) -> Result<(), FileError> {
    let entry = take(txn, path)?;
    remove(txn, path, entry, Operation::Deleted)
}

/// Takes a file or folder out of the tree. What becomes of it is left to the caller.
pub(super) fn take(txn: &mut Txn<'_>, path: &MemoryPath) -> Result<Entry, FileError> {
    let resolved = ResolvedPath::new(txn, &txn.root()?, path)?;
    let entry = movable(&resolved.target)?;
    folder::remove(txn, path, &resolved)?;
    // The number is spent even if no entry records it.
    txn.number()?;
    Ok(entry)
}

/// Moves a file, or a folder with everything below it.
///
/// # Errors
/// [`FileError::Root`], [`FileError::NotFound`], [`FileError::AlreadyExists`], [`FileError::IntoItself`],
/// [`FileError::NotAFolder`], [`FileError::PathBelow`], in this order.
pub(crate) fn rename(
    session: &Session,
    old: &MemoryPath,
    new: &MemoryPath,
) -> Result<(), FileError> {
    session.write(|txn| rename_in(txn, old, new)).map(drop)
}

/// As [`rename`], as part of a transaction. Returns the number of the change.
pub(super) fn rename_in(
    txn: &mut Txn<'_>,
    old: &MemoryPath,
    new: &MemoryPath,
) -> Result<u64, FileError> {
    let (entry, destination) = check_move(txn, old, new)?;
    // The entry is added before it is removed, so a folder on both paths is never empty in between.
    put_moved(txn, &entry, (old, new), &destination, |txn| {
        // The folders on the old path may have changed with the first step.
        let source = ResolvedPath::new(txn, &txn.root()?, old)?;
        Ok(folder::remove(txn, old, &source)?)
    })
}

/// Puts what moves at its new place, lets it leave the old one, and records that. Returns the number of the change.
pub(super) fn put_moved(
    txn: &mut Txn<'_>,
    entry: &Entry,
    (old, new): (&MemoryPath, &MemoryPath),
    destination: &ResolvedPath,
    leave: impl FnOnce(&mut Txn<'_>) -> Result<(), FileError>,
) -> Result<u64, FileError> {
    let number = txn.number()?;
    let (file, previous, what) = match entry.what {
        What::File(info) => {
            let moved = FileInfo { version: number, ..info };
            (Some(moved), info.version, What::File(moved))
        }
        What::Folder => (None, 0, What::Folder),
    };
    folder::put(txn, new, destination, (entry.id, entry.tag), what)?;
    leave(txn)?;
    if let Some(file) = file {
        // The time of its last change stays.
        txn.record_use(&[file.number])?;
    }
    if txn.keeps_versions()? {
        txn.record(Change {
            operation: Operation::Renamed,
            path: &new.in_store(),
            old_path: &old.in_store(),
            file,
            previous,
            before: Before::Nothing,
            retired: Vec::new(),
        })?;
    }
    Ok(number)
}

/// Removes what was at a path. It becomes a version, or its records are discarded.
pub(super) fn remove(
    txn: &mut Txn<'_>,
    path: &MemoryPath,
    entry: Entry,
    operation: Operation,
) -> Result<(), FileError> {
    if !txn.keeps_versions()? {
        return Ok(reap::remove(txn, entry)?);
    }
    let (file, previous) = match entry.what {
        What::File(info) => (Some(info), info.version),
        What::Folder => (None, 0),
    };
    Ok(txn.record(Change {
        operation,
        path: &path.in_store(),
        old_path: "",
        file,
        previous,
        before: nameless(&entry),
        retired: Vec::new(),
    })?)
}

/// Makes only the checks of [`rename`].
///
/// # Errors
/// Those of [`rename`].
pub(crate) fn check_rename(
    session: &Session,
    old: &MemoryPath,
    new: &MemoryPath,
) -> Result<(), FileError> {
    session.write(|txn| check_move(txn, old, new).map(drop))
}

/// The entry to move, and the place for it.
fn check_move(
    txn: &Txn<'_>,
    old: &MemoryPath,
    new: &MemoryPath,
) -> Result<(Entry, ResolvedPath), FileError> {
    let root = txn.root()?;
    let entry = movable(&ResolvedPath::new(txn, &root, old)?.target)?;
    let destination = ResolvedPath::new(txn, &root, new)?;
    if matches!(destination.target, Target::Root(_) | Target::Entry(_)) {
        return Err(FileError::AlreadyExists);
    }
    if entry.what == What::Folder && new.starts_with(old) {
        return Err(FileError::IntoItself);
    }
    if let Target::Missing { file_at: Some(depth) } = destination.target {
        return Err(not_a_folder(new, depth));
    }
    check_paths_below(txn, &entry, old, new)?;
    Ok((entry, destination))
}

/// The entry at a path, if it can be moved or deleted.
fn movable(target: &Target) -> Result<Entry, FileError> {
    match target {
        Target::Root(_) => Err(FileError::Root),
        Target::Missing { .. } => Err(FileError::NotFound),
        Target::Entry(entry) => Ok(entry.clone()),
    }
}

/// Checks that every path below a moved folder stays within the limits. Reads the folders below only if the new path is
/// longer or deeper.
pub(super) fn check_paths_below(
    txn: &Txn<'_>,
    entry: &Entry,
    old: &MemoryPath,
    new: &MemoryPath,
) -> Result<(), FileError> {
    let length = new.as_str().len();
    let depth = new.depth();
    if entry.what != What::Folder || (length <= old.as_str().len() && depth <= old.depth()) {
        return Ok(());
    }
    check_below(txn, &mut HashSet::new(), new.subtree(), entry, (length, depth))
}

fn check_below(
    txn: &Txn<'_>,
    reached: &mut HashSet<ObjectId>,
    subtree: &Subtree,
    folder: &Entry,
    (length, depth): (usize, usize),
) -> Result<(), FileError> {
    let (most_bytes, most_depth) = (subtree.path_bytes(), subtree.path_depth());
    if depth >= most_depth {
        return Err(FileError::PathBelow(InvalidPath::Deep(most_depth).describe()));
    }
    // A forged tree of few folders could have too many paths to walk.
    if !reached.insert(folder.id) {
        return Err(RecordError::Damaged { kind: Kind::Folder, flaw: Flaw::Repeated }.into());
    }
    let head = load_folder(txn, folder.id, &folder.tag)?;
    let mut folders = Vec::new();
    head.body.visit::<FileError>(txn, folder.id, 0, &mut |_, leaf: &Entries| {
        for entry in &leaf.0 {
            let length = length.saturating_add(1).saturating_add(entry.name.as_str().len());
            if length > most_bytes {
                return Err(FileError::PathBelow(InvalidPath::LongPath(most_bytes).describe()));
            }
            if entry.what == What::Folder {
                folders.push((entry.clone(), length));
            }
        }
        Ok(true)
    })?;
    folders.iter().try_for_each(|(entry, length)| {
        check_below(txn, reached, subtree, entry, (*length, depth + 1))
    })
}
