//! Brings back a version, or what a deletion took.

use inmost_format::record::history::{Before, Operation, Version};
use inmost_format::record::node::{Entry, FileInfo, What};
use inmost_format::record::{NodeSource, ObjectId, Tag, load_folder};
use inmost_format::secret::Wiped;

use super::entries::{Past, path_of};
use super::find::{Place, locate, now_of, read, visit_files};
use super::info::{UndoStep, VersionKind};
use crate::limits::STAGE_BYTES;
use crate::session::history::{Change, nameless};
use crate::session::{Exclusive, Session, Txn, now};
use crate::vfs::arrange;
use crate::vfs::change::{check_quotas, info_of};
use crate::vfs::error::FileError;
use crate::vfs::folder::{self, ResolvedPath, Target};
use crate::vfs::path::MemoryPath;
use crate::vfs::{new_text, staged};

/// Brings a version back. Returns the number of the new version.
///
/// # Errors
/// Those of [`History::restore`](crate::History::restore).
pub(crate) fn restore(session: &Session, number: u64, to: Option<&str>) -> Result<u64, FileError> {
    let to = to.map(MemoryPath::parse).transpose()?;
    session.undisturbed(|exclusive| {
        let plan = exclusive.commit(|txn| Plan::restore(txn, number, to.clone()))?;
        plan.make(exclusive)
    })
}

/// Makes a step of an undo, unless the file or folder has changed since.
///
/// # Errors
/// Those of [`HistoryStore::revert`](crate::HistoryStore::revert).
pub(crate) fn revert(session: &Session, step: &UndoStep) -> Result<u64, FileError> {
    session.undisturbed(|exclusive| {
        let plan = exclusive.commit(|txn| Plan::revert(txn, step))?;
        plan.make(exclusive)
    })
}

/// What going back does.
pub(super) enum Plan {
    /// A text returns to a path.
    File {
        text: Wiped<String>,
        path: MemoryPath,
        info: FileInfo,
        previous: u64,
        /// The path at which the same file is now, if that is another.
        leaves: Option<MemoryPath>,
    },
    /// A deleted folder moves back.
    Folder { deletion: Version, path: MemoryPath },
    /// A folder moves back to its earlier path.
    Rename { from: MemoryPath, to: MemoryPath },
    /// What was made is deleted.
    Delete(MemoryPath),
    /// A folder that was brought back is deleted.
    DeleteFolder(MemoryPath),
}

impl Plan {
    fn restore(txn: &Txn<'_>, number: u64, to: Option<MemoryPath>) -> Result<Self, FileError> {
        let (root, from) = (txn.root()?, txn.versions_from()?);
        let past = Past::open(txn, &root, from)?.ok_or(FileError::NoSuchVersion(number))?;
        let entry = past.entry(number)?;
        if let Some(entry) = entry.as_ref().filter(|entry| entry.file == 0) {
            let path = to.map_or_else(|| path_of(entry), Ok)?;
            return Self::folder(entry, path);
        }
        let (text, version) = match &entry {
            Some(entry) if matches!(entry.operation, Operation::Deleted | Operation::Expired) => {
                let Before::Object(held) = &entry.before else {
                    return Err(FileError::VersionGone(number));
                };
                let place = Place::Object(Entry::clone(held));
                (read(&past, number, &place)?, entry.clone())
            }
            Some(entry) => {
                let place = locate(&past, number)?.place;
                (read(&past, number, &place)?, entry.clone())
            }
            None => {
                let located = locate(&past, number)?;
                let first = located.same_text.first().copied();
                let known = first.or(located.holder).ok_or(FileError::NoSuchVersion(number))?;
                let mut entry = past.entry(known)?.ok_or(FileError::NoSuchVersion(number))?;
                if first.is_some() {
                    // It was renamed; before, it had the old path.
                    entry.path = entry.old_path.clone();
                }
                (read(&past, number, &located.place)?, entry)
            }
        };
        let path = to.map_or_else(|| path_of(&version), Ok)?;
        let now = now_of(txn, version.file, version.number)?;
        let at_path = ResolvedPath::new(txn, &root, &path)?.target.file().map(|(_, info)| info);
        let is_same = at_path.is_some_and(|info| info.number == version.file);
        // A file that is still somewhere else keeps its number there, and this becomes another file.
        let is_back = is_same || now.path.is_none() && !now.is_inside;
        let created = at_path.filter(|_| is_same).map(|info| info.created);
        let mut info = info_for(&text, created);
        info.number = if is_back { version.file } else { 0 };
        // After a repair, the file may be as a change made it that has no entry.
        let there = at_path.filter(|_| is_same).map(|info| info.version);
        let previous = if is_back { there.unwrap_or(now.newest.number) } else { 0 };
        Ok(Self::File { text, path, info, previous, leaves: None })
    }

