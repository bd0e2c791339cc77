//! Removes what redactions leave: the records that only redacted texts had and that other entries keep.
//!
//! An old head that is redacted leaves what an older head needs with its entry. When that older head is redacted too, nothing
//! needs those records any more. A long file is set aside, with a note that holds it. Both go in steps of their own, and a crash
//! between the steps leaves some. So each redaction looks through the whole history for them, and not only where it has removed a
//! text itself.

use std::collections::HashMap;

use inmost_format::record::history::{Before, OldHead, Operation, Retired};
use inmost_format::record::node::{Entry, What};
use inmost_format::record::{NodeSink, ObjectId};

use super::past::{Found, Past, is_damage};
use super::release;
use super::set_aside::{self, Note};
use crate::session::{Exclusive, Txn};
use crate::vfs::error::FileError;

/// Removes all of it. Returns whether there was anything.
///
/// # Errors
/// A file that was set aside and is damaged. It is dropped like a damaged object that is reaped: some of its records stay until
/// a rewrite.
pub(super) fn remove(exclusive: &mut Exclusive<'_>) -> Result<bool, FileError> {
    let left = exclusive.commit(|txn| Left::search(txn))?;
    for rest in &left.rests {
        exclusive.commit(|txn| free(txn, rest))?;
    }
    let mut damage = None;
    for note in &left.notes {
        match set_aside::remove(exclusive, note) {
            Err(error) if is_damage(&error) => {
                exclusive.commit(|txn| release::drop_held(txn, note.number))?;
                damage = Some(error);
            }
            removed => removed?,
        }
    }
    if !left.notes.is_empty() {
        // Older heads may have been trimmed meanwhile, which need nothing any more.
        for rest in &exclusive.commit(|txn| Left::search(txn))?.rests {
            exclusive.commit(|txn| free(txn, rest))?;
        }
    }
    damage.map_or(Ok(!left.rests.is_empty() || !left.notes.is_empty()), Err)
}

/// What redactions have left.
struct Left {
    rests: Vec<Rest>,
    /// The files that were set aside.
    notes: Vec<Note>,
}

/// An entry that keeps records which no head needs: those of its object with an index above `needed`.
struct Rest {
    number: u64,
    object: ObjectId,
    needed: u64,
}

impl Left {
    /// Finds all of it. A record that went out of use with a change belongs to an older head if that head is at least as new as
    /// the record: indexes only grow.
    fn search(txn: &Txn<'_>) -> Result<Self, FileError> {
        let root = txn.root()?;
        let mut left = Self { rests: Vec::new(), notes: Vec::new() };
        let Some(past) = Past::open(txn, &root, 0)? else { return Ok(left) };
        // The newest head of each file, and the entry that holds it, as far as the history has been read. A head in a lost entry
        // needs nothing: nobody can read it.
        let mut heads: HashMap<ObjectId, (u64, OldHead)> = HashMap::new();
        past.visit(0, &mut |place| {
            let Found::Entry(version) = place else { return Ok(true) };
            let number = version.number;
            match &version.before {
                Before::Head(old) => {
                    heads.insert(old.object, (number, *old));
                }
                Before::Rest(object) => {
                    let needed = heads.get(object).map_or(0, |(_, old)| old.last_index);
                    if version.retired.iter().any(|record| record.index > needed) {
                        left.rests.push(Rest { number, object: *object, needed });
                    }
                }
                Before::Object(file)
                    if version.operation == Operation::Forgotten && file.what != What::Folder =>
                {
                    let older = heads.get(&file.id).copied();
                    left.notes.push(Note { number, file: Entry::clone(file), older });
                }
                Before::Nothing | Before::Object(_) | Before::Restored(_) => {}
            }
            Ok(true)
        })?;
        Ok(left)
    }
}

fn free(txn: &mut Txn<'_>, rest: &Rest) -> Result<(), FileError> {
    let Some((object, mut history)) = txn.history()? else { return Ok(()) };
    let mut free: Vec<Retired> = Vec::new();
    history.edit(txn, object, rest.number, |entry| {
        free = entry.retired.extract_if(.., |record| record.index > rest.needed).collect();
        !entry.retired.is_empty() || release::end_rest(entry)
    })?;
    txn.set_history(object, history)?;
    for record in free {
        txn.remove(record.id(rest.object));
    }
    Ok(())
}
