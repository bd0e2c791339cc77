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
    // If no record below the head went out of use, it does not matter what an earlier head has.
    let is_alone = matches!(place, Place::Head(_)) && entry.retired.is_empty();
    let earlier = if is_alone { Ok(Earlier::None) } else { Earlier::find(&past, &entry, object) };
    let older = match earlier {
        Ok(Earlier::None) => None,
        Ok(Earlier::Head(holder, older)) => Some((holder, older)),
        // Which records earlier versions need is not known, so the text stays with its entry. Neither a long past nor damage
        // must keep anyone from writing.
        Ok(Earlier::Unknown) | Err(FileError::Store(StoreError::Tampered { .. })) => return Ok(()),
        Err(error) => return Err(error),
    };
    drop((past, entry));
    let text = Text { place, holder: number, object, older, newest: None };
    // What shares many records with an earlier version cannot go in one step: it stays with its entry.
    if !is_alone && !release::is_small(txn, &text)? {
        return Ok(());
    }
    release::remove_at_once(txn, &text)
}

/// An earlier head of an object that the history holds.
enum Earlier {
    None,
    /// The next earlier one, and the number of the entry that holds it.
    Head(u64, OldHead),
    /// None among the last [`LONGEST_CHAIN`] changes of the file.
    Unknown,
}

impl Earlier {
    /// Follows the changes of the file alone: the whole history would be too long for every edit.
    fn find(
        past: &Past<'_, Txn<'_>>,
        entry: &Version,
        object: ObjectId,
    ) -> Result<Self, FileError> {
        let mut next = (entry.number, entry.previous);
        for _ in 0..LONGEST_CHAIN {
            // Numbers fall, so a forged chain has an end.
            if next.1 == 0 || next.1 >= next.0 {
                return Ok(Self::None);
            }
            let Some(earlier) = past.entry(next.1)? else { return Ok(Self::None) };
            if let Before::Head(older) = &earlier.before
                && older.object == object
            {
                return Ok(Self::Head(earlier.number, *older));
            }
            next = (earlier.number, earlier.previous);
        }
        Ok(Self::Unknown)
    }
}

/// Changes of a file that are searched for an earlier head.
const LONGEST_CHAIN: usize = 1_024;

/// Deletes a file or folder, and forgets what is or was at or below its path. No other change comes in between. A crash may
/// leave a part of the versions.
///
/// # Errors
/// Those of [`arrange::delete`]; [`FileError::Store`] if a part of the history cannot be read; the file or folder is deleted then,
/// and so are the versions that can be read.
pub(crate) fn delete(session: &Session, path: &MemoryPath) -> Result<(), FileError> {
    let mut is_deleted = false;
    session.undisturbed(|exclusive| {
        // The work begins again if another host comes in between, and must not delete what that host has made there.
        if !is_deleted {
            exclusive.commit(|txn| arrange::delete_in(txn, path))?;
            is_deleted = true;
        }
        // A path in a subtree is another one in the whole store.
        let path = MemoryPath::parse(&path.in_store())?;
        forget_in(exclusive, &path, &mut |_| {}).map(drop)
    })
}