    fn folder(entry: &Version, path: MemoryPath) -> Result<Self, FileError> {
        match (entry.operation, &entry.before) {
            (Operation::Deleted, Before::Object(_)) => {
                Ok(Self::Folder { deletion: entry.clone(), path })
            }
            // A note of objects that were forgotten is of no folder.
            (Operation::Deleted | Operation::Forgotten, _) => {
                Err(FileError::VersionGone(entry.number))
            }
            _ => Err(FileError::IsAFolder(entry.path.as_str().to_owned().into())),
        }
    }

    pub(super) fn revert(txn: &Txn<'_>, step: &UndoStep) -> Result<Self, FileError> {
        let (root, from) = (txn.root()?, txn.versions_from()?);
        let number = step.newest.number;
        let past = Past::open(txn, &root, from)?.ok_or(FileError::NoSuchVersion(number))?;
        let entry = past.entry(number)?.ok_or(FileError::NoSuchVersion(number))?;
        let path = match &step.path {
            Some(path) => MemoryPath::parse(path.as_str())?,
            None => path_of(&entry)?,
        };
        if entry.file == 0 {
            check_as_of(&past, step)?;
            return Ok(match step.newest.kind {
                VersionKind::Deleted => Self::folder(&entry, path)?,
                VersionKind::Renamed => Self::Rename { from: path_of(&entry)?, to: path },
                _ => Self::DeleteFolder(path_of(&entry)?),
            });
        }
        let now = now_of(txn, entry.file, entry.number)?;
        if now.newest.number != number || now.is_inside {
            return Err(FileError::Changed(None));
        }
        let Some(to) = step.to else {
            return Ok(Self::Delete(now.path.ok_or(FileError::Changed(None))?));
        };
        // Where only the folders on its path moved, it goes back where it is now.
        let path = match &now.path {
            Some(now) if step.stays => now.clone(),
            _ => path,
        };
        let text = match &entry.before {
            Before::Object(held) if entry.previous == to => {
                read(&past, to, &Place::Object(Entry::clone(held)))?
            }
            _ => read(&past, to, &locate(&past, to)?.place)?,
        };
        let leaves = now.path.filter(|now| now.as_str() != path.as_str());
        let mut info = info_for(&text, None);
        info.number = entry.file;
        Ok(Self::File { text, path, info, previous: number, leaves })
    }

    /// Makes the change. Returns its number.
    pub(super) fn make(self, exclusive: &mut Exclusive<'_>) -> Result<u64, FileError> {
        match self {
            Self::Delete(path) => exclusive.commit(|txn| {
                arrange::delete_in(txn, &path)?;
                Ok(txn.number()?)
            }),
            Self::DeleteFolder(path) => exclusive.commit(|txn| {
                check_folder(txn, &path)?;
                arrange::delete_in(txn, &path)?;
                Ok(txn.number()?)
            }),
            Self::Rename { from, to } => exclusive.commit(|txn| {
                check_folder(txn, &from)?;
                arrange::rename_in(txn, &from, &to)
            }),
            Self::Folder { deletion, path } => {
                record_use(exclusive, &deletion)?;
                exclusive.commit(|txn| move_back(txn, &deletion, &path))
            }
            Self::File { text, path, info, previous, leaves } => {
                // Refused before the steps of a long text are written.
                exclusive.commit(|txn| free_place(txn, &path, &info, leaves.as_ref()).map(drop))?;
                let staged = if text.len() > STAGE_BYTES {
                    Some(staged::stage(exclusive, &text, info)?)
                } else {
                    None
                };
                exclusive.commit(|txn| {
                    let object = match &staged {
                        Some((id, name)) => (*id, staged::finish(txn, *id, name)?.0.tag),
                        None => (new_text::write_records(txn, &text)?, Tag::default()),
                    };
                    put_back(txn, &path, object, info, previous, leaves.as_ref())
                })
            }
        }
    }
}

