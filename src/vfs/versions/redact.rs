//! Redacts versions: that there was a change stays, what it was goes.

use std::collections::HashSet;

use inmost_format::record::ObjectId;
use inmost_format::record::history::{Before, Operation, Version};
use inmost_format::record::node::Name;

use super::files::{inside, visit_readable};
use super::locate::{Located, Place, locate};
use super::past::{Found, Past, is_damage};
use super::release::{self, Text};
use super::rests;
use super::set_aside;
use crate::session::history::OldHead;
use crate::session::{Exclusive, Session, Txn, now};
use crate::vfs::error::FileError;

/// Redacts the versions of a range, both ends included. Returns their number.
///
/// # Errors
/// Those of [`History::redact`](crate::History::redact).
pub(crate) fn redact(session: &Session, first: u64, last: u64) -> Result<u64, FileError> {
    let mut all = 0;
    session.undisturbed(|exclusive| {
        let wanted = match exclusive.commit(|txn| Wanted::search(txn, first, last)) {
            // A crash, or another host that came in between, ended a redaction of these versions before it was whole.
            Err(FileError::NoSuchVersion(_)) if rests::remove(exclusive)? || all > 0 => {
                return Ok(all);
            }
            wanted => wanted?,
        };
        all = all.max(u64::try_from(wanted.numbers.len()).unwrap_or(u64::MAX));
        for number in &wanted.numbers {
            exclusive.commit(|txn| redact_one(txn, *number))?;
            exclusive.reap()?;
        }
        rests::remove(exclusive)?;
        wanted.damage.map_or(Ok(all), Err)
    })
}

/// Removes from a deleted folder the texts of redacted versions that damage hid when they were redacted. Returns the changed entry of
/// the deletion.
///
/// # Errors
/// If the folder's head can be read but a part of its list cannot: some texts may remain.
pub(super) fn finish_in(
    exclusive: &mut Exclusive<'_>,
    deletion: Version,
) -> Result<Version, FileError> {
    let Before::Object(held) = &deletion.before else { return Ok(deletion) };
    let numbers = exclusive.commit(|txn| {
        let (root, mut redacted) = (txn.root()?, HashSet::new());
        let Some(past) = Past::open(&*txn, &root, 0)? else { return Ok(Vec::new()) };
        past.visit(0, &mut |place| {
            if let Found::Entry(version) = place
                && version.redacted > 0
            {
                redacted.insert(version.number);
            }
            Ok(true)
        })?;
        let mut found = Vec::new();
        if redacted.is_empty() {
            return Ok(found);
        }
        visit_readable(&*txn, (held.id, held.tag), &mut |info| {
            found.extend(redacted.take(&info.version));
        })?;
        Ok::<_, FileError>(found)
    })?;
    if numbers.is_empty() {
        return Ok(deletion);
    }
    for number in &numbers {
        exclusive.commit(|txn| redact_one(txn, *number))?;
        exclusive.reap()?;
    }
    rests::remove(exclusive)?;
    let now = exclusive.commit(|txn| {
        let (root, from) = (txn.root()?, txn.versions_from()?);
        let past = Past::open(&*txn, &root, from)?;
        past.map_or(Ok(None), |past| past.entry(deletion.number))
    })?;
    now.ok_or(FileError::NoSuchVersion(deletion.number))
}

/// What is to be redacted.
struct Wanted {
    numbers: Vec<u64>,
    /// A part of the history cannot be read, so that something may be left.
    damage: Option<FileError>,
}

impl Wanted {
    /// The versions of a range. None of them may be current.
    fn search(txn: &Txn<'_>, first: u64, last: u64) -> Result<Self, FileError> {
        let (root, from) = (txn.root()?, txn.versions_from()?);
        let past = Past::open(txn, &root, from)?.ok_or(FileError::NoSuchVersion(first))?;
        // Entries whose time is over hold their texts until they are trimmed.
        let whole = Past::open(txn, &root, 0)?.ok_or(FileError::NoSuchVersion(first))?;
        let mut found = Vec::new();
        let mut wanted = Self { numbers: Vec::new(), damage: None };
        past.visit(first, &mut |place| {
            match place {
                Found::Entry(version) => {
                    // The path of a folder leads to the versions of the files in it.
                    if version.number <= last && version.file != 0 {
                        found.push(version.clone());
                    }
                    Ok(version.number < last)
                }
                Found::Lost(range) => {
                    wanted.damage = Some(past.damage(&range));
                    Ok(true)
                }
                Found::Missing => Ok(true),
            }
        })?;
        for version in found {
            let number = version.number;
            let has_text = match locate(&whole, number) {
                Ok(Located { place: Place::Current(_), .. }) if version.redacted == 0 => {
                    return Err(FileError::CurrentVersion(number));
                }
                Ok(Located { place: Place::Current(_), .. })
                | Err(FileError::VersionGone(_) | FileError::IsAFolder(_)) => false,
                Ok(located) => is_alone((&past, &whole), &version, &located)?,
                Err(error) if is_damage(&error) => {
                    wanted.damage = Some(error);
                    false
                }
                Err(error) => return Err(error),
            };
            // A redaction is made whole that could not find the text, because of damage.
            if version.redacted == 0 || has_text {
                wanted.numbers.push(number);
            }
        }
        if wanted.numbers.is_empty() {
            return Err(wanted.damage.unwrap_or(FileError::NoSuchVersion(first)));
        }
        Ok(wanted)
    }
}

