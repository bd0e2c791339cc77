//! Redacts versions: that there was a change stays, what it was goes.

use inmost_format::record::history::{Before, Operation, Retired, Version};
use inmost_format::record::node::{Entry, FileInfo, Name, What};
use inmost_format::record::{Kind, Node, NodeSink, NodeSource, ObjectId, RecordId};

use super::inside;
use super::locate::{self, Located, Place, locate};
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
        // The path of a folder leads to the versions of the files in it.
        if version.number <= last && version.redacted == 0 && version.file != 0 {
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
            // Entries whose time is over hold their heads until they are trimmed.
            let whole = Past::open(&*txn, &root, 0)?;
            let older = match &whole {
                Some(whole) => older_head(whole, number, &located)?,
                None => None,
            };
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
        Place::Inside(_, below) => match inside::take(txn, holder, &below)? {
            Some(entry) => release_object(txn, entry, older),
            None => Ok(()),
        },
        Place::Object(entry) => {
            drop_held(txn, holder, Some(entry.id))?;
            release_object(txn, entry, older)
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
    number: u64,
    located: &Located,
) -> Result<Option<(u64, OldHead)>, FileError> {
    let object = match &located.place {
        Place::Current(_) => return Ok(None),
        Place::Head(old) => old.object,
        Place::Object(entry) => entry.id,
        Place::Inside(folder, below) => match locate::inside(past, folder, below)? {
            Some((entry, _)) => entry.id,
            None => return Ok(None),
        },
    };
    let mut found = None;
    past.visit_back(number.saturating_add(1), &mut |version| {
        if let Before::Head(older) = &version.before
            && older.object == object
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
        for record in &retired {
            txn.remove(record.id(old.object));
        }
        return Ok(());
    };
    // Indexes only grow: what the older head does not have was written after it.
    let (shared, own): (Vec<Retired>, Vec<Retired>) =
        retired.into_iter().partition(|record| record.index <= older.last_index);
    for record in &own {
        txn.remove(record.id(old.object));
    }
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

/// Removes a whole file of which an entry held the newest head. If an older entry holds an older head of it, that entry takes
/// over the file as it was then, and only what was written since goes.
fn release_object(
    txn: &mut Txn<'_>,
    entry: Entry,
    older: Option<(u64, OldHead)>,
) -> Result<(), FileError> {
    let (Some((holder, older)), What::File(info)) = (older, entry.what) else {
        return Ok(reap::remove(txn, entry)?);
    };
    let mut written = Vec::new();
    let mut head = txn.load(entry.head(), &entry.tag)?;
    written_since(txn, &mut head, entry.id, older.last_index, &mut written)?;
    txn.remove(entry.head());
    // What does not fit one batch stays in the store until it is rewritten.
    for id in written.iter().take(MOST_RETIRED) {
        txn.remove(*id);
    }
    let Some((object, mut history)) = txn.history()? else { return Ok(()) };
    history.edit(txn, object, holder, |version| {
        let (bytes, lines) = (older.bytes, older.lines);
        let what = What::File(FileInfo {
            bytes,
            lines,
            head: older.index,
            lowest: older.index,
            version: version.previous,
            ..info
        });
        let (name, id) = (Name::new(""), older.object);
        version.before = Before::Object(Box::new(Entry::new(name, id, older.tag, what)));
        // They are below the old head, and go with it.
        version.retired = Vec::new();
        version.held = bytes;
        true
    })?;
    Ok(txn.set_history(object, history)?)
}

/// Collects the records below a node that have a higher index than this one. What is below a record with a lower index has
/// lower ones, too.
fn written_since(
    txn: &Txn<'_>,
    node: &mut Node,
    object: ObjectId,
    last_index: u64,
    written: &mut Vec<RecordId>,
) -> Result<(), FileError> {
    let mut children = Vec::new();
    node.children_mut::<FileError>(object, |id, tag| {
        if id.index > last_index {
            children.push((id, *tag));
        }
        Ok(())
    })?;
    for (id, tag) in children {
        written.push(id);
        if id.kind == Kind::FileInner && written.len() < MOST_RETIRED {
            written_since(txn, &mut txn.load(id, &tag)?, object, last_index, written)?;
        }
    }
    Ok(())
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
