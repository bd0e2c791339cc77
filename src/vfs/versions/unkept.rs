//! Changes of which the history keeps no text.
//!
//! An edit leaves its entry, without the text before it. A deletion goes from the history altogether, and so do all earlier
//! versions of what was deleted.

use inmost_format::record::ObjectId;
use inmost_format::record::history::{Before, Version};
use inmost_format::record::node::What;

use super::forget::forget_in;
use super::locate::Place;
use super::past::Past;
use super::release::{self, Text};
use crate::session::history::OldHead;
use crate::session::{Session, StoreError, Txn};
use crate::vfs::arrange;
use crate::vfs::error::FileError;
use crate::vfs::path::MemoryPath;

/// Drops the text that the change of this call ended, if its author keeps none.
pub(crate) fn drop_text(txn: &mut Txn<'_>) -> Result<(), FileError> {
    if txn.author().keeps_texts() {
        return Ok(());
    }
    let number = txn.number()?;
    let root = txn.root()?;
    let Some(past) = Past::open(&*txn, &root, 0)? else { return Ok(()) };
    let Some(entry) = past.entry(number)? else { return Ok(()) };
    let before = entry.before.clone();
    let (object, place) = match before {
        Before::Head(old) => (old.object, Place::Head(old)),
        Before::Object(held) if held.what != What::Folder => (held.id, Place::Object(*held)),
        _ => return Ok(()),
    };
    let older = match older_head(&past, &entry, object) {
        Ok(older) => older,
        // Damage to the history must not keep anyone from writing. Which records earlier versions need is not known, so they
        // stay until a rewrite, and nothing refers to them.
        Err(FileError::Store(StoreError::Tampered { .. })) => {
            drop((past, entry));
            return release::drop_held(txn, number, object);
        }
        Err(error) => return Err(error),
    };
    drop((past, entry));
    release::remove_at_once(txn, &Text { place, holder: number, object, older, newest: None })
}

/// The next earlier change of the same file whose entry holds a head of this object, and that head. Follows the changes of the
/// file alone: the whole history would be too long for every edit.
fn older_head(
    past: &Past<'_, Txn<'_>>,
    entry: &Version,
    object: ObjectId,
) -> Result<Option<(u64, OldHead)>, FileError> {
    let mut next = (entry.number, entry.previous);
    // Numbers fall, so a forged chain has an end.
    while next.1 > 0 && next.1 < next.0 {
        let Some(earlier) = past.entry(next.1)? else { return Ok(None) };
        if let Before::Head(older) = &earlier.before
            && older.object == object
        {
            return Ok(Some((earlier.number, *older)));
        }
        next = (earlier.number, earlier.previous);
    }
    Ok(None)
}

/// Deletes a file or folder, and forgets what is or was at or below its path. No other change comes in between. A crash may
/// leave a part of the versions.
///
/// # Errors
/// Those of [`arrange::delete`]; [`FileError::Store`] if a version cannot be read, and then it is deleted and some of its
/// versions are left.
pub(crate) fn delete(session: &Session, path: &MemoryPath) -> Result<(), FileError> {
    session.exclusive(|exclusive| {
        exclusive.commit(|txn| arrange::delete_in(txn, path))?;
        // A path in a subtree is another one in the whole store.
        let path = MemoryPath::parse(&path.in_store())?;
        forget_in(exclusive, &path, &mut |_| {}).map(drop)
    })
}