/// Checks that no change was made since a step of a folder was last looked at.
fn check_as_of<S: NodeSource>(past: &Past<'_, S>, step: &UndoStep) -> Result<(), FileError> {
    match step.as_of {
        Some(as_of) if past.newest()?.is_none_or(|newest| newest > as_of) => {
            Err(FileError::Changed(None))
        }
        _ => Ok(()),
    }
}

fn check_folder(txn: &Txn<'_>, path: &MemoryPath) -> Result<(), FileError> {
    match ResolvedPath::new(txn, &txn.root()?, path)?.target {
        Target::Entry(Entry { what: What::Folder, .. }) => Ok(()),
        _ => Err(FileError::NotFound),
    }
}

fn info_for(text: &str, created: Option<u64>) -> FileInfo {
    let modified = now();
    info_of(text, created.unwrap_or(modified), modified)
}

/// Resolves the path that a file returns to, and checks that it is free or has the same file. A file that leaves another path for it
/// takes no more room than it gives back.
fn free_place(
    txn: &Txn<'_>,
    path: &MemoryPath,
    info: &FileInfo,
    leaves: Option<&MemoryPath>,
) -> Result<FreePlace, FileError> {
    let resolved = ResolvedPath::new(txn, &txn.root()?, path)?;
    let before = resolved.replaced(path, |there| there.number == info.number)?;
    let leaving = match leaves {
        Some(path) => {
            let target = ResolvedPath::new(txn, &txn.root()?, path)?.target;
            target.file().map(|(_, there)| there)
        }
        None => before.as_ref().map(|(_, there)| *there),
    };
    check_quotas(txn, &resolved, leaving.as_ref(), info.bytes)?;
    Ok((resolved, before, leaving.map(|there| there.created)))
}

/// A resolved path, what is there, and when the file that comes to it was created, if it is anywhere now.
type FreePlace = (ResolvedPath, Option<(Entry, FileInfo)>, Option<u64>);

fn put_back(
    txn: &mut Txn<'_>,
    path: &MemoryPath,
    object: (ObjectId, Tag),
    mut info: FileInfo,
    previous: u64,
    leaves: Option<&MemoryPath>,
) -> Result<u64, FileError> {
    let number = txn.number()?;
    let (resolved, mut before, created) = free_place(txn, path, &info, leaves)?;
    info.created = created.unwrap_or(info.created);
    info.version = number;
    if info.number == 0 {
        info.number = number;
    }
    folder::put(txn, path, &resolved, object, What::File(info))?;
    if let Some(leaves) = leaves {
        // The folders on the way may have changed with the first step.
        let old = ResolvedPath::new(txn, &txn.root()?, leaves)?;
        if let Some((entry, there)) = old.target.file() {
            before = Some((entry.clone(), there));
        }
        folder::remove(txn, leaves, &old)?;
    }
    let old_path = leaves.map(MemoryPath::in_store).unwrap_or_default();
    txn.record(Change {
        operation: Operation::Restored,
        path: &path.in_store(),
        old_path: &old_path,
        file: Some(info),
        previous,
        before: before.map_or(Before::Nothing, |(entry, _)| nameless(&entry)),
        retired: Vec::new(),
    })?;
    Ok(number)
}

/// Moves a deleted folder back into the tree. Its entry then names the change that did so.
fn move_back(txn: &mut Txn<'_>, deletion: &Version, path: &MemoryPath) -> Result<u64, FileError> {
    let Before::Object(held) = &deletion.before else {
        return Err(FileError::VersionGone(deletion.number));
    };
    check_held(txn, deletion.number, held)?;
    let number = txn.number()?;
    let resolved = ResolvedPath::new(txn, &txn.root()?, path)?;
    resolved.replaced(path, |_| false)?;
    arrange::check_paths_below(txn, held, &path_of(deletion)?, path)?;
    // What was in it was forgotten: no folder is empty.
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
    visit_files(txn, (folder.id, folder.tag), &mut |_, info| {
        files.push(info.number);
        true
    })?;
    files.sort_unstable();
    Ok(files)
}
