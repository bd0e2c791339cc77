//! Folders: resolves a path, and adds or removes an entry.
//!
//! A change uses the folders that were read when its path was resolved. It proceeds from the changed folder up to the
//! root and corrects the totals of each folder on the way. Missing folders are created, and a folder that loses its
//! last entry is removed.

use std::sync::Arc;

use inmost_format::crypto::rng;
use inmost_format::record::node::{Entry, FileInfo, Folder, Name, Root, Totals, What};
use inmost_format::record::tree::{Body, Owner};
use inmost_format::record::{
    NodeSink, NodeSource, ObjectId, RecordError, RecordId, Tag, load_folder,
};

use super::error::FileError;
use super::file_text::FileText;
use super::path::MemoryPath;
use crate::session::StoreError;

/// A path that was resolved from the root folder of the store.
pub(crate) struct ResolvedPath {
    /// The folders that were read, from the top down. The n-th contains the n-th name, if it exists.
    steps: Vec<Step>,
    /// The object at the path.
    pub(crate) target: Target,
}

/// The object at a path.
pub(crate) enum Target {
    /// The folder that the path's root stands for; the path has no entry for it. `None` for a subtree whose folder does
    /// not exist yet.
    Root(Option<(ObjectId, Tag)>),
    /// A folder or file.
    Entry(Entry),
    /// The path does not exist.
    Missing {
        /// The number of leading names in the path of a file that is in place of a folder, if there is one.
        file_at: Option<usize>,
    },
}

impl Target {
    /// The file at the path, if there is one.
    pub(crate) fn file(&self) -> Option<(&Entry, FileInfo)> {
        match self {
            Self::Entry(entry) => match entry.what {
                What::File(info) => Some((entry, info)),
                What::Folder => None,
            },
            Self::Root(_) | Self::Missing { .. } => None,
        }
    }
}

/// A folder on the path, with its entry for the next name.
struct Step {
    object: ObjectId,
    head: Arc<Folder>,
    entry: Option<Entry>,
}

impl ResolvedPath {
    /// Resolves a path.
    ///
    /// # Errors
    /// [`StoreError::SubtreeIsFile`] if the path belongs to a subtree whose folder is a file; the errors of reading.
    pub(crate) fn new(
        source: &impl NodeSource,
        root: &Root,
        path: &MemoryPath,
    ) -> Result<Self, FileError> {
        let above = path.subtree().names().count();
        let last = path.all_names().count();
        let mut steps = Vec::with_capacity(last);
        let mut folder = (root.tree.id, root.tree.tag);
        let mut target = Target::Root(Some(folder));
        for (number, name) in (1..).zip(path.all_names()) {
            let (object, tag) = folder;
            let head = load_folder(source, object, &tag)?;
            let entry = head.body.entry(source, object, name)?;
            steps.push(Step { object, head, entry: entry.clone() });
            target = match entry {
                // A subtree whose folder does not exist is empty. That is not an error.
                None if path.is_root() => Target::Root(None),
                None => Target::Missing { file_at: None },
                Some(entry) if entry.what == What::Folder => {
                    folder = (entry.id, entry.tag);
                    if number <= above { Target::Root(Some(folder)) } else { Target::Entry(entry) }
                }
                Some(_) if number <= above => return Err(StoreError::SubtreeIsFile.into()),
                Some(entry) if number == last => Target::Entry(entry),
                Some(_) => Target::Missing { file_at: Some(number - above) },
            };
            if matches!(target, Target::Root(None) | Target::Missing { .. }) {
                break;
            }
        }
        Ok(Self { steps, target })
    }

    /// The file that something put at this path replaces; `None` if the path is free.
    ///
    /// # Errors
    /// [`FileError::AlreadyExists`] for a folder, or a file that must not be replaced; [`FileError::NotAFolder`].
    pub(super) fn replaced(
        &self,
        path: &MemoryPath,
        may_be: impl Fn(&FileInfo) -> bool,
    ) -> Result<Option<(Entry, FileInfo)>, FileError> {
        match (&self.target, self.target.file()) {
            (Target::Missing { file_at: None }, _) => Ok(None),
            (Target::Missing { file_at: Some(depth) }, _) => Err(not_a_folder(path, *depth)),
            (_, Some((entry, info))) if may_be(&info) => Ok(Some((entry.clone(), info))),
            _ => Err(FileError::AlreadyExists),
        }
    }

