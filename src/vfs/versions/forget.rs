//! Forgets versions: nothing of them stays that can be read.

use std::collections::{BTreeSet, HashMap, HashSet};

use inmost_format::record::history::{Before, Operation, Version};
use inmost_format::record::node::{File, FileInfo, What};
use inmost_format::record::{NodeSink, ObjectId, RecordId, Tag, load_file};
use inmost_format::secret::{self, Wiped};

use super::files::{path_in_tree, visit_files};
use super::past::{Past, below, moved};
use super::rests;
use super::set_aside;
use crate::session::history;
use crate::session::{Exclusive, Session, StoreError, Txn};
use crate::vfs::error::FileError;
use crate::vfs::folder::{self, ResolvedPath, Target};
use crate::vfs::path::MemoryPath;

/// Forgets what is or was at or below a path. Returns the number of entries removed.
///
/// # Errors
/// Those of [`History::forget`](crate::History::forget).
pub(crate) fn forget(
    session: &Session,
    path: &MemoryPath,
    progress: &mut dyn FnMut(u64),
) -> Result<u64, FileError> {
    session.undisturbed(|exclusive| forget_in(exclusive, path, progress))
}

/// As [`forget`], as a part of several steps.
pub(super) fn forget_in(
    exclusive: &mut Exclusive<'_>,
    path: &MemoryPath,
    progress: &mut dyn FnMut(u64),
) -> Result<u64, FileError> {
    let found = exclusive.commit(|txn| Found::search(txn, path))?;
    // First the files that stay. After a crash they would not be found again without their entries.
    for path in found.live.values() {
        exclusive.commit(|txn| renew(txn, path))?;
    }
    let mut removed = 0_u64;
    // What deleted folders hold comes before the entries, too: only they say that it was at the path. Its records go after them,
    // because entries may hold older heads that share them.
    for (holder, below) in &found.inside {
        exclusive.commit(|txn| set_aside::take_inside(txn, *holder, below))?;
    }
    for numbers in steps(&found.entries) {
        exclusive.commit(|txn| remove(txn, &numbers))?;
        exclusive.reap()?;
        removed = removed.saturating_add(u64::try_from(numbers.len()).unwrap_or(u64::MAX));
        progress(removed);
    }
    rests::remove(exclusive)?;
    found.damage.map_or(Ok(removed), Err)
}

/// What is to be forgotten.
struct Found {
    /// The numbers of the entries, and how many records each has retired.
    entries: Vec<(u64, usize)>,
    /// The paths of the files that stay in the tree, by their numbers.
    live: HashMap<u64, MemoryPath>,
    /// What deleted folders hold of it: the entry, and the path below its folder.
    inside: Vec<(u64, Wiped<String>)>,
    /// A deleted folder or a part of the history cannot be read, so that something may be left.
    damage: Option<FileError>,
}

/// Follows all files through the history, in order of the changes.
struct Search<'p> {
    path: &'p str,
    /// The path of each file, as far as the history has been read.
    paths: HashMap<u64, Wiped<String>>,
    /// The files in deleted folders, with the change that brings the folder back. Their paths belong to others meanwhile.
    away: HashMap<u64, u64>,
    /// The files that were deleted by themselves. Their paths belong to others until they come back.
    deleted: HashSet<u64>,
    /// Files that are or were at or below the path.
    files: BTreeSet<u64>,
    /// Entries of folders at or below the path.
    folders: BTreeSet<u64>,
    inside: Vec<(u64, Wiped<String>)>,
    /// The folders that entries hold.
    held: Vec<Held>,
    /// The moves of folders.
    moves: Vec<Move>,
}

/// A deleted folder.
struct Held {
    number: u64,
    path: Wiped<String>,
    folder: (ObjectId, Tag),
}

/// A change that moved a folder.
struct Move {
    number: u64,
    old: Wiped<String>,
    new: Wiped<String>,
}

