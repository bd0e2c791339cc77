//! Removes the records that only redacted texts had and that other entries keep.
//!
//! An old head that is redacted leaves what an older head needs with its entry. When that older head is redacted too, nothing
//! needs those records any more. They go in steps of their own, and a crash between the steps leaves some. So each redaction
//! looks through the whole history for them, and not only where it has removed a text itself.

use std::collections::HashMap;

use inmost_format::record::history::{Before, Retired};
use inmost_format::record::{NodeSink, ObjectId};

use super::past::{Found, Past};
use crate::session::{Exclusive, Txn};
use crate::vfs::error::FileError;

/// Removes the records that no head needs. Returns whether there were any.
pub(super) fn remove(exclusive: &mut Exclusive<'_>) -> Result<bool, FileError> {
    let rests = exclusive.commit(|txn| search(txn))?;
    for rest in &rests {
        exclusive.commit(|txn| free(txn, rest))?;
    }
    Ok(!rests.is_empty())
}

/// An entry that keeps records which no head needs: those of its object with an index above `needed`.
struct Rest {
    number: u64,
    object: ObjectId,
    needed: u64,
}

/// Finds all of them. A record that went out of use with a change belongs to an older head if that head is at least as new as
/// the record: indexes only grow.
fn search(txn: &Txn<'_>) -> Result<Vec<Rest>, FileError> {
    let root = txn.root()?;
    let Some(past) = Past::open(txn, &root, 0)? else { return Ok(Vec::new()) };
    // The last index of the newest head of each file, as far as the history has been read. A head in a lost entry needs nothing:
    // nobody can read it.
    let mut last: HashMap<ObjectId, u64> = HashMap::new();
    let mut rests = Vec::new();
    past.visit(0, &mut |place| {
        let Found::Entry(version) = place else { return Ok(true) };
        match &version.before {
            Before::Head(old) => {
                last.insert(old.object, old.last_index);
            }
            Before::Rest(object) => {
                let needed = last.get(object).copied().unwrap_or_default();
                if version.retired.iter().any(|record| record.index > needed) {
                    rests.push(Rest { number: version.number, object: *object, needed });
                }
            }
            Before::Nothing | Before::Object(_) | Before::Restored(_) => {}
        }
        Ok(true)
    })?;
    Ok(rests)
}

fn free(txn: &mut Txn<'_>, rest: &Rest) -> Result<(), FileError> {
    let Some((object, mut history)) = txn.history()? else { return Ok(()) };
    let mut free: Vec<Retired> = Vec::new();
    history.edit(txn, object, rest.number, |entry| {
        free = entry.retired.extract_if(.., |record| record.index > rest.needed).collect();
        if entry.retired.is_empty() {
            entry.before = Before::Nothing;
        }
        true
    })?;
    txn.set_history(object, history)?;
    for record in free {
        txn.remove(record.id(rest.object));
    }
    Ok(())
}