    /// The totals of the whole store, if a folder was read.
    pub(crate) fn store_totals(&self) -> Option<Totals> {
        self.steps.first().map(|step| step.head.totals)
    }
}

/// The error for a path through a file. The first `depth` names of `path` are the path of that file.
pub(super) fn not_a_folder(path: &MemoryPath, depth: usize) -> FileError {
    let mut file = path.clone();
    for _ in depth..path.depth() {
        let Some(folder) = file.parent() else { break };
        file = folder;
    }
    FileError::NotAFolder(FileText::from(file.as_str().to_owned()))
}

/// Puts an object at a path, replacing an existing file; creates missing folders. The tag is the present one of the
/// object's head. A head that changes gets a new tag when it is sealed.
pub(crate) fn put<S: NodeSink>(
    sink: &mut S,
    path: &MemoryPath,
    resolved: &ResolvedPath,
    object: (ObjectId, Tag),
    what: What,
) -> Result<(), RecordError> {
    change(sink, path, resolved, &Change::Put(object, what))
}

/// Removes the entry at a path from the tree. The object that it refers to is not changed.
pub(crate) fn remove<S: NodeSink>(
    sink: &mut S,
    path: &MemoryPath,
    resolved: &ResolvedPath,
) -> Result<(), RecordError> {
    change(sink, path, resolved, &Change::Remove)
}

/// A random object id: it reveals nothing and never repeats.
pub(crate) fn fresh_id() -> Result<ObjectId, RecordError> {
    rng::array().map(ObjectId).map_err(|_| RecordError::Randomness)
}

enum Change {
    Put((ObjectId, Tag), What),
    Remove,
}

fn change<S: NodeSink>(
    sink: &mut S,
    path: &MemoryPath,
    resolved: &ResolvedPath,
    change: &Change,
) -> Result<(), RecordError> {
    let names: Vec<&str> = path.all_names().collect();
    let Some(step) = resolved.steps.first() else { return Ok(()) };
    let folder = change_below(sink, &resolved.steps, &names, change)?.1;
    sink.put(RecordId::folder(step.object), folder.into());
    Ok(())
}

/// The folder of the first of `steps` after the change, or a new folder if there is no step.
fn change_below<S: NodeSink>(
    sink: &mut S,
    steps: &[Step],
    names: &[&str],
    change: &Change,
) -> Result<(ObjectId, Folder), RecordError> {
    let (object, mut folder, existing) = match steps.first() {
        Some(step) => (step.object, Folder::clone(&step.head), step.entry.as_ref()),
        None => (fresh_id()?, empty(), None),
    };
    let Some((name, rest)) = names.split_first() else { return Ok((object, folder)) };
    let below = steps.get(1..).unwrap_or_default();
    let before = match (existing, below.first()) {
        (Some(entry), Some(child)) => Totals::of_folder(&entry.name, &child.head.totals),
        (Some(entry), None) => Totals::of_entry(sink, entry)?,
        (None, _) => Totals::default(),
    };

    let name = Name::new(name);
    let (entry, after) = match change {
        Change::Remove if rest.is_empty() => (None, Totals::default()),
        Change::Put((id, tag), what) if rest.is_empty() => {
            let (id, tag, what) = (*id, *tag, *what);
            let entry = Entry::new(name.clone(), id, tag, what);
            let added = Totals::of_entry(sink, &entry)?;
            (Some(entry), added)
        }
        _ => {
            let (id, child) = change_below(sink, below, rest, change)?;
            let head = RecordId::folder(id);
            if child.body.count() == 0 {
                sink.remove(head);
                (None, Totals::default())
            } else {
                let added = Totals::of_folder(&name, &child.totals);
                sink.put(head, child.into());
                let (name, tag) = (name.clone(), Tag::default());
                (Some(Entry::new(name, id, tag, What::Folder)), added)
            }
        }
    };

    let mut owner = Owner { sink, object, next_index: &mut folder.next_index };
    match entry {
        Some(entry) => folder.body.put_entry(&mut owner, entry)?,
        None => folder.body.remove_entry(&mut owner, name.as_str())?,
    }
    folder.totals = folder.totals.minus(&before).plus(&after);
    Ok((object, folder))
}

fn empty() -> Folder {
    Folder { next_index: 0, totals: Totals::default(), body: Body::empty() }
}