impl Found {
    fn search(txn: &Txn<'_>, path: &MemoryPath) -> Result<Self, FileError> {
        let (live, inside) = (HashMap::new(), Vec::new());
        let nothing = Self { entries: Vec::new(), live, inside, damage: None };
        let root = txn.root()?;
        // Entries whose time is over but that were not removed yet are forgotten too.
        let Some(past) = Past::open(txn, &root, 0)? else { return Ok(nothing) };
        let mut search = Search {
            path: path.as_str(),
            paths: HashMap::new(),
            away: HashMap::new(),
            deleted: HashSet::new(),
            files: BTreeSet::new(),
            folders: BTreeSet::new(),
            inside: Vec::new(),
            held: Vec::new(),
            moves: Vec::new(),
        };
        let (is_lost, unread) = past.visit_readable(&mut |version| search.step(version))?;
        let is_all = path.is_root();
        // There the entries go with all that they hold.
        let mut damage = if is_all { None } else { search.look_inside(txn)? }.or(unread);
        let Search { paths, files, folders, inside, .. } = search;
        let mut entries = Vec::new();
        past.visit_readable(&mut |version| {
            let is_wanted = match version.operation {
                // What a repair must leave out stays, unless a rewrite removes the records too.
                Operation::Forgotten => false,
                _ => is_all || files.contains(&version.file) || folders.contains(&version.number),
            };
            if is_wanted {
                entries.push((version.number, version.retired.len()));
            }
        })?;
        let mut live = HashMap::new();
        for file in &files {
            let Some(path) = paths.get(file).and_then(|path| MemoryPath::parse(path).ok()) else {
                continue;
            };
            if let Target::Entry(entry) = ResolvedPath::new(txn, &root, &path)?.target
                && let What::File(info) = entry.what
                && info.number == *file
            {
                live.insert(*file, path);
            }
        }
        if is_lost && files.iter().any(|file| !live.contains_key(file)) {
            // A lost entry may have moved them.
            let visited = visit_files(txn, (root.tree.id, root.tree.tag), &mut |below, info| {
                if files.contains(&info.number)
                    && let Ok(path) = MemoryPath::parse(&path_in_tree(&below))
                {
                    live.insert(info.number, path);
                }
                true
            });
            match visited {
                Err(error @ FileError::Store(StoreError::Tampered { .. })) => damage = Some(error),
                visited => visited?,
            }
        }
        Ok(Self { entries, live, inside, damage })
    }
}

impl Search<'_> {
    fn step(&mut self, version: &Version) {
        let (new, old) = (version.path.as_str(), version.old_path.as_str());
        let is_below = |path: &str| below(path, self.path).is_some();
        if version.file != 0 {
            let start = if old.is_empty() { new } else { old };
            let is_known = self.paths.contains_key(&version.file);
            if is_below(new)
                || is_below(old)
                || !is_known && self.was_below(start, version.file, version.number)
            {
                self.files.insert(version.file);
            }
            self.away.remove(&version.file);
            if matches!(version.operation, Operation::Deleted | Operation::Expired) {
                self.deleted.insert(version.file);
            } else {
                self.deleted.remove(&version.file);
            }
            if !new.is_empty() {
                self.paths.insert(version.file, Wiped::new(new.to_owned()));
            }
            return;
        }
        if is_below(new) || is_below(old) {
            self.folders.insert(version.number);
        }
        match version.operation {
            Operation::Deleted => {
                let back = if let Before::Restored(by) = version.before { by } else { u64::MAX };
                for (file, path) in &self.paths {
                    if below(path, new).is_some() && !self.deleted.contains(file) {
                        self.away.entry(*file).or_insert(back);
                    }
                }
                if let Before::Object(folder) = &version.before {
                    let (number, path) = (version.number, Wiped::new(new.to_owned()));
                    self.held.push(Held { number, path, folder: (folder.id, folder.tag) });
                }
            }
            _ if old.is_empty() => {}
            _ => {
                let (old_path, new_path) = (Wiped::new(old.to_owned()), Wiped::new(new.to_owned()));
                self.moves.push(Move { number: version.number, old: old_path, new: new_path });
                for (file, path) in &mut self.paths {
                    let back = self.away.get(file).copied();
                    let moves = match version.operation {
                        Operation::Restored => back == Some(version.number),
                        _ => back.is_none(),
                    };
                    if !moves || self.deleted.contains(file) {
                        continue;
                    }
                    self.away.remove(file);
                    if let Some(there) = moved(path, old, new) {
                        if is_below(&there) {
                            self.files.insert(*file);
                        }
                        *path = Wiped::new(there);
                    }
                }
            }
        }
    }
}

