//! Redacts versions: that there was a change stays, what it was goes.

use inmost_format::record::ObjectId;
use inmost_format::record::history::{Before, Operation, Version};
use inmost_format::record::node::Name;

use super::locate::{self, Located, Place, locate};
use super::past::Past;
use super::release::{self, Text};
use crate::session::history::OldHead;
use crate::session::{Session, Txn, now};
use crate::vfs::error::FileError;

/// Redacts the versions of a range, both ends included. Returns their number.
///
/// # Errors
/// Those of [`History::redact`](crate::History::redact).
pub(crate) fn redact(session: &Session, first: u64, last: u64) -> Result<u64, FileError> {
    let mut all = 0;
    session.undisturbed(|exclusive| {
        let numbers = match exclusive.commit(|txn| in_range(txn, first, last)) {
            // The work began again, because another host came in between, and everything is redacted already.
            Err(FileError::NoSuchVersion(_)) if all > 0 => return Ok(all),
            numbers => numbers?,
        };
        all = all.max(u64::try_from(numbers.len()).unwrap_or(u64::MAX));
        for number in &numbers {
            if let Some(text) = exclusive.commit(|txn| redact_one(txn, *number))? {
                release::remove(exclusive, &text)?;
            }
            exclusive.reap()?;
        }
        Ok(all)
    })
}

/// The versions of a range. None of them may be current.
fn in_range(txn: &Txn<'_>, first: u64, last: u64) -> Result<Vec<u64>, FileError> {
    let (root, from) = (txn.root()?, txn.versions_from()?);
    let past = Past::open(txn, &root, from)?.ok_or(FileError::NoSuchVersion(first))?;
    let mut found = Vec::new();
    past.visit(first, &mut |version| {
        // The path of a folder leads to the versions of the files in it.
        if version.number <= last && version.file != 0 {
            found.push(version.clone());
        }
        Ok(version.number < last)
    })?;
    let mut numbers = Vec::new();
    for version in found {
        let number = version.number;
        let has_text = match locate(&past, number) {
            Ok(Located { place: Place::Current(_), .. }) if version.redacted == 0 => {
                return Err(FileError::CurrentVersion(number));
            }
            Ok(Located { place: Place::Current(_), .. })
            | Err(FileError::VersionGone(_) | FileError::IsAFolder(_)) => false,
            Ok(located) => is_alone(&past, &version, &located)?,
            Err(error) => return Err(error),
        };
        // A redaction that a crash ended is made whole.
        if version.redacted == 0 || has_text {
            numbers.push(number);
        }
    }
    if numbers.is_empty() {
        return Err(FileError::NoSuchVersion(first));
    }
    Ok(numbers)
}

/// Redacts the entry of a version, and its text. Returns the text if removing it needs several steps.
fn redact_one(txn: &mut Txn<'_>, number: u64) -> Result<Option<Text>, FileError> {
    let (root, from) = (txn.root()?, txn.versions_from()?);
    let Some(past) = Past::open(&*txn, &root, from)? else { return Ok(None) };
    let Some(entry) = past.entry(number)? else { return Ok(None) };
    let text = match locate(&past, number) {
        Ok(located) if is_alone(&past, &entry, &located)? => {
            // Entries whose time is over hold their heads until they are trimmed.
            let whole = Past::open(&*txn, &root, 0)?;
            let object = object_of(&past, &located.place)?;
            let older = match (&whole, object) {
                (Some(whole), Some(object)) => older_head(whole, number, object)?,
                _ => None,
            };
            let newest = past.newest_of(entry.file, number)?;
            match (located.holder, object) {
                (Some(holder), Some(object)) => {
                    Some(Text { place: located.place, holder, object, older, newest })
                }
                _ => None,
            }
        }
        Ok(_) | Err(FileError::VersionGone(_) | FileError::IsAFolder(_)) => None,
        Err(error) => return Err(error),
    };
    let is_small = match &text {
        Some(text) => release::is_small(txn, text)?,
        None => true,
    };
    drop(past);
    let Some((object, mut history)) = txn.history()? else { return Ok(None) };
    history.edit(txn, object, number, |entry| {
        entry.path = Name::new("");
        entry.old_path = Name::new("");
        (entry.bytes, entry.lines) = (0, 0);
        entry.redacted = if entry.redacted > 0 { entry.redacted } else { now().max(1) };
        true
    })?;
    txn.set_history(object, history)?;
    match text {
        Some(text) if is_small => release::remove_at_once(txn, &text).map(|()| None),
        text => Ok(text),
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

/// The object of the file that is at a place.
fn object_of(past: &Past<'_, Txn<'_>>, place: &Place) -> Result<Option<ObjectId>, FileError> {
    Ok(match place {
        Place::Current(_) => None,
        Place::Head(old) => Some(old.object),
        Place::Object(entry) => Some(entry.id),
        Place::Inside(folder, below) => {
            locate::inside(past, folder, below)?.map(|(entry, _)| entry.id)
        }
    })
}

/// The entry that holds the next older head of an object, and that head.
fn older_head(
    past: &Past<'_, Txn<'_>>,
    number: u64,
    object: ObjectId,
) -> Result<Option<(u64, OldHead)>, FileError> {
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