/// Redacts the entry of a version, and its text. A text that goes in several steps is set aside, for [`rests::remove`].
fn redact_one(txn: &mut Txn<'_>, number: u64) -> Result<(), FileError> {
    let (root, from) = (txn.root()?, txn.versions_from()?);
    let Some(past) = Past::open(&*txn, &root, from)? else { return Ok(()) };
    let Some(whole) = Past::open(&*txn, &root, 0)? else { return Ok(()) };
    let Some(entry) = whole.entry(number)? else { return Ok(()) };
    let text = match locate(&whole, number) {
        Ok(located) if is_alone((&past, &whole), &entry, &located)? => {
            let object = object_of(&whole, &located.place)?;
            let older = match object {
                Some(object) => older_head(&whole, number, object)?,
                None => None,
            };
            let newest = whole.newest_of(entry.file, number)?.map(|(newest, _)| newest);
            match (located.holder, object) {
                (Some(holder), Some(object)) => {
                    Some(Text { place: located.place, holder, object, older, newest })
                }
                _ => None,
            }
        }
        Ok(_) | Err(FileError::VersionGone(_) | FileError::IsAFolder(_)) => None,
        Err(error) if is_damage(&error) => None,
        Err(error) => return Err(error),
    };
    let is_small = match &text {
        Some(text) => release::is_small(txn, text)?,
        None => true,
    };
    drop((past, whole));
    let Some((object, mut history)) = txn.history()? else { return Ok(()) };
    history.edit(txn, object, number, |entry| {
        entry.path = Name::new("");
        entry.old_path = Name::new("");
        (entry.bytes, entry.lines) = (0, 0);
        entry.redacted = if entry.redacted > 0 { entry.redacted } else { now().max(1) };
        true
    })?;
    txn.set_history(object, history)?;
    match text {
        Some(text) if is_small => release::remove_at_once(txn, &text),
        Some(text) => set_aside::take(txn, &text),
        None => Ok(()),
    }
}

/// Whether no other version that is not redacted has the same text: none that counts, in the history with those that do not.
fn is_alone(
    (past, whole): (&Past<'_, Txn<'_>>, &Past<'_, Txn<'_>>),
    entry: &Version,
    located: &Located,
) -> Result<bool, FileError> {
    for number in &located.same_text {
        if shown(past, *number)?.is_some() {
            return Ok(false);
        }
    }
    // A rename has the text of the version before it.
    let mut earlier = entry.clone();
    while earlier.operation == Operation::Renamed && earlier.previous > 0 {
        if shown(past, earlier.previous)?.is_some() {
            return Ok(false);
        }
        let Some(previous) = readable(whole, earlier.previous)? else { break };
        earlier = previous;
    }
    Ok(true)
}

/// The entry of a version whose text may be shown.
fn shown(past: &Past<'_, Txn<'_>>, number: u64) -> Result<Option<Version>, FileError> {
    Ok(readable(past, number)?.filter(|entry| entry.redacted == 0))
}

/// The entry of this number, if it can be read.
fn readable(past: &Past<'_, Txn<'_>>, number: u64) -> Result<Option<Version>, FileError> {
    match past.entry(number) {
        Err(error) if is_damage(&error) => Ok(None),
        entry => entry,
    }
}

/// The object of the file that is at a place.
fn object_of(past: &Past<'_, Txn<'_>>, place: &Place) -> Result<Option<ObjectId>, FileError> {
    Ok(match place {
        Place::Current(_) => None,
        Place::Head(old) => Some(old.object),
        Place::Object(entry) => Some(entry.id),
        Place::Inside(folder, below) => inside(past, folder, below)?.map(|(entry, _)| entry.id),
    })
}

/// The entry that holds the next older head of an object, and that head.
fn older_head(
    past: &Past<'_, Txn<'_>>,
    number: u64,
    object: ObjectId,
) -> Result<Option<(u64, OldHead)>, FileError> {
    let mut found = None;
    past.visit_back(number.saturating_add(1), &mut |place| {
        if let Found::Entry(version) = place
            && let Before::Head(older) = &version.before
            && older.object == object
        {
            found = Some((version.number, *older));
        }
        Ok(found.is_none())
    })?;
    Ok(found)
}
