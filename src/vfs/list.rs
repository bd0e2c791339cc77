//! Lists folders without opening a file.

use super::entry::{FolderEntry, Metadata};
use super::error::FileError;
use super::folder::{ResolvedPath, Target};
use super::listing::Item;
use super::name::is_hidden;
use super::page::{Page, PageCursor};
use super::path::MemoryPath;
use crate::session::{Open, ReadAhead, Scope};
use inmost_format::record::node::{Entries, Entry, Root, Totals, What};
use inmost_format::record::{NodeSource, ObjectId, RecordError, Tag, load_folder};

/// The object at a path.
pub(crate) enum FolderOrFile {
    /// A folder, with the bytes of all visible files below it.
    Folder(Listing),
    /// A file.
    File(Entry),
}

/// A folder that can be listed.
pub(crate) struct Listing {
    /// `None` for a subtree whose folder does not exist yet.
    folder: Option<(ObjectId, Tag)>,
    /// Bytes of all visible files below.
    pub(crate) bytes: u64,
    /// Bytes of all files below, hidden ones included.
    all_bytes: u64,
    /// Visible entries one and two levels below.
    pub(crate) entries: u64,
}

/// Finds the file or folder at a path.
///
/// # Errors
/// [`FileError::NotFound`].
pub(crate) fn find(
    source: &impl NodeSource,
    root: &Root,
    path: &MemoryPath,
) -> Result<FolderOrFile, FileError> {
    let folder = match ResolvedPath::new(source, root, path)?.target {
        Target::Missing { .. } => return Err(FileError::NotFound),
        Target::Root(folder) => folder,
        Target::Entry(entry) => match entry.what {
            What::Folder => Some((entry.id, entry.tag)),
            What::File(_) => return Ok(FolderOrFile::File(entry)),
        },
    };
    let totals = match &folder {
        Some((object, tag)) => load_folder(source, *object, tag)?.totals,
        None => Totals::default(),
    };
    let entries = totals.visible_children.saturating_add(totals.visible_grandchildren);
    let (bytes, all_bytes) = (totals.visible_bytes, totals.bytes);
    Ok(FolderOrFile::Folder(Listing { folder, bytes, all_bytes, entries }))
}

impl Listing {
    /// Passes the first `limit` visible entries up to two levels below to `show`, depth first in order of names. Reads
    /// nothing beyond them.
    pub(crate) fn show(
        &self,
        open: &Open,
        limit: usize,
        mut show: impl FnMut(&Item<'_>),
    ) -> Result<(), RecordError> {
        let Some((object, tag)) = &self.folder else { return Ok(()) };
        let source = &ReadAhead::new(open, Scope::folders(2));
        let mut room = limit;
        show_in(source, (*object, tag), None, &mut room, &mut show)
    }
}

/// The metadata of a file or folder. Does not read its text.
///
/// # Errors
/// [`FileError::NotFound`].
pub(crate) fn metadata(
    source: &impl NodeSource,
    root: &Root,
    path: &MemoryPath,
) -> Result<Metadata, FileError> {
    Ok(match find(source, root, path)? {
        FolderOrFile::Folder(folder) => Metadata::of_folder(folder.all_bytes),
        FolderOrFile::File(entry) => Metadata::of(&entry, 0),
    })
}

/// Up to `most` entries of a folder after a cursor, hidden ones included.
///
/// # Errors
/// [`FileError::NotFound`], [`FileError::NotAFolder`].
pub(crate) fn page(
    open: &Open,
    path: &MemoryPath,
    after: Option<&PageCursor>,
    most: usize,
) -> Result<Page<FolderEntry>, FileError> {
    let (object, tag) = match ResolvedPath::new(open, open.root(), path)?.target {
        Target::Missing { .. } => return Err(FileError::NotFound),
        Target::Root(None) => return Ok(Page::new(Vec::new(), None)),
        Target::Root(Some(folder)) => folder,
        Target::Entry(entry) if entry.what == What::Folder => (entry.id, entry.tag),
        Target::Entry(_) => return Err(FileError::NotAFolder(path.as_str().to_owned().into())),
    };
    let source = &ReadAhead::new(open, Scope::folders(1));
    let head = load_folder(source, object, &tag)?;
    let after = after.map(|after| after.path.as_str());
    let start = after.map_or(Ok(0), |name| head.body.position_of(source, object, name))?;
    let mut items: Vec<FolderEntry> = Vec::new();
    let mut next = None;
    head.body.visit::<RecordError>(source, object, start, &mut |before, leaf: &Entries| {
        let skipped = usize::try_from(start.saturating_sub(before)).unwrap_or(usize::MAX);
        for entry in leaf.0.iter().skip(skipped) {
            let name = entry.name.as_str();
            if Some(name) == after {
                continue;
            }
            if let Some(last) = items.last().filter(|_| items.len() >= most) {
                next = Some(PageCursor::after(&last.name));
                return Ok(false);
            }
            let bytes = match entry.what {
                What::File(_) => 0,
                What::Folder => load_folder(source, entry.id, &entry.tag)?.totals.bytes,
            };
            let metadata = Metadata::of(entry, bytes);
            items.push(FolderEntry { name: name.to_owned(), metadata });
        }
        Ok(true)
    })?;
    Ok(Page::new(items, next))
}

/// Shows the visible entries of a folder while there is room. Without `between` it is the listed folder, and those one level below
/// each sub-folder follow it.
fn show_in(
    source: &impl NodeSource,
    (object, tag): (ObjectId, &Tag),
    between: Option<&str>,
    room: &mut usize,
    show: &mut impl FnMut(&Item<'_>),
) -> Result<(), RecordError> {
    let head = load_folder(source, object, tag)?;
    head.body.visit(source, object, 0, &mut |_, leaf: &Entries| {
        for entry in leaf.0.iter().filter(|entry| !is_hidden(entry.name.as_str())) {
            if *room == 0 {
                return Ok(false);
            }
            *room -= 1;
            let bytes = bytes_of(source, entry)?;
            let (name, is_folder) = (entry.name.as_str(), entry.what == What::Folder);
            show(&Item { folder: between, name, is_folder, bytes });
            if is_folder && between.is_none() {
                show_in(source, (entry.id, &entry.tag), Some(name), room, show)?;
            }
        }
        Ok(true)
    })
}

fn bytes_of(source: &impl NodeSource, entry: &Entry) -> Result<u64, RecordError> {
    match entry.what {
        What::File(info) => Ok(info.bytes),
        What::Folder => Ok(load_folder(source, entry.id, &entry.tag)?.totals.visible_bytes),
    }
}