impl Search<'_> {
    /// Whether a file that had this path before a change was at or below the path earlier, in a folder that moved.
    fn was_below(&self, path: &str, file: u64, before: u64) -> bool {
        let mut path = Wiped::new(path.to_owned());
        // The number of a file is that of the change that made it.
        let earlier = self.moves.iter().rev().skip_while(|moves| moves.number >= before);
        for Move { old, new, .. } in earlier.take_while(|moves| moves.number > file) {
            if let Some(there) = moved(&path, new, old) {
                path = Wiped::new(there);
                if below(&path, self.path).is_some() {
                    return true;
                }
            }
        }
        false
    }

    /// Finds the files in deleted folders: they may have come there from the path. Returns the damage, if a folder cannot be
    /// read.
    fn look_inside(&mut self, txn: &Txn<'_>) -> Result<Option<FileError>, FileError> {
        let mut damage = None;
        for held in std::mem::take(&mut self.held) {
            if self.folders.contains(&held.number) {
                // The path of a file may have been redacted, so that nothing else says that it was in the folder.
                let visited = visit_files(txn, held.folder, &mut |_, info| {
                    self.files.insert(info.number);
                    true
                });
                if let Err(error) = visited {
                    damage = Some(error);
                }
                continue;
            }
            let mut found = Vec::new();
            let visited = visit_files(txn, held.folder, &mut |below, info| {
                let path = secret::format(format_args!("{}{}", &*held.path, &*below));
                let is_known = self.paths.contains_key(&info.number);
                // The path lies in the folder, which stays for what else is in it. The entries of the file go too: they may hold
                // older heads of it.
                let is_there = !held.path.is_empty() && self::below(&path, self.path).is_some();
                if is_there || !is_known && self.was_below(&path, info.number, held.number) {
                    self.files.insert(info.number);
                }
                if self.files.contains(&info.number) {
                    found.push((held.number, below));
                }
                true
            });
            self.inside.append(&mut found);
            match visited {
                Err(error @ FileError::Store(StoreError::Tampered { .. })) => {
                    damage = Some(error);
                    // The path itself may still lead to it.
                    let below = below(self.path, &held.path).filter(|_| !held.path.is_empty());
                    self.inside.extend(below.map(|it| (held.number, Wiped::new(it.to_owned()))));
                }
                visited => visited?,
            }
        }
        Ok(damage)
    }
}

/// Writes the head of a current file under another index, so that no repair shows an earlier head.
fn renew(txn: &mut Txn<'_>, path: &MemoryPath) -> Result<(), FileError> {
    let resolved = ResolvedPath::new(txn, &txn.root()?, path)?;
    let Target::Entry(entry) = &resolved.target else { return Ok(()) };
    let (entry, What::File(info)) = (entry.clone(), entry.what) else { return Ok(()) };
    let mut head = File::clone(&*load_file(txn, entry.head(), &entry.tag)?);
    head.next_index = head.next_index.saturating_add(1);
    let index = head.next_index;
    txn.remove(entry.head());
    txn.put(RecordId::file(entry.id, index), head.into());
    let what = What::File(FileInfo { head: index, lowest: index, ..info });
    Ok(folder::put(txn, path, &resolved, (entry.id, entry.tag), what)?)
}

/// Removes entries, and everything that they hold. Notes the objects, so that no repair brings them back.
fn remove(txn: &mut Txn<'_>, numbers: &[u64]) -> Result<(), FileError> {
    let Some((object, mut history)) = txn.history()? else { return Ok(()) };
    let mut dropped = Vec::new();
    for number in numbers {
        history.edit(txn, object, *number, |entry| {
            let held = std::mem::replace(&mut entry.before, Before::Nothing);
            dropped.push((held, std::mem::take(&mut entry.retired), entry.forgotten.clone()));
            false
        })?;
    }
    txn.set_history(object, history)?;
    let mut forgotten: Vec<ObjectId> = Vec::new();
    for (held, retired, noted) in dropped {
        if let Before::Object(entry) = &held {
            forgotten.push(entry.id);
        }
        forgotten.extend(noted);
        history::release(txn, held, &retired)?;
    }
    if !forgotten.is_empty() {
        txn.note_forgotten(forgotten, Before::Nothing)?;
    }
    Ok(())
}

/// Divides the entries into steps that change a bounded number of records.
fn steps(entries: &[(u64, usize)]) -> Vec<Vec<u64>> {
    let mut steps: Vec<(Vec<u64>, usize)> = Vec::new();
    for (number, retired) in entries {
        // A node of the history, the head, and a part of the system folder.
        let cost = retired.saturating_add(3);
        match steps.last_mut() {
            Some((numbers, used)) if used.saturating_add(cost) <= RECORDS_A_STEP => {
                numbers.push(*number);
                *used += cost;
            }
            _ => steps.push((vec![*number], cost)),
        }
    }
    steps.into_iter().map(|(numbers, _)| numbers).collect()
}

/// Records that one step changes, unless a single entry has more.
const RECORDS_A_STEP: usize = 20;
