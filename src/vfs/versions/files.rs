//! Finds files in the tree, and in the folders that entries hold.

use std::collections::HashSet;

use super::past::Past;
use crate::vfs::error::FileError;
use crate::vfs::folder::{ResolvedPath, Target};
use crate::vfs::path::MemoryPath;
use inmost_format::record::node::{Child, Entries, Entry, FileInfo, Root, What};
use inmost_format::record::{NodeSource, ObjectId, RecordError, Tag, load_folder};
use inmost_format::secret::{self, Wiped};

/// The file at a path of the tree.
pub(super) fn current<S: NodeSource>(
    past: &Past<'_, S>,
    path: &str,
) -> Result<Option<(Entry, FileInfo)>, FileError> {
    let Ok(path) = MemoryPath::parse(path) else { return Ok(None) };
    file_at(past.source, past.root, &path)
}

/// The file at a path inside a folder that an entry holds.
pub(super) fn inside<S: NodeSource>(
    past: &Past<'_, S>,
    folder: &Entry,
    below: &str,
) -> Result<Option<(Entry, FileInfo)>, FileError> {
    let Some((root, path)) = inside_path(past.root, folder, below) else { return Ok(None) };
    file_at(past.source, &root, &path)
}

/// A root whose tree is the folder of an entry, and a path in it.
pub(super) fn inside_path(root: &Root, folder: &Entry, below: &str) -> Option<(Root, MemoryPath)> {
    let mut path = Wiped::new(String::with_capacity(ROOT.len() + below.len()));
    path.push_str(ROOT);
    path.push_str(below);
    let tree = Child { id: folder.id, tag: folder.tag };
    Some((Root { tree, ..root.clone() }, MemoryPath::parse(&path).ok()?))
}

fn file_at<S: NodeSource>(
    source: &S,
    root: &Root,
    path: &MemoryPath,
) -> Result<Option<(Entry, FileInfo)>, FileError> {
    match ResolvedPath::new(source, root, path)?.target {
        Target::Entry(entry) => match entry.what {
            What::File(info) => Ok(Some((entry, info))),
            What::Folder => Ok(None),
        },
        Target::Root(_) | Target::Missing { .. } => Ok(None),
    }
}

/// A file of the tree, found by its number. Reads all folders.
pub(super) fn in_tree<S: NodeSource>(
    past: &Past<'_, S>,
    number: u64,
) -> Result<Option<(Wiped<String>, FileInfo)>, FileError> {
    let tree = (past.root.tree.id, past.root.tree.tag);
    let found = find(past.source, tree, number)?;
    Ok(found.map(|(below, info)| (path_in_tree(&below), info)))
}

/// The path in the memory of `below`, a path relative to the root folder that begins with `/`.
pub(super) fn path_in_tree(below: &str) -> Wiped<String> {
    secret::format(format_args!("{ROOT}{below}"))
}

/// A file below a folder, found by its number: its path, with the first `/`, and what the folder says of it. Reads the whole
/// folder: only where a path was redacted or is not known.
pub(super) fn find<S: NodeSource>(
    source: &S,
    folder: (ObjectId, Tag),
    number: u64,
) -> Result<Option<(Wiped<String>, FileInfo)>, FileError> {
    let mut found = None;
    visit_files(source, folder, &mut |path, info| {
        if info.number == number {
            found = Some((path, info));
            return false;
        }
        true
    })?;
    Ok(found)
}

/// Visits the files below a folder with their paths, which begin with `/`, until the visitor returns `false`.
pub(super) fn visit_files<S: NodeSource>(
    source: &S,
    folder: (ObjectId, Tag),
    visitor: &mut dyn FnMut(Wiped<String>, FileInfo) -> bool,
) -> Result<(), FileError> {
    visit(source, folder, false, visitor)
}

/// As [`visit_files`], but for the files in folders that cannot be read: nobody can read those files either.
///
/// # Errors
/// A damaged part of a folder whose head can be read.
pub(super) fn visit_readable<S: NodeSource>(
    source: &S,
    folder: (ObjectId, Tag),
    visitor: &mut dyn FnMut(FileInfo),
) -> Result<(), FileError> {
    visit(source, folder, true, &mut |_, info| {
        visitor(info);
        true
    })
}

fn visit<S: NodeSource>(
    source: &S,
    folder: (ObjectId, Tag),
    skips_unreadable: bool,
    visitor: &mut dyn FnMut(Wiped<String>, FileInfo) -> bool,
) -> Result<(), FileError> {
    let mut reached = HashSet::new();
    let mut folders = vec![(folder, Wiped::new(String::new()))];
    let mut goes_on = true;
    while let Some(((object, tag), path)) = folders.pop().filter(|_| goes_on) {
        if !reached.insert(object) {
            continue;
        }
        let head = match load_folder(source, object, &tag) {
            Err(RecordError::Damaged { .. }) if skips_unreadable => continue,
            head => head?,
        };
        head.body.visit::<FileError>(source, object, 0, &mut |_, leaf: &Entries| {
            for entry in &leaf.0 {
                let below = secret::format(format_args!("{}/{}", &*path, entry.name.as_str()));
                match entry.what {
                    What::File(info) => goes_on = goes_on && visitor(below, info),
                    What::Folder => folders.push(((entry.id, entry.tag), below)),
                }
            }
            Ok(goes_on)
        })?;
    }
    Ok(())
}

const ROOT: &str = "/memories";
