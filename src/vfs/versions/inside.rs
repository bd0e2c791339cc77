//! Takes a file or folder out of a deleted folder that an entry holds.

use inmost_format::record::history::Before;
use inmost_format::record::load_folder;
use inmost_format::record::node::{Entry, What};

use super::files::inside_path;
use super::past::Past;
use crate::session::Txn;
use crate::vfs::error::FileError;
use crate::vfs::folder::{self, ResolvedPath, Target};

/// Takes out what is at a path below the folder that the entry `holder` holds, and returns its entry. The records are left to
/// the caller, who also notes the object, so that no repair brings it back.
pub(super) fn take(
    txn: &mut Txn<'_>,
    holder: u64,
    below: &str,
) -> Result<Option<Entry>, FileError> {
    // Nothing is put into the transaction before it is sure that something changes.
    let root = txn.root()?;
    let Some(past) = Past::open(&*txn, &root, 0)? else { return Ok(None) };
    let Some(mut holding) = past.entry(holder)? else { return Ok(None) };
    let Before::Object(held) = std::mem::replace(&mut holding.before, Before::Nothing) else {
        return Ok(None);
    };
    let Some((root, path)) = inside_path(&root, &held, below) else { return Ok(None) };
    let resolved = ResolvedPath::new(txn, &root, &path)?;
    let Target::Entry(entry) = &resolved.target else { return Ok(None) };
    let Some((object, mut history)) = txn.history()? else { return Ok(None) };
    folder::remove(txn, &path, &resolved)?;
    let bytes = match entry.what {
        What::File(info) => info.bytes,
        What::Folder => load_folder(txn, entry.id, &entry.tag)?.totals.bytes,
    };
    // The entry is written again in any case, because the tag of its folder changes.
    history.edit(txn, object, holder, |version| {
        version.held = version.held.saturating_sub(bytes);
        true
    })?;
    txn.set_history(object, history)?;
    Ok(Some(entry.clone()))
}

/// As [`take`], and notes the object with the entry that held it, or in one of its own.
pub(super) fn forget(
    txn: &mut Txn<'_>,
    holder: u64,
    below: &str,
) -> Result<Option<Entry>, FileError> {
    let Some(entry) = take(txn, holder, below)? else { return Ok(None) };
    let Some((object, mut history)) = txn.history()? else { return Ok(Some(entry)) };
    let mut is_noted = false;
    history.edit(txn, object, holder, |version| {
        is_noted = version.forgotten.len() < MOST_NOTED;
        if is_noted {
            version.forgotten.push(entry.id);
        }
        true
    })?;
    txn.set_history(object, history)?;
    if !is_noted {
        txn.note_forgotten(vec![entry.id], Before::Nothing)?;
    }
    Ok(Some(entry))
}

/// Objects that one entry notes, so that it fits a record with the longest paths.
const MOST_NOTED: usize = 32;
