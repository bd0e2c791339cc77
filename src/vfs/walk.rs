//! Walks everything below a folder, depth first in order of names, in pages.

use std::collections::HashSet;
use std::fmt;

use inmost_format::record::node::{Entries, Entry, What};
use inmost_format::record::{Flaw, Kind, NodeSource, ObjectId, RecordError, Tag, load_folder};
use inmost_format::secret::{self, Wiped};

use super::entry::Metadata;
use super::error::FileError;
use super::file_text::FileText;
use super::folder::{ResolvedPath, Target};
use super::page::{Page, PageCursor};
use super::path::MemoryPath;
use crate::session::{Open, ReadAhead, Scope};

/// A file or folder found by a walk.
#[derive(Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct WalkEntry {
    /// Its canonical path.
    pub path: FileText,
    /// The number of folders between it and the start of the walk.
    pub depth: usize,
    /// The metadata of the file or folder.
    pub metadata: Metadata,
}

impl WalkEntry {
    /// The last name of the path.
    #[must_use]
    pub fn name(&self) -> &str {
        self.path.as_str().rsplit('/').next().unwrap_or_default()
    }
}

impl fmt::Debug for WalkEntry {
    /// A store hides its paths, so `Debug` does not show them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WalkEntry")
            .field("depth", &self.depth)
            .field("metadata", &self.metadata)
            .finish_non_exhaustive()
    }
}

/// Up to `most` entries below a folder, hidden ones included, a folder before its entries; for a file, the file alone.
/// The walk does not descend into folders at `max_depth`.
///
/// # Errors
/// [`FileError::NotFound`].
pub(crate) fn walk(
    open: &Open,
    path: &MemoryPath,
    after: Option<&PageCursor>,
    most: usize,
    max_depth: usize,
) -> Result<Page<WalkEntry>, FileError> {
    let mut items = Vec::new();
    let source = ReadAhead::new(open, Scope::folders(max_depth.saturating_add(1)));
    let passed = after.map(|after| after.path.as_str());
    visit((open, &source), path, passed, max_depth, &mut |step| {
        items.push(WalkEntry {
            path: step.path.to_owned().into(),
            depth: step.depth,
            metadata: step.metadata,
        });
        Ok(items.len() < most)
    })?;
    let next = (items.len() >= most)
        .then(|| items.last().map(|last: &WalkEntry| PageCursor::after(last.path.as_str())))
        .flatten();
    Ok(Page { items, next })
}

/// One step of a walk.
pub(crate) struct WalkStep<'a> {
    pub(crate) path: &'a str,
    pub(super) depth: usize,
    pub(super) metadata: Metadata,
    pub(crate) entry: &'a Entry,
}

/// Calls `visitor` with every object below a folder that follows the path `after`, until it returns `false`. The source is
/// for this walk alone.
pub(crate) fn visit<S: NodeSource>(
    (open, source): (&Open, &S),
    path: &MemoryPath,
    after: Option<&str>,
    max_depth: usize,
    visitor: &mut dyn FnMut(&WalkStep<'_>) -> Result<bool, FileError>,
) -> Result<(), FileError> {
    let mut walk = Walk { source, max_depth, visitor, reached: HashSet::new() };
    let folder = match ResolvedPath::new(open, open.root(), path)?.target {
        Target::Missing { .. } => return Err(FileError::NotFound),
        Target::Root(None) => return Ok(()),
        Target::Root(Some(folder)) => folder,
        Target::Entry(entry) if entry.what == What::Folder => (entry.id, entry.tag),
        Target::Entry(entry) => {
            if after.is_none() {
                let metadata = Metadata::of(&entry, 0);
                let step = WalkStep { path: path.as_str(), depth: 0, metadata, entry: &entry };
                (walk.visitor)(&step)?;
            }
            return Ok(());
        }
    };
    // A cursor from another walk has no names below this folder.
    let after: Vec<&str> = after
        .and_then(|after| after.strip_prefix(path.as_str())?.strip_prefix('/'))
        .map(|below| below.split('/').collect())
        .unwrap_or_default();
    walk.folder(path.as_str(), folder, 0, &after).map(drop)
}

struct Walk<'a, S> {
    source: &'a S,
    max_depth: usize,
    visitor: &'a mut dyn FnMut(&WalkStep<'_>) -> Result<bool, FileError>,
    /// The visited folders: a forged tree of few folders could have too many paths to walk.
    reached: HashSet<ObjectId>,
}

impl<S: NodeSource> Walk<'_, S> {
    /// Visits the objects in a folder that follow the names `after`. Returns whether to continue.
    fn folder(
        &mut self,
        path: &str,
        (object, tag): (ObjectId, Tag),
        depth: usize,
        after: &[&str],
    ) -> Result<bool, FileError> {
        if !self.reached.insert(object) {
            let flaw = Flaw::Repeated;
            return Err(RecordError::Damaged { kind: Kind::Folder, flaw }.into());
        }
        let head = load_folder(self.source, object, &tag)?;
        let start = match after.first() {
            Some(name) => head.body.position_of(self.source, object, name)?,
            None => 0,
        };
        let source = self.source;
        let mut goes_on = true;
        head.body.visit::<FileError>(source, object, start, &mut |before, leaf: &Entries| {
            let skipped = usize::try_from(start.saturating_sub(before)).unwrap_or(usize::MAX);
            for entry in leaf.0.iter().skip(skipped) {
                let rest = match after.split_first() {
                    Some((name, rest)) if *name == entry.name.as_str() => Some(rest),
                    _ => None,
                };
                goes_on = self.entry(path, entry, depth, rest)?;
                if !goes_on {
                    return Ok(false);
                }
            }
            Ok(true)
        })?;
        Ok(goes_on)
    }

    /// Visits an entry and the objects below it. `after` is set for an entry on the cursor's path, which was visited
    /// before: it holds the names below the entry.
    fn entry(
        &mut self,
        folder: &str,
        entry: &Entry,
        depth: usize,
        after: Option<&[&str]>,
    ) -> Result<bool, FileError> {
        let path: Wiped<String> = secret::format(format_args!("{folder}/{}", entry.name.as_str()));
        if after.is_none() {
            let bytes = match entry.what {
                What::Folder => load_folder(self.source, entry.id, &entry.tag)?.totals.bytes,
                What::File(_) => 0,
            };
            let metadata = Metadata::of(entry, bytes);
            let step = WalkStep { path: &path, depth, metadata, entry };
            if !(self.visitor)(&step)? {
                return Ok(false);
            }
        }
        if entry.what != What::Folder || depth >= self.max_depth {
            return Ok(true);
        }
        self.folder(&path, (entry.id, entry.tag), depth + 1, after.unwrap_or_default())
    }
}
