//! Reaping: removes deleted objects, a bounded number of records with every commit.
//!
//! A delete moves one entry into the system folder, so it is one small step whatever the size of the object. Later
//! commits remove some twenty of its records each. The leftovers of an interrupted long write are reaped in the same
//! way.

use crate::session::clock::now;
use crate::session::open::Open;
use crate::session::shared;
use crate::session::transaction::Txn;
use crate::session::transaction::caller::Caller;
use crate::session::transaction::overlay::Overlay;
use inmost_format::limits::FILE_INLINE_AGAIN;
use inmost_format::record::node::{Entries, Entry, File, Folder, Name, Text, What, Writer};
use inmost_format::record::tree::{Body, Owner};
use inmost_format::record::{NodeSink, ObjectId, RecordError, RecordId, load_file, load_folder};
use inmost_storage::limits::BATCH_RECORDS;
use inmost_storage::{Address, StorageError};

/// Records of a batch that calls may use while objects wait to be reaped, the root included. The rest is reserved for
/// reaping.
pub(crate) const CALLS_RECORDS: usize = BATCH_RECORDS - RESERVED;
/// Records of a batch that are reserved for reaping.
pub(crate) const RESERVED: usize = UPKEEP + 4;
/// Records that reaping rewrites besides those it removes: the few nodes that shrink.
const UPKEEP: usize = 8;

/// Whether anything waits to be reaped. Nothing can be reaped from a damaged system folder.
pub(crate) fn is_due(open: &Open) -> Result<bool, RecordError> {
    let system = open.root().system;
    match load_folder(open, system.id, &system.tag) {
        Ok(folder) => Ok(folder.body.count() > 0),
        Err(error) if error.is_unreadable() => Ok(false),
        Err(error) => Err(error),
    }
}

/// Adds a step of reaping to a group that is about to be committed.
pub(crate) fn reap_into(
    open: &Open,
    group: &mut Overlay,
    staged: Option<ObjectId>,
) -> Result<(), RecordError> {
    let taken = group.records_with(&Overlay::default()).saturating_add(UPKEEP);
    let budget = BATCH_RECORDS.saturating_sub(taken);
    let changes = match piece(open, group, staged, budget) {
        Ok(changes) => changes,
        // A damaged system folder must not block a valid commit.
        Err(error) if error.is_unreadable() => return Ok(()),
        Err(error) => return Err(error),
    };
    // A large call postpones reaping, so that its batch does not grow further.
    if group.records_with(&changes) <= BATCH_RECORDS {
        group.merge(changes)?;
    }
    Ok(())
}

/// One step of reaping on the state after a group: it removes at most about this many records.
pub(super) fn piece(
    open: &Open,
    group: &Overlay,
    staged: Option<ObjectId>,
    budget: usize,
) -> Result<Overlay, RecordError> {
    let caller = Caller::default();
    let mut txn = Txn::new(open, group, &caller);
    let Some(damaged) = reap(&mut txn, staged, None, budget)? else {
        return removable(open, txn.into_overlay());
    };
    // The changes made to the damaged object before its damage was found would be committed without a parent. So
    // reaping runs again, and skips that object.
    let mut txn = Txn::new(open, group, &caller);
    match reap(&mut txn, staged, Some(damaged), budget)? {
        None => removable(open, txn.into_overlay()),
        Some(_) => Ok(Overlay::default()),
    }
}

/// Leaves out the removals of records that the engine cannot read. It could not remove them either, and would stop when it tries,
/// which is after they are in the journal: then no unlock would succeed until a repair, for records that nobody needs. They stay
/// until a rewrite.
pub(super) fn removable(open: &Open, mut changes: Overlay) -> Result<Overlay, RecordError> {
    if open.is_remote() {
        // A server reads and removes rows alike, and each question would be a round trip.
        return Ok(changes);
    }
    let removed = changes.nodes.iter().filter(|(_, node)| node.is_none());
    let removed: Vec<RecordId> = removed.map(|(id, _)| *id).collect();
    let can_read = |ids: &[RecordId]| {
        let addresses: Vec<Address> = ids.iter().map(|id| open.sealer().address(*id)).collect();
        match open.engine().get_many(&addresses).map_err(RecordError::from) {
            Err(error) if error.is_unreadable() => Ok(false),
            read => read.map(|_| true),
        }
    };
    if !can_read(&removed)? {
        for id in removed {
            if !can_read(&[id])? {
                changes.nodes.remove(&id);
            }
        }
    }
    Ok(changes)
}

