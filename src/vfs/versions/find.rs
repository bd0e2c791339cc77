//! Finds files and their texts: the text of a version, wherever it is by now, and the place of a file.
//!
//! A text is in the history, inside a deleted folder, or in the tree.

use std::collections::HashSet;
use std::ops::Range;

use inmost_format::record::history::{Before, OldHead, Operation, Version};
use inmost_format::record::node::{Child, Entries, Entry, FileInfo, Root, What};
use inmost_format::record::{NodeSource, ObjectId, Tag, load_file, load_folder, read_text};
use inmost_format::secret::{self, Wiped};

use super::entries::{Found, Past, below, is_damage, moved, path_of};
use crate::session::history::expired_before;
use crate::session::{Open, ReadAhead, Scope, Txn};
use crate::vfs::error::FileError;
use crate::vfs::file::FileView;
use crate::vfs::file_text::FileText;
use crate::vfs::folder::ResolvedPath;
use crate::vfs::path::MemoryPath;

/// Where the text of a version is.
pub(super) enum Place {
    /// It is the current text of the file at this path.
    Current(Wiped<String>),
    /// An entry holds the head.
    Head(OldHead),
    /// An entry holds the whole file.
    Object(Entry),
    /// An entry holds a deleted folder; the path leads on from it.
    Inside(Entry, Wiped<String>),
}

/// A version that was found.
pub(super) struct Located {
    pub(super) place: Place,
    /// The entry that holds the text.
    pub(super) holder: Option<u64>,
    /// The later versions up to the holder that have the same text, because they only moved the file.
    pub(super) same_text: Vec<u64>,
}

/// The text of a version.
///
/// # Errors
/// Those of [`History::text`](crate::History::text).
pub(crate) fn text(open: &Open, number: u64) -> Result<FileText, FileError> {
    let from = expired_before(open, open.root());
    let source = ReadAhead::new(open, Scope::ALL);
    let past = Past::open(&source, open.root(), from)?.ok_or(FileError::NoSuchVersion(number))?;
    let located = locate(&past, number)?;
    Ok(read(&past, number, &located.place)?.into())
}

/// Reads the text at a place.
pub(super) fn read<S: NodeSource>(
    past: &Past<'_, S>,
    number: u64,
    place: &Place,
) -> Result<Wiped<String>, FileError> {
    let source = past.source;
    match place {
        Place::Head(old) => {
            let head = load_file(source, old.id(), &old.tag)?;
            Ok(read_text(source, old.object, &head.body)?)
        }
        Place::Object(entry) => Ok(FileView::of_entry(source, entry.clone())?.read()?),
        Place::Current(path) => {
            let (entry, _) = current(past, path)?.ok_or(FileError::VersionGone(number))?;
            Ok(FileView::of_entry(source, entry)?.read()?)
        }
        Place::Inside(folder, path) => {
            let (entry, _) = inside(past, folder, path)?.ok_or(FileError::VersionGone(number))?;
            Ok(FileView::of_entry(source, entry)?.read()?)
        }
    }
}

/// Finds the text of a version by following the file forward from its entry.
///
/// If the entry of the version is gone, expired ones may follow. Renames among them are followed all the same; the texts that
/// they hold are gone.
pub(super) fn locate<S: NodeSource>(past: &Past<'_, S>, number: u64) -> Result<Located, FileError> {
    // No change has the number 0, but it stands for the version before the first.
    if number == 0 {
        return Err(FileError::NoSuchVersion(number));
    }
    let entry = past.entry(number)?;
    if let Some(entry) = &entry {
        match entry.operation {
            _ if entry.file == 0 => return Err(folder_error(entry, number)),
            Operation::Deleted | Operation::Expired => return Err(FileError::VersionGone(number)),
            _ => {}
        }
    }
    let mut walk = Walk::from(number, entry.as_ref());
    // The tree says which version a file has. After a repair it may be older than the history.
    let is_current = match walk.is_current(past) {
        Err(error) if is_damage(&error) => false,
        is_current => is_current?,
    };
    if let Some(path) = walk.path.take_if(|_| is_current) {
        return Ok(Located { place: Place::Current(path), holder: None, same_text: Vec::new() });
    }
    let mut held = None;
    past.visit_with_expired(number.saturating_add(1), &mut |found| {
        held = walk.meet(past, &found)?;
        Ok(held.is_none())
    })?;
    if let Some((place, holder)) = held {
        return Ok(Located { place, holder: Some(holder), same_text: walk.same_text });
    }
    let path = walk.current_path(past)?;
    Ok(Located { place: Place::Current(path), holder: None, same_text: walk.same_text })
}

fn folder_error(entry: &Version, number: u64) -> FileError {
    // A note of what was forgotten.
    if entry.path.as_str().is_empty() {
        return FileError::VersionGone(number);
    }
    FileError::IsAFolder(entry.path.as_str().to_owned().into())
}

