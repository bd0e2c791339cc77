//! Removes the text of a redacted version, as far as no other version has it, in one step. A long one is set aside first, and
//! removed in several; see `set_aside`.
//!
//! What an older version needs stays with that one, or with the entry that it went out of use with.

use inmost_format::record::history::{Before, OldHead, Operation, Retired, Version};
use inmost_format::record::node::{Entry, FileInfo, Name, What};
use inmost_format::record::{Kind, Node, NodeSink, NodeSource, ObjectId, RecordId};

use super::files::in_tree;
use super::inside;
use super::locate::{Located, Place, locate};
use super::past::{Found, Past, is_damage};
use crate::session::{Txn, reap};
use crate::vfs::error::FileError;
use crate::vfs::folder::{self, ResolvedPath, Target};
use crate::vfs::path::MemoryPath;

/// A text that is to be removed.
pub(super) struct Text {
    pub(super) place: Place,
    /// The entry that holds it.
    pub(super) holder: u64,
    /// The object of the file as it was then.
    pub(super) object: ObjectId,
    /// The entry that holds the next older head of the same object, and that head.
    pub(super) older: Option<(u64, OldHead)>,
    /// The newest entry of the file.
    pub(super) newest: Option<Version>,
}

/// Whether a text can be removed in one step.
pub(super) fn is_small(txn: &Txn<'_>, text: &Text) -> Result<bool, FileError> {
    Ok(rests(txn, text)?.len() <= MOST_RESTS
        && written(txn, text)?.is_none_or(|it| it.1 <= MOST_WRITTEN))
}

/// Removes a text in one step. It must be small, or nothing must be left of it.
pub(super) fn remove_at_once(txn: &mut Txn<'_>, text: &Text) -> Result<(), FileError> {
    match &text.place {
        Place::Current(_) => Ok(()),
        Place::Inside(_, below) => match inside::forget(txn, text.holder, below)? {
            Some(entry) => hand_over(txn, text, entry),
            None => Ok(()),
        },
        Place::Object(_) => match held(txn, text)? {
            Some((entry, _)) => {
                drop_held(txn, text.holder)?;
                note(txn, text.holder, entry.id)?;
                hand_over(txn, text, entry)
            }
            None => Ok(()),
        },
        Place::Head(old) => {
            release_head(txn, text, old)?;
            match &text.newest {
                // A repair may show the text before the current one.
                Some(newest) if newest.number == text.holder => hide_older(txn, newest),
                _ => Ok(()),
            }
        }
    }
}

/// Removes a whole file. Its next older head takes it over, and with it the records that entries keep for that head.
fn hand_over(txn: &mut Txn<'_>, text: &Text, entry: Entry) -> Result<(), FileError> {
    let rests = rests(txn, text)?;
    if rests.len() > MOST_RESTS {
        // It reaches nothing any more that the older head does: all of that is with these entries.
        return Ok(reap::remove(txn, entry)?);
    }
    for number in rests {
        let Some((object, mut history)) = txn.history()? else { break };
        history.edit(txn, object, number, end_rest)?;
        txn.set_history(object, history)?;
    }
    release_object(txn, entry, text.older.as_ref())
}

/// Leaves an entry without the records that it kept for an older head. Returns whether the entry stays: a note that was made for
/// them goes.
pub(super) fn end_rest(entry: &mut Version) -> bool {
    entry.retired = Vec::new();
    entry.before = Before::Nothing;
    entry.operation != Operation::Forgotten
}

/// The entries that keep records which the older head of a whole file needs.
fn rests(txn: &Txn<'_>, text: &Text) -> Result<Vec<u64>, FileError> {
    let Some((older, _)) = &text.older else { return Ok(Vec::new()) };
    if matches!(text.place, Place::Head(_)) {
        return Ok(Vec::new());
    }
    let root = txn.root()?;
    let Some(past) = Past::open(txn, &root, 0)? else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    past.visit(older.saturating_add(1), &mut |place| {
        let Found::Entry(version) = place else { return Ok(true) };
        if matches!(version.before, Before::Rest(object) if object == text.object) {
            found.push(version.number);
        }
        Ok(true)
    })?;
    Ok(found)
}

/// Divides records into those that an older head has, and the others. Indexes only grow: what the older head does not have
/// was written after it.
fn divide(retired: Vec<Retired>, older: Option<&(u64, OldHead)>) -> (Vec<Retired>, Vec<Retired>) {
    let last = older.map_or(0, |(_, older)| older.last_index);
    retired.into_iter().partition(|record| record.index <= last)
}

/// Removes an old head, and the records below it that no older head refers to. The others stay with the entry.
fn release_head(txn: &mut Txn<'_>, text: &Text, old: &OldHead) -> Result<(), FileError> {
    let Some((object, mut history)) = txn.history()? else { return Ok(()) };
    let mut own = Vec::new();
    history.edit(txn, object, text.holder, |entry| {
        let retired = std::mem::take(&mut entry.retired);
        (entry.retired, own) = divide(retired, text.older.as_ref());
        entry.before =
            if entry.retired.is_empty() { Before::Nothing } else { Before::Rest(old.object) };
        entry.held = 0;
        true
    })?;
    txn.set_history(object, history)?;
    txn.remove(old.id());
    for record in own {
        txn.remove(record.id(old.object));
    }
    Ok(())
}