/// Removes an object that has left the tree: at once if it is one record, otherwise by reaping.
pub(crate) fn remove(txn: &mut Txn<'_>, entry: Entry) -> Result<(), RecordError> {
    match entry.what {
        What::File(info) if info.bytes < FILE_INLINE_AGAIN => txn.remove(entry.head()),
        _ => drop(discard(txn, entry)?),
    }
    Ok(())
}

/// Moves an object into the system folder, under a name after all others there. Returns that name.
pub(crate) fn discard(txn: &mut Txn<'_>, entry: Entry) -> Result<Name, RecordError> {
    let system = txn.root()?.system;
    let mut folder = Folder::clone(&*load_folder(txn, system.id, &system.tag)?);
    let name = adopt(txn, system.id, &mut folder, entry)?;
    txn.put(RecordId::folder(system.id), folder.into());
    Ok(name)
}

/// Takes an object out of the system folder and returns its entry. Only an exclusive writer may rely on finding it.
pub(crate) fn claim(
    txn: &mut Txn<'_>,
    object: ObjectId,
    name: &Name,
) -> Result<Entry, RecordError> {
    let system = txn.root()?.system;
    let mut folder = Folder::clone(&*load_folder(txn, system.id, &system.tag)?);
    let entry = staged_entry(txn, system.id, &folder, object, name)?;
    let mut owner = Owner { sink: txn, object: system.id, next_index: &mut folder.next_index };
    folder.body.remove_entry(&mut owner, entry.name.as_str())?;
    txn.put(RecordId::folder(system.id), folder.into());
    Ok(entry)
}

/// Marks the entry of an object in the system folder whose head is about to change, so that the commit reaches the
/// head. Returns the entry.
pub(crate) fn touch(
    txn: &mut Txn<'_>,
    object: ObjectId,
    name: &Name,
) -> Result<Entry, RecordError> {
    let system = txn.root()?.system;
    let mut folder = Folder::clone(&*load_folder(txn, system.id, &system.tag)?);
    let mut entry = staged_entry(txn, system.id, &folder, object, name)?;
    let mut owner = Owner { sink: txn, object: system.id, next_index: &mut folder.next_index };
    entry.writer = Some(Writer { session: owner.sink.session_number(), time: now() });
    folder.body.put_entry(&mut owner, entry.clone())?;
    txn.put(RecordId::folder(system.id), folder.into());
    Ok(entry)
}

/// Looks up an entry by its name: objects that reaping moves in meanwhile come after it.
fn staged_entry(
    txn: &Txn<'_>,
    system: ObjectId,
    folder: &Folder,
    object: ObjectId,
    name: &Name,
) -> Result<Entry, RecordError> {
    let entry = folder.body.entry(txn, system, name.as_str())?.filter(|entry| entry.id == object);
    let is_own =
        |entry: &Entry| entry.writer.is_some_and(|writer| writer.session == txn.session_number());
    // Otherwise another host took this one for gone, and has begun to remove the object or is done with it. The number may belong
    // to another object by now.
    entry.filter(is_own).ok_or_else(|| StorageError::Unavailable(REMOVED.to_owned()).into())
}

/// Reaps from the beginning of the system folder.
///
/// Stops at the object `damaged`, known from the previous call, and drops its entry: the rest of it is unreachable
/// either way. Returns the object that turns out to be damaged, if any.
fn reap(
    txn: &mut Txn<'_>,
    staged: Option<ObjectId>,
    damaged: Option<ObjectId>,
    mut budget: usize,
) -> Result<Option<ObjectId>, RecordError> {
    let system = txn.root()?.system;
    let loaded = load_folder(txn, system.id, &system.tag)?;
    if loaded.body.count() == 0 {
        return Ok(None);
    }
    let mut folder = Folder::clone(&*loaded);
    let mut changed = false;
    while budget > 0 {
        let Some(mut entry) = folder.body.first_entry(txn, system.id)? else { break };
        if Some(entry.id) == staged || is_being_written(txn, &entry) {
            // The objects that are being written are among the first, because names count up.
            let (_, leaf) = folder.body.find(txn, system.id, |_, _| 0)?;
            let mut rest = leaf.0.iter();
            let free = rest.find(|it| Some(it.id) != staged && !is_being_written(txn, it));
            let Some(free) = free else { break };
            entry = free.clone();
        }
        budget -= 1;
        // From now on its writer must not take it for whole.
        entry.writer = None;
        let finished = if Some(entry.id) == damaged {
            budget = 0;
            if txn.is_pending(entry.head()) {
                // Nodes of the object are in this commit and need a parent. The next commit drops the entry.
                break;
            }
            true
        } else {
            let rest = match entry.what {
                What::File(info) => reap_file(txn, &entry, info.bytes, &mut budget),
                What::Folder => reap_folder(txn, &entry, system.id, &mut folder, &mut budget),
            };
            match rest {
                Ok(finished) => finished,
                Err(error) if error.is_unreadable() => return Ok(Some(entry.id)),
                Err(error) => return Err(error),
            }
        };
        changed = true;
        let mut owner = Owner { sink: txn, object: system.id, next_index: &mut folder.next_index };
        if finished {
            folder.body.remove_entry(&mut owner, entry.name.as_str())?;
        } else {
            folder.body.put_entry(&mut owner, entry)?;
        }
    }
    if changed {
        txn.put(RecordId::folder(system.id), folder.into());
    }
    Ok(None)
}

