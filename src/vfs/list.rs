//! Listing folders without opening a file.

use super::error::FileError;
use super::folder::{self, Found};
use super::listing::Item;
use super::name::is_hidden;
use super::path::MemoryPath;
use inmost_format::record::node::{Entries, Entry, Root, Totals, What};
use inmost_format::record::{NodeSource, ObjectId, RecordError, Tag, load_folder};

/// What a path names.
pub(crate) enum Kind {
    /// A folder, with the bytes of all visible files below it.
    Folder(Listing),
    /// A file.
    File(Entry),
}

/// A folder that can be listed.
pub(crate) struct Listing {
    /// `None` for a subtree that holds nothing yet.
    folder: Option<(ObjectId, Tag)>,
    /// Bytes of all visible files below.
    pub(crate) bytes: u64,
    /// Visible entries one and two levels below.
    pub(crate) entries: u64,
}

/// What is at a path.
///
/// # Errors
/// [`FileError::NotFound`].
pub(crate) fn find(
    source: &impl NodeSource,
    root: &Root,
    path: &MemoryPath,
) -> Result<Kind, FileError> {
    let folder = match folder::find(source, (root.tree.id, root.tree.tag), path)? {
        Found::Missing { .. } => return Err(FileError::NotFound),
        Found::Root(folder) => folder,
        Found::Entry(entry) => match entry.what {
            What::Folder => Some((entry.id, entry.tag)),
            What::File(_) => return Ok(Kind::File(entry)),
        },
    };
    let totals = match &folder {
        Some((object, tag)) => load_folder(source, *object, tag)?.totals,
        None => Totals::default(),
    };
    let entries = totals.visible_children.saturating_add(totals.visible_grandchildren);
    Ok(Kind::Folder(Listing { folder, bytes: totals.visible_bytes, entries }))
}

impl Listing {
    /// Shows the first `limit` visible entries up to two levels below, depth first in the order of their names.
    /// Reads what it shows and no more.
    pub(crate) fn show(
        &self,
        source: &impl NodeSource,
        limit: usize,
        mut show: impl FnMut(&Item<'_>),
    ) -> Result<(), RecordError> {
        let Some((object, tag)) = &self.folder else { return Ok(()) };
        let mut room = limit;
        visible(source, *object, tag, &mut |entry| {
            if room == 0 {
                return Ok(false);
            }
            room -= 1;
            let bytes = bytes_of(source, entry)?;
            let name = entry.name.as_str();
            let is_folder = entry.what == What::Folder;
            show(&Item { folder: None, name, is_folder, bytes });
            if !is_folder {
                return Ok(true);
            }
            visible(source, entry.id, &entry.tag, &mut |below| {
                if room == 0 {
                    return Ok(false);
                }
                room -= 1;
                let bytes = bytes_of(source, below)?;
                let is_folder = below.what == What::Folder;
                show(&Item { folder: Some(name), name: below.name.as_str(), is_folder, bytes });
                Ok(true)
            })?;
            Ok(true)
        })
    }

    /// Visits all entries of the folder itself, hidden ones too.
    pub(crate) fn entries(
        &self,
        source: &impl NodeSource,
        mut visit: impl FnMut(&Entry, u64),
    ) -> Result<(), RecordError> {
        let Some((object, tag)) = &self.folder else { return Ok(()) };
        let head = load_folder(source, *object, tag)?;
        head.body.visit(source, *object, 0, &mut |_, leaf: &Entries| {
            for entry in &leaf.0 {
                let bytes = match entry.what {
                    What::File(info) => info.bytes,
                    What::Folder => load_folder(source, entry.id, &entry.tag)?.totals.bytes,
                };
                visit(entry, bytes);
            }
            Ok(true)
        })
    }
}

fn visible(
    source: &impl NodeSource,
    object: ObjectId,
    tag: &Tag,
    visit: &mut impl FnMut(&Entry) -> Result<bool, RecordError>,
) -> Result<(), RecordError> {
    let head = load_folder(source, object, tag)?;
    head.body.visit(source, object, 0, &mut |_, leaf: &Entries| {
        for entry in leaf.0.iter().filter(|entry| !is_hidden(entry.name.as_str())) {
            if !visit(entry)? {
                return Ok(false);
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
