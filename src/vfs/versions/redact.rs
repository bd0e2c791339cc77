//! Redacts versions: that there was a change stays, what it was goes.

use inmost_format::record::history::{Before, Operation, Retired, Version};
use inmost_format::record::node::{FileInfo, Name, What};
use inmost_format::record::{NodeSink, ObjectId};

use super::inside;
use super::locate::{Located, Place, locate};
use super::past::Past;
use crate::session::history::OldHead;
use crate::session::{Session, Txn, now, reap};
use crate::vfs::error::FileError;
use crate::vfs::folder::{self, ResolvedPath, Target};
use crate::vfs::path::MemoryPath;

/// Redacts the versions of a range, both ends included. Returns their number.
///
/// # Errors
/// Those of [`History::redact`](crate::History::redact).
pub(crate) fn redact(session: &Session, first: u64, last: u64) -> Result<u64, FileError> {
    session.exclusive(|exclusive| {
        let numbers = exclusive.commit(|txn| in_range(txn, first, last))?;
        for number in &numbers {
            exclusive.commit(|txn| redact_one(txn, *number))?;
            exclusive.reap()?;
        }
        Ok(u64::try_from(numbers.len()).unwrap_or(u64::MAX))
    })
}

/// The versions of a range. None of them may be current.
fn in_range(txn: &Txn<'_>, first: u64, last: u64) -> Result<Vec<u64>, FileError> {
    let (root, from) = (txn.root()?, txn.versions_from()?);
    let past = Past::open(txn, &root, from)?.ok_or(FileError::NoSuchVersion(first))?;
    let mut numbers = Vec::new();
    past.visit(first, &mut |version| {
        if version.number <= last && version.redacted == 0 {
            numbers.push(version.number);
        }
        Ok(version.number < last)
    })?;
    if numbers.is_empty() {
        return Err(FileError::NoSuchVersion(first));
    }
    for number in &numbers {
        match locate(&past, *number) {
            Ok(Located { place: Place::Current(_), .. }) => {
                return Err(FileError::CurrentVersion(*number));
            }
            Ok(_) | Err(FileError::VersionGone(_) | FileError::IsAFolder(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(numbers)
}

fn redact_one(txn: &mut Txn<'_>, number: u64) -> Result<(), FileError> {
    let (root, from) = (txn.root()?, txn.versions_from()?);
    let Some(past) = Past::open(&*txn, &root, from)? else { return Ok(()) };
    let Some(entry) = past.entry(number)? else { return Ok(()) };
    let text = match locate(&past, number) {
        Ok(located) if is_alone(&past, &entry, &located)? => {
            let older = older_head(&past, &located)?;
            let newest = past.newest_of(entry.file, number)?;
            Some((located, older, newest))
        }
        Ok(_) | Err(FileError::VersionGone(_) | FileError::IsAFolder(_)) => None,
        Err(error) => return Err(error),
    };
    drop(past);
    let Some((object, mut history)) = txn.history()? else { return Ok(()) };
    history.edit(txn, object, number, |entry| {
        entry.path = Name::new("");
        entry.old_path = Name::new("");
        (entry.bytes, entry.lines) = (0, 0);
        entry.redacted = now().max(1);
        true
    })?;
    txn.set_history(object, history)?;
    let Some((located, older, newest)) = text else { return Ok(()) };
    let Some(holder) = located.holder else { return Ok(()) };
    match located.place {
        Place::Current(_) => Ok(()),
        Place::Inside(_, below) => inside::remove(txn, holder, &below).map(drop),
        Place::Object(entry) => {
            drop_held(txn, holder, Some(entry.id))?;
            Ok(reap::remove(txn, entry)?)
        }
        Place::Head(old) => {
            let retired = drop_held(txn, holder, None)?;
            release_head(txn, old, retired, older)?;
            match newest {
                // A repair may show the text before the current one.
                Some(newest) if newest.number == holder => hide_older(txn, &newest),
                _ => Ok(()),
            }
        }
    }
}

/// Whether no other version that is not redacted has the same text.
fn is_alone(
    past: &Past<'_, Txn<'_>>,
    entry: &Version,
    located: &Located,
) -> Result<bool, FileError> {
    let is_redacted = |number: u64| {
        Ok::<_, FileError>(past.entry(number)?.is_none_or(|entry| entry.redacted > 0))
    };
    for number in &located.same_text {
        if !is_redacted(*number)? {
            return Ok(false);
        }
    }
    // A rename has the text of the version before it.
    let mut earlier = entry.clone();
    while earlier.operation == Operation::Renamed && earlier.previous > 0 {
        if !is_redacted(earlier.previous)? {
            return Ok(false);
        }
        let Some(previous) = past.entry(earlier.previous)? else { break };
        earlier = previous;
    }
    Ok(true)
}

/// The entry that holds the next older head of the same file, and that head.
fn older_head(
    past: &Past<'_, Txn<'_>>,
    located: &Located,
) -> Result<Option<(u64, OldHead)>, FileError> {
    let (Place::Head(old), Some(holder)) = (&located.place, located.holder) else {
        return Ok(None);
    };
    let mut found = None;
    past.visit_back(holder, &mut |version| {
        if let Before::Head(older) = &version.before
            && older.object == old.object
        {
            found = Some((version.number, *older));
        }
        Ok(found.is_none())
    })?;
    Ok(found)
}

/// Drops the text that an entry holds. Returns the records that went out of use with it.
fn drop_held(
    txn: &mut Txn<'_>,
    holder: u64,
    forgotten: Option<ObjectId>,
) -> Result<Vec<Retired>, FileError> {
    let Some((object, mut history)) = txn.history()? else { return Ok(Vec::new()) };
    let mut retired = Vec::new();
    history.edit(txn, object, holder, |entry| {
        entry.before = Before::Nothing;
        entry.held = 0;
        entry.forgotten.extend(forgotten);
        retired = std::mem::take(&mut entry.retired);
        true
    })?;
    txn.set_history(object, history)?;
    Ok(retired)
}

/// Removes an old head, and the records below it that no older head refers to. The others go with that one.
fn release_head(
    txn: &mut Txn<'_>,
    old: OldHead,
    retired: Vec<Retired>,
    older: Option<(u64, OldHead)>,
) -> Result<(), FileError> {
    txn.remove(old.id());
    let Some((holder, older)) = older else {
        retired.iter().for_each(|record| txn.remove(record.id(old.object)));
        return Ok(());
    };
    // Indexes only grow: what the older head does not have was written after it.
    let (shared, own): (Vec<Retired>, Vec<Retired>) =
        retired.into_iter().partition(|record| record.index <= older.last_index);
    own.iter().for_each(|record| txn.remove(record.id(old.object)));
    if shared.is_empty() {
        return Ok(());
    }
    let Some((object, mut history)) = txn.history()? else { return Ok(()) };
    history.edit(txn, object, holder, |entry| {
        // What does not fit stays in the store until it is rewritten.
        let room = MOST_RETIRED.saturating_sub(entry.retired.len());
        entry.retired.extend(shared.iter().take(room));
        true
    })?;
    Ok(txn.set_history(object, history)?)
}

/// Notes in the tree that no head of a file before the current one may be shown.
fn hide_older(txn: &mut Txn<'_>, newest: &Version) -> Result<(), FileError> {
    let (root, from) = (txn.root()?, txn.versions_from()?);
    let path = {
        let Some(past) = Past::open(&*txn, &root, from)? else { return Ok(()) };
        match locate(&past, newest.number) {
            Ok(Located { place: Place::Current(path), .. }) => MemoryPath::parse(&path)?,
            Ok(_) | Err(FileError::VersionGone(_) | FileError::NoSuchVersion(_)) => return Ok(()),
            Err(error) => return Err(error),
        }
    };
    let resolved = ResolvedPath::new(txn, &root, &path)?;
    let Target::Entry(entry) = &resolved.target else { return Ok(()) };
    let (object, What::File(info)) = ((entry.id, entry.tag), entry.what) else { return Ok(()) };
    let what = What::File(FileInfo { lowest: info.head, ..info });
    Ok(folder::put(txn, &path, &resolved, object, what)?)
}

/// Retired records of one entry, so that it can be dropped in one batch.
const MOST_RETIRED: usize = 60;