/// The way of one file through the history.
pub(super) struct Walk {
    pub(super) number: u64,
    /// `None` until an entry names it, if its own entry is gone.
    pub(super) file: Option<u64>,
    /// The newest version with the same text.
    pub(super) version: u64,
    path: Option<Wiped<String>>,
    /// The change that brings back the deleted folder in which the file is. Until then its path belongs to others.
    away_until: u64,
    same_text: Vec<u64>,
    /// Entries on the way that are lost. They may have moved the file, or have ended its text.
    lost: Option<Lost>,
}

/// Entries that are lost.
enum Lost {
    /// Those at these positions cannot be read.
    Unreadable(Range<u64>),
    /// A repair left them out.
    Missing,
}

impl Walk {
    /// The way from a version, of which this is the entry if there is one.
    pub(super) fn from(number: u64, entry: Option<&Version>) -> Self {
        Self {
            number,
            file: entry.map(|entry| entry.file),
            version: number,
            path: entry.map(|entry| Wiped::new(entry.path.as_str().to_owned())),
            away_until: 0,
            same_text: Vec::new(),
            lost: None,
        }
    }

    /// Follows the file past what comes next in the history. Returns the place of the text, and the change that holds it, if
    /// this is where it is.
    pub(super) fn meet<S: NodeSource>(
        &mut self,
        past: &Past<'_, S>,
        found: &Found<'_>,
    ) -> Result<Option<(Place, u64)>, FileError> {
        let held = match found {
            Found::Entry(version) => self.step(past, version)?,
            Found::Lost(lost) => {
                self.lost = Some(Lost::Unreadable(lost.clone()));
                None
            }
            Found::Missing => {
                self.lost = self.lost.take().or(Some(Lost::Missing));
                None
            }
        };
        if let Some((Place::Inside(folder, path), _)) = &held {
            let found = inside(past, folder, path)?;
            if found.is_none_or(|(_, info)| info.version != self.version) {
                return Err(self.gone(past));
            }
        }
        Ok(held)
    }

    /// Whether the text is in the tree, at the path that the file has now.
    pub(super) fn is_current<S: NodeSource>(&self, past: &Past<'_, S>) -> Result<bool, FileError> {
        let Some(path) = &self.path else { return Ok(false) };
        Ok(current(past, path)?.is_some_and(|(_, info)| info.version == self.version))
    }

    /// Whether entries on the way are lost, or the path is not known, so that the text may be elsewhere.
    pub(super) fn is_uncertain(&self) -> bool {
        self.lost.is_some() || self.path.is_none()
    }

    /// The error for a text that is not found.
    pub(super) fn gone<S: NodeSource>(&self, past: &Past<'_, S>) -> FileError {
        match &self.lost {
            Some(Lost::Unreadable(lost)) => past.damage(lost),
            Some(Lost::Missing) | None => FileError::VersionGone(self.number),
        }
    }

    /// The path in the tree at which the text is, after all entries.
    fn current_path<S: NodeSource>(
        &mut self,
        past: &Past<'_, S>,
    ) -> Result<Wiped<String>, FileError> {
        if self.is_current(past)?
            && let Some(path) = self.path.take()
        {
            return Ok(path);
        }
        if self.path.is_none() && !matches!(self.lost, Some(Lost::Unreadable(_))) {
            return Err(FileError::NoSuchVersion(self.number));
        }
        if self.path.is_none() || !self.is_uncertain() {
            return Err(self.gone(past));
        }
        // An entry that is lost may have changed the path.
        match in_tree(past, self.file.unwrap_or_default())? {
            Some((path, info)) if info.version == self.version => Ok(path),
            _ => Err(self.gone(past)),
        }
    }

    /// Follows the file past an entry. Returns the place of the text if this entry holds it.
    fn step<S: NodeSource>(
        &mut self,
        past: &Past<'_, S>,
        entry: &Version,
    ) -> Result<Option<(Place, u64)>, FileError> {
        if entry.file == 0 {
            return self.past_folder(past, entry);
        }
        let is_next = entry.previous == self.version;
        let is_expired = past.is_expired(entry);
        if Some(entry.file) != self.file && !(self.file.is_none() && is_next && !is_expired) {
            return Ok(None);
        }
        self.file = Some(entry.file);
        match &entry.before {
            _ if is_next && is_expired && entry.operation != Operation::Renamed => {
                Err(FileError::VersionGone(self.number))
            }
            Before::Head(old) if is_next => Ok(Some((Place::Head(*old), entry.number))),
            Before::Object(object) if is_next => {
                Ok(Some((Place::Object(Entry::clone(object)), entry.number)))
            }
            // The text is the same from here on.
            Before::Restored(_) if is_next => {
                self.version = entry.number;
                Ok(None)
            }
            // Only a rename leaves the text as it is. A text that came back to another path is another one. Without its old path, the
            // version before the rename is forgotten.
            Before::Nothing
                if entry.operation == Operation::Renamed
                    && is_next
                    && !entry.old_path.as_str().is_empty() =>
            {
                self.version = entry.number;
                self.same_text.push(entry.number);
                self.path = Some(Wiped::new(entry.path.as_str().to_owned()));
                Ok(None)
            }
            Before::Nothing if is_next => Err(FileError::VersionGone(self.number)),
            // The change that ended the text cannot be read, or is gone.
            _ => Err(self.gone(past)),
        }
    }

