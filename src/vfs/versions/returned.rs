//! A deleted folder moves back into the tree. The files in it count as used, because nobody could read them meanwhile.

use std::collections::HashSet;

use inmost_format::record::history::{Before, Operation, Version};
use inmost_format::record::node::{Entries, Entry, What};
use inmost_format::record::{Flaw, Kind, RecordError, load_folder};

use super::past::{Past, path_of};
use super::redact;
use crate::session::history::Change;
use crate::session::{Exclusive, Txn};
use crate::vfs::arrange;
use crate::vfs::change::not_a_folder;
use crate::vfs::error::FileError;
use crate::vfs::folder::{self, ResolvedPath, Target};
use crate::vfs::path::MemoryPath;

/// What comes before a deleted folder moves back: what a redaction could not find because of damage must not come back, and its files
/// count as used.
pub(super) fn prepare_return(
    exclusive: &mut Exclusive<'_>,
    deletion: &mut Version,
) -> Result<(), FileError> {
    *deletion = redact::finish_in(exclusive, deletion.clone())?;
    record_use(exclusive, deletion)
}

/// Moves a deleted folder back into the tree. Its entry then names the change that did so.
pub(super) fn move_back(
    txn: &mut Txn<'_>,
    deletion: &Version,
    path: &MemoryPath,
) -> Result<u64, FileError> {
    let Before::Object(held) = &deletion.before else {
        return Err(FileError::VersionGone(deletion.number));
    };
    check_held(txn, deletion.number, held)?;
    let number = txn.number()?;
    let resolved = ResolvedPath::new(txn, &txn.root()?, path)?;
    match &resolved.target {
        Target::Missing { file_at: None } => {}
        Target::Missing { file_at: Some(depth) } => return Err(not_a_folder(path, *depth)),
        Target::Entry(_) | Target::Root(_) => return Err(FileError::AlreadyExists),
    }
    arrange::check_paths_below(txn, held, &path_of(deletion)?, path)?;
    // What was in it was redacted or forgotten: no folder is empty.
    if load_folder(txn, held.id, &held.tag)?.body.count() == 0 {
        return Err(FileError::VersionGone(deletion.number));
    }
    check_folder_quotas(txn, &resolved, held)?;
    folder::put(txn, path, &resolved, (held.id, held.tag), What::Folder)?;
    if let Some((object, mut history)) = txn.history()? {
        history.edit(txn, object, deletion.number, |entry| {
            entry.before = Before::Restored(number);
            entry.held = 0;
            true
        })?;
        txn.set_history(object, history)?;
    }
    txn.record(Change {
        operation: Operation::Restored,
        path: &path.in_store(),
        old_path: deletion.path.as_str(),
        file: None,
        previous: 0,
        before: Before::Nothing,
        retired: Vec::new(),
    })?;
    Ok(number)
}

/// Checks that a deletion still holds this folder. The commits since its entry was read may have dropped the folder for lack of time
/// or room: then its records are being removed, and it must not be in the tree.
fn check_held(txn: &Txn<'_>, deletion: u64, held: &Entry) -> Result<(), FileError> {
    let root = txn.root()?;
    let past = Past::open(txn, &root, 0)?;
    let entry = past.map_or(Ok(None), |past| past.entry(deletion))?;
    match entry.as_ref().map(|entry| &entry.before) {
        Some(Before::Object(now)) if (now.id, now.tag) == (held.id, held.tag) => Ok(()),
        _ => Err(FileError::VersionGone(deletion)),
    }
}

fn check_folder_quotas(
    txn: &Txn<'_>,
    resolved: &ResolvedPath,
    folder: &Entry,
) -> Result<(), FileError> {
    let (quotas, totals) = (txn.quotas(), resolved.store_totals().unwrap_or_default());
    let added = load_folder(txn, folder.id, &folder.tag)?.totals;
    if totals.files.saturating_add(added.files) > quotas.store_files {
        return Err(FileError::TooManyFiles(quotas.store_files));
    }
    if totals.bytes.saturating_add(added.bytes) > quotas.store_bytes {
        return Err(FileError::TooMuchText(quotas.store_bytes));
    }
    Ok(())
}

/// Records that the files in the folder which a deletion holds are used, in durable steps. This comes before the folder moves
/// back: a crash in between leaves readings of files that are not there, which do no harm.
fn record_use(exclusive: &mut Exclusive<'_>, deletion: &Version) -> Result<(), FileError> {
    let Before::Object(held) = &deletion.before else { return Ok(()) };
    let files = exclusive.commit(|txn| {
        if txn.root()?.reads_since == 0 {
            return Ok(Vec::new());
        }
        files_in(txn, held)
    })?;
    let mut rest = files.as_slice();
    while !rest.is_empty() {
        let done = exclusive.commit(|txn| Ok::<_, FileError>(txn.record_use(rest)?))?;
        rest = rest.get(done.max(1)..).unwrap_or_default();
    }
    Ok(())
}

/// The numbers of the files below a folder, in order.
fn files_in(txn: &Txn<'_>, folder: &Entry) -> Result<Vec<u64>, FileError> {
    let mut files = Vec::new();
    let mut folders = vec![(folder.id, folder.tag)];
    let mut reached = HashSet::new();
    while let Some((object, tag)) = folders.pop() {
        // A forged tree of few folders could have too many paths to walk.
        if !reached.insert(object) {
            return Err(RecordError::Damaged { kind: Kind::Folder, flaw: Flaw::Repeated }.into());
        }
        let head = load_folder(txn, object, &tag)?;
        head.body.visit::<FileError>(txn, object, 0, &mut |_, leaf: &Entries| {
            for entry in &leaf.0 {
                match entry.what {
                    What::File(info) => files.push(info.number),
                    What::Folder => folders.push((entry.id, entry.tag)),
                }
            }
            Ok(true)
        })?;
    }
    files.sort_unstable();
    Ok(files)
}
