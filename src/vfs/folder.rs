//! Folders: finding what a path names, and putting an entry there or taking it away.
//!
//! A change goes down from the root to the folder it concerns and comes back up, correcting the totals of each
//! folder on the way. Folders that a path needs are made, and a folder that loses its last entry is gone.

use crate::session::StoreError;
use inmost_format::crypto::rng;
use inmost_format::record::node::{Entry, Folder, Name, Totals, What};
use inmost_format::record::tree::{Body, Owner};
use inmost_format::record::{
    NodeSink, NodeSource, ObjectId, RecordError, RecordId, Tag, load_folder,
};

use super::error::FileError;
use super::path::MemoryPath;
use super::subtree::Subtree;

/// What a path leads to.
pub(crate) enum Found {
    /// What stands for the root, which has no entry as far as the path knows; `None` for a subtree that holds
    /// nothing yet.
    Root(Option<(ObjectId, Tag)>),
    /// A folder or file.
    Entry(Entry),
    /// Nothing.
    Missing {
        /// How many names of the path lead to a file that stands where a folder would have to be, if there is one.
        file_at: Option<usize>,
    },
}

/// Follows a path from the root folder of the store.
///
/// # Errors
/// [`StoreError::SubtreeIsFile`], if the path is one of a subtree that cannot be; what reading answers.
pub(crate) fn find(
    source: &impl NodeSource,
    root: (ObjectId, Tag),
    path: &MemoryPath,
) -> Result<Found, FileError> {
    let top = top(source, root, path.subtree())?;
    let mut found = Found::Root(top);
    if path.is_root() {
        return Ok(found);
    }
    let Some(mut folder) = top else { return Ok(Found::Missing { file_at: None }) };
    for (depth, name) in path.segments().enumerate() {
        if matches!(&found, Found::Entry(entry) if entry.what != What::Folder) {
            return Ok(Found::Missing { file_at: Some(depth) });
        }
        let head = load_folder(source, folder.0, &folder.1)?;
        let Some(entry) = head.body.entry(source, folder.0, name)? else {
            return Ok(Found::Missing { file_at: None });
        };
        folder = (entry.id, entry.tag);
        found = Found::Entry(entry);
    }
    Ok(found)
}

/// The folder that a subtree is, if it holds anything.
fn top(
    source: &impl NodeSource,
    root: (ObjectId, Tag),
    subtree: &Subtree,
) -> Result<Option<(ObjectId, Tag)>, FileError> {
    let mut folder = root;
    for name in subtree.names() {
        let head = load_folder(source, folder.0, &folder.1)?;
        match head.body.entry(source, folder.0, name)? {
            None => return Ok(None),
            Some(entry) if entry.what != What::Folder => {
                return Err(StoreError::SubtreeIsFile.into());
            }
            Some(entry) => folder = (entry.id, entry.tag),
        }
    }
    Ok(Some(folder))
}

/// Puts an object at a path, in place of a file that is there; makes the folders that are missing. The tag is
/// that of the object's head where it came from; a head that changes gets a new one when it is sealed.
pub(crate) fn put<S: NodeSink>(
    sink: &mut S,
    root: (ObjectId, Tag),
    path: &MemoryPath,
    object: (ObjectId, Tag),
    what: What,
) -> Result<Totals, RecordError> {
    edit(sink, root, path, &Change::Put(object, what))
}

/// Takes the entry at a path out of the tree; what it refers to stays as it is.
pub(crate) fn remove<S: NodeSink>(
    sink: &mut S,
    root: (ObjectId, Tag),
    path: &MemoryPath,
) -> Result<Totals, RecordError> {
    edit(sink, root, path, &Change::Remove)
}

/// Random, so that an id says nothing and never comes twice.
pub(crate) fn fresh_id() -> Result<ObjectId, RecordError> {
    rng::array().map(ObjectId).map_err(|_| RecordError::Randomness)
}

enum Change {
    Put((ObjectId, Tag), What),
    Remove,
}

/// Changes the entry at `path` and answers the totals of the whole tree after it.
fn edit<S: NodeSink>(
    sink: &mut S,
    root: (ObjectId, Tag),
    path: &MemoryPath,
    change: &Change,
) -> Result<Totals, RecordError> {
    let names: Vec<&str> = path.subtree().names().chain(path.segments()).collect();
    let mut folder = Folder::clone(&*load_folder(sink, root.0, &root.1)?);
    edit_below(sink, root.0, &mut folder, &names, change)?;
    let totals = folder.totals;
    sink.put(RecordId::folder(root.0), folder.into());
    Ok(totals)
}

fn edit_below<S: NodeSink>(
    sink: &mut S,
    object: ObjectId,
    folder: &mut Folder,
    names: &[&str],
    change: &Change,
) -> Result<(), RecordError> {
    let Some((name, rest)) = names.split_first() else { return Ok(()) };
    let existing = folder.body.entry(sink, object, name)?;
    let before = match &existing {
        Some(entry) => Totals::of_entry(sink, entry)?,
        None => Totals::default(),
    };

    let (entry, after) = if rest.is_empty() {
        match change {
            Change::Remove => (None, Totals::default()),
            Change::Put((id, tag), what) => {
                let entry = Entry { name: Name::new(name), id: *id, tag: *tag, what: *what };
                let added = Totals::of_entry(sink, &entry)?;
                (Some(entry), added)
            }
        }
    } else {
        let (id, mut child) = match &existing {
            Some(entry) => (entry.id, Folder::clone(&*load_folder(sink, entry.id, &entry.tag)?)),
            None => (fresh_id()?, empty()),
        };
        edit_below(sink, id, &mut child, rest, change)?;
        let head = RecordId::folder(id);
        if child.body.count() == 0 {
            sink.remove(head);
            (None, Totals::default())
        } else {
            let name = Name::new(name);
            let added = Totals::of_folder(&name, &child.totals);
            sink.put(head, child.into());
            (Some(Entry { name, id, tag: Tag::default(), what: What::Folder }), added)
        }
    };

    let mut owner = Owner { sink, object, next_index: &mut folder.next_index };
    match entry {
        Some(entry) => folder.body.put_entry(&mut owner, entry)?,
        None => folder.body.remove_entry(&mut owner, name)?,
    }
    folder.totals = folder.totals.minus(&before).plus(&after);
    Ok(())
}

fn empty() -> Folder {
    Folder { next_index: 0, totals: Totals::default(), body: Body::empty() }
}
