//! Removes a file or folder from inside a deleted folder that an entry holds.

use inmost_format::record::history::Before;
use inmost_format::record::node::Entry;

use super::locate::inside_path;
use crate::session::{Txn, reap};
use crate::vfs::error::FileError;
use crate::vfs::folder::{self, ResolvedPath, Target};

/// Removes what is at a path below the folder that the entry `holder` holds. The entry notes the object, so that no repair
/// brings it back. Returns whether there was anything.
pub(super) fn remove(txn: &mut Txn<'_>, holder: u64, below: &str) -> Result<bool, FileError> {
    let Some((object, mut history)) = txn.history()? else { return Ok(false) };
    let mut held: Option<Entry> = None;
    history.edit(txn, object, holder, |entry| {
        if let Before::Object(folder) = &entry.before {
            held = Some(Entry::clone(folder));
        }
        true
    })?;
    let Some(held) = held else { return Ok(false) };
    let Some((root, path)) = inside_path(&txn.root()?, &held, below) else { return Ok(false) };
    let resolved = ResolvedPath::new(txn, &root, &path)?;
    let Target::Entry(entry) = &resolved.target else { return Ok(false) };
    let entry = entry.clone();
    folder::remove(txn, &path, &resolved)?;
    let id = entry.id;
    reap::remove(txn, entry)?;
    // The entry is written again in any case, because the tag of its folder changes.
    history.edit(txn, object, holder, |entry| {
        entry.forgotten.push(id);
        true
    })?;
    txn.set_history(object, history)?;
    Ok(true)
}