fn is_being_written(txn: &Txn<'_>, entry: &Entry) -> bool {
    entry.writer.is_some_and(|writer| shared::is_being_written(txn.open(), writer))
}

/// Removes records of a file from its end. Returns whether nothing is left of it.
fn reap_file(
    txn: &mut Txn<'_>,
    entry: &Entry,
    bytes: u64,
    budget: &mut usize,
) -> Result<bool, RecordError> {
    let head = entry.head();
    if bytes >= FILE_INLINE_AGAIN {
        let mut file = File::clone(&*load_file(txn, head, &entry.tag)?);
        cut_tail(txn, entry.id, &mut file, budget)?;
        if u64::from(file.body.count()) > 0 {
            txn.put(head, file.into());
            return Ok(false);
        }
    }
    txn.remove(head);
    Ok(true)
}

fn cut_tail(
    txn: &mut Txn<'_>,
    object: ObjectId,
    file: &mut File,
    budget: &mut usize,
) -> Result<(), RecordError> {
    let File { next_index, is_partial, body } = file;
    *is_partial = true;
    if matches!(body, Body::Inline(_)) {
        *body = Body::<Text>::empty();
        return Ok(());
    }
    let (start, leaves) = body.tail(txn, object, (*budget).max(1))?;
    // Subtracts at least one, so that a malformed tree ends the step instead of looping.
    *budget = budget.saturating_sub(leaves.max(1));
    let end = u64::from(body.count());
    body.replace(&mut Owner { sink: txn, object, next_index }, start..end, Vec::new())
}

/// Removes entries from the end of a folder: small files at once, anything larger by moving it up into the system
/// folder. Returns whether nothing is left of the folder.
fn reap_folder(
    txn: &mut Txn<'_>,
    entry: &Entry,
    system: ObjectId,
    system_folder: &mut Folder,
    budget: &mut usize,
) -> Result<bool, RecordError> {
    let mut folder = Folder::clone(&*load_folder(txn, entry.id, &entry.tag)?);
    let (before, mut children) = {
        let (before, leaf) = folder.body.find(txn, entry.id, |_, refs| refs.len())?;
        (before, leaf.0.clone())
    };
    // At least one, so that every step makes progress.
    let kept = children.len().saturating_sub((*budget).max(1));
    for child in children.drain(kept..) {
        *budget = budget.saturating_sub(1);
        match child.what {
            What::File(info) if info.bytes < FILE_INLINE_AGAIN => txn.remove(child.head()),
            _ => {
                // A moved entry rewrites a part of the system folder.
                *budget = budget.saturating_sub(1);
                adopt(txn, system, system_folder, child)?;
            }
        }
    }
    match &mut folder.body {
        Body::Inline(entries) => entries.0.truncate(kept),
        body @ Body::Tree(_) => {
            let end = body.count();
            let mut owner =
                Owner { sink: txn, object: entry.id, next_index: &mut folder.next_index };
            let leaves = if kept == 0 { Vec::new() } else { vec![Entries(children)] };
            body.replace(&mut owner, before..end, leaves)?;
        }
    }
    let head = RecordId::folder(entry.id);
    if folder.body.count() == 0 {
        txn.remove(head);
        return Ok(true);
    }
    txn.put(head, folder.into());
    Ok(false)
}

const REMOVED: &str = "a long write stood still for an hour, so another host removed it";
/// Appends an entry to the system folder and returns its name. Names count up, so new entries are adjacent at the end,
/// and reaped ones at the beginning.
fn adopt(
    txn: &mut Txn<'_>,
    system: ObjectId,
    folder: &mut Folder,
    mut entry: Entry,
) -> Result<Name, RecordError> {
    let last = folder.body.last_entry(txn, system)?;
    let number = last
        .and_then(|last| u64::from_str_radix(last.name.as_str(), 16).ok())
        .map_or(0, |number| number.saturating_add(1));
    let name = Name::new(&format!("{number:016x}"));
    entry.name = name.clone();
    let mut owner = Owner { sink: txn, object: system, next_index: &mut folder.next_index };
    folder.body.put_entry(&mut owner, entry)?;
    Ok(name)
}