    fn past_folder<S: NodeSource>(
        &mut self,
        past: &Past<'_, S>,
        entry: &Version,
    ) -> Result<Option<(Place, u64)>, FileError> {
        let Some(path) = &self.path else { return Ok(None) };
        if entry.number < self.away_until {
            return Ok(None);
        }
        match entry.operation {
            // What is at the old path of a folder that came back did not come with it.
            Operation::Restored if entry.number != self.away_until => Ok(None),
            Operation::Renamed | Operation::Restored if !entry.old_path.as_str().is_empty() => {
                if let Some(moved) = moved(path, entry.old_path.as_str(), entry.path.as_str()) {
                    self.path = Some(Wiped::new(moved));
                }
                Ok(None)
            }
            Operation::Deleted => {
                let Some(below) = below(path, entry.path.as_str()) else { return Ok(None) };
                match &entry.before {
                    Before::Object(folder) if !past.is_expired(entry) => {
                        let below = Wiped::new(below.to_owned());
                        Ok(Some((Place::Inside(Entry::clone(folder), below), entry.number)))
                    }
                    Before::Restored(by) => {
                        self.away_until = *by;
                        Ok(None)
                    }
                    Before::Object(_) | Before::Nothing => Err(self.gone(past)),
                    Before::Head(_) => Ok(None),
                }
            }
            _ => Ok(None),
        }
    }
}

/// Where a file is now.
pub(super) struct Now {
    pub(super) newest: Version,
    pub(super) path: Option<MemoryPath>,
    /// Whether it is in a folder that was deleted.
    pub(super) is_inside: bool,
}

/// Where the file of an entry is now.
///
/// Entries whose time is over count here. One of them may be the newest of a file that is in the tree, and the file would look
/// deleted. A restore to another path would then give its number to a second file.
/// Entries are removed from the oldest on, so the newest of a file is there as long as any of them. If entries after the newest
/// that can be read are lost, the tree says where the file is and which change was its last.
pub(super) fn now_of(txn: &Txn<'_>, file: u64, from: u64) -> Result<Now, FileError> {
    let root = txn.root()?;
    let past = &Past::open(txn, &root, 0)?.ok_or(FileError::NoSuchVersion(from))?;
    // Mostly the entry is the newest one, and the tree says so. All entries after it would be read for each step of an undo.
    if let Ok(Some(newest)) = past.entry(from)
        && let Ok(Some((_, info))) = current(past, newest.path.as_str())
        && (info.number, info.version) == (file, from)
    {
        let path = Some(path_of(&newest)?);
        return Ok(Now { newest, path, is_inside: false });
    }
    let (mut newest, is_uncertain) =
        past.newest_of(file, from)?.ok_or(FileError::NoSuchVersion(from))?;
    if is_uncertain {
        let Some((path, info)) = in_tree(past, file)? else {
            return Ok(Now { newest, path: None, is_inside: true });
        };
        newest.number = info.version;
        return Ok(Now { newest, path: Some(MemoryPath::parse(&path)?), is_inside: false });
    }
    if matches!(newest.operation, Operation::Deleted | Operation::Expired) {
        return Ok(Now { newest, path: None, is_inside: false });
    }
    let (path, is_inside) = match locate(past, newest.number) {
        Ok(located) => match located.place {
            Place::Current(path) => (Some(MemoryPath::parse(&path)?), false),
            Place::Inside(..) => (None, true),
            Place::Head(_) | Place::Object(_) => (None, false),
        },
        Err(FileError::VersionGone(_) | FileError::NoSuchVersion(_)) => (None, true),
        Err(error) => return Err(error),
    };
    Ok(Now { newest, path, is_inside })
}

/// The file at a path of the tree.
fn current<S: NodeSource>(
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
    let tree = Child { id: folder.id, tag: folder.tag };
    Some((Root { tree, ..root.clone() }, MemoryPath::parse(&path_in_tree(below)).ok()?))
}

fn file_at<S: NodeSource>(
    source: &S,
    root: &Root,
    path: &MemoryPath,
) -> Result<Option<(Entry, FileInfo)>, FileError> {
    let target = ResolvedPath::new(source, root, path)?.target;
    Ok(target.file().map(|(entry, info)| (entry.clone(), info)))
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
/// folder.
fn find<S: NodeSource>(
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
    let mut reached = HashSet::new();
    let mut folders = vec![(folder, Wiped::new(String::new()))];
    let mut goes_on = true;
    while let Some(((object, tag), path)) = folders.pop().filter(|_| goes_on) {
        if !reached.insert(object) {
            continue;
        }
        let head = load_folder(source, object, &tag)?;
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