/// Drops what an entry holds. The records are left to the caller.
pub(super) fn drop_held(txn: &mut Txn<'_>, holder: u64) -> Result<(), FileError> {
    edit(txn, holder, |entry| {
        entry.before = Before::Nothing;
        entry.held = 0;
    })
}

/// Notes with the entry that held an object that no repair brings it back.
fn note(txn: &mut Txn<'_>, holder: u64, forgotten: ObjectId) -> Result<(), FileError> {
    edit(txn, holder, |entry| {
        if !entry.forgotten.contains(&forgotten) {
            entry.forgotten.push(forgotten);
        }
    })
}

/// Changes an entry.
pub(super) fn edit(
    txn: &mut Txn<'_>,
    number: u64,
    change: impl FnOnce(&mut Version),
) -> Result<(), FileError> {
    let Some((object, mut history)) = txn.history()? else { return Ok(()) };
    history.edit(txn, object, number, |entry| {
        change(entry);
        true
    })?;
    Ok(txn.set_history(object, history)?)
}

/// Removes a whole file of which an entry held the newest head. If an older entry holds an older head of it, that entry takes
/// over the file as it was then, and only what was written since goes.
fn release_object(
    txn: &mut Txn<'_>,
    entry: Entry,
    older: Option<&(u64, OldHead)>,
) -> Result<(), FileError> {
    let (Some((holder, older)), What::File(info)) = (older, entry.what) else {
        return Ok(reap::remove(txn, entry)?);
    };
    let mut written = Vec::new();
    let mut head = txn.load(entry.head(), &entry.tag)?;
    written_since(txn, &mut head, entry.id, older.last_index, &mut written)?;
    txn.remove(entry.head());
    for id in written {
        txn.remove(id);
    }
    let Some((object, mut history)) = txn.history()? else { return Ok(()) };
    history.edit(txn, object, *holder, |version| {
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

/// The file that holds the text, as it is now.
pub(super) fn held(txn: &Txn<'_>, text: &Text) -> Result<Option<(Entry, FileInfo)>, FileError> {
    let root = txn.root()?;
    let Some(past) = Past::open(txn, &root, 0)? else { return Ok(None) };
    let Some(holding) = past.entry(text.holder)? else { return Ok(None) };
    let Before::Object(held) = &holding.before else { return Ok(None) };
    match &text.place {
        Place::Inside(_, below) => super::files::inside(&past, held, below),
        Place::Object(_) => match held.what {
            What::File(info) => Ok(Some((Entry::clone(held), info))),
            What::Folder => Ok(None),
        },
        Place::Current(_) | Place::Head(_) => Ok(None),
    }
}

/// The file that holds the text, and the number of its records that the older head does not have, or a higher one than
/// [`MOST_WRITTEN`]. `None` if nothing else has any of its records.
fn written(txn: &Txn<'_>, text: &Text) -> Result<Option<(Entry, usize)>, FileError> {
    let Some((_, older)) = &text.older else { return Ok(None) };
    let Some((entry, _)) = held(txn, text)? else { return Ok(None) };
    let mut written = Vec::new();
    let mut head = txn.load(entry.head(), &entry.tag)?;
    written_since(txn, &mut head, entry.id, older.last_index, &mut written)?;
    Ok(Some((entry, written.len())))
}

/// Collects the records below a node that have a higher index than this one, until there are more than [`MOST_WRITTEN`].
/// What is below a record with a lower index has lower ones, too.
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
        if id.kind == Kind::FileInner && written.len() <= MOST_WRITTEN {
            written_since(txn, &mut txn.load(id, &tag)?, object, last_index, written)?;
        }
    }
    Ok(())
}

/// Notes in the tree that no head of a file before the current one may be shown.
fn hide_older(txn: &mut Txn<'_>, newest: &Version) -> Result<(), FileError> {
    let root = txn.root()?;
    let path = {
        let Some(past) = Past::open(&*txn, &root, 0)? else { return Ok(()) };
        match locate(&past, newest.number) {
            Ok(Located { place: Place::Current(path), .. }) => MemoryPath::parse(&path)?,
            Ok(_) => return Ok(()),
            Err(error) => {
                let is_gone =
                    matches!(error, FileError::VersionGone(_) | FileError::NoSuchVersion(_));
                if !is_gone && !is_damage(&error) {
                    return Err(error);
                }
                let found = past.newest_of(newest.file, newest.number)?;
                if !found.is_some_and(|(_, is_uncertain)| is_uncertain) && is_gone {
                    return Ok(());
                }
                // Later changes of the file are lost. Its current text stays, and what came before it is hidden.
                match in_tree(&past, newest.file)? {
                    Some((path, _)) => MemoryPath::parse(&path)?,
                    None => return Ok(()),
                }
            }
        }
    };
    let resolved = ResolvedPath::new(txn, &root, &path)?;
    let Target::Entry(entry) = &resolved.target else { return Ok(()) };
    let (object, What::File(info)) = ((entry.id, entry.tag), entry.what) else { return Ok(()) };
    let what = What::File(FileInfo { lowest: info.head, ..info });
    Ok(folder::put(txn, &path, &resolved, object, what)?)
}

/// Records of a file that one step removes.
const MOST_WRITTEN: usize = 60;
/// Entries beside the one that holds a file which one step changes.
const MOST_RESTS: usize = 16;
