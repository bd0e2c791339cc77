//! Finds what is to be forgotten: the files that are or were at or below a path, with the folders that held nothing else.

use std::collections::{BTreeSet, HashMap, HashSet};

use inmost_format::record::history::{Before, Operation, Version};
use inmost_format::record::{ObjectId, Tag};
use inmost_format::secret::{self, Wiped};

use super::entries::{below, moved};
use super::find::visit_files;
use super::forget::{Part, is_note};
use crate::session::{StoreError, Txn};
use crate::vfs::error::FileError;
use crate::vfs::path::MemoryPath;

/// Follows all files through the history, in order of the changes.
pub(super) struct Search<'p> {
    path: Option<&'p str>,
    /// The number of the last version to be forgotten.
    pub(super) until: u64,
    /// The path of each file, as far as the history has been read.
    pub(super) paths: HashMap<u64, Wiped<String>>,
    /// The files in deleted folders, with the change that brings the folder back. Their paths belong to others meanwhile.
    away: HashMap<u64, u64>,
    /// The files that were deleted by themselves. Their paths belong to others until they come back.
    deleted: HashSet<u64>,
    /// Files that are or were at or below the path.
    pub(super) files: BTreeSet<u64>,
    /// Entries of folders at or below the path, or of folders with such files alone.
    folders: BTreeSet<u64>,
    /// The other entries of folders, with the files that they moved or deleted.
    others: HashMap<u64, Vec<u64>>,
    /// What deleted folders hold of it: the entry, the file, and the path below its folder.
    pub(super) inside: Vec<(u64, u64, Wiped<String>)>,
    /// The folders that entries hold.
    held: Vec<Held>,
    /// The moves of folders.
    moves: Vec<Move>,
    /// Paths that entries after the last version to be forgotten name.
    named: Vec<Wiped<String>>,
    /// The entries of folders whose old path an earlier one of these entries names.
    keeps_path: HashSet<u64>,
    /// The files of which a later entry was met.
    is_cut: HashSet<u64>,
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

impl<'p> Search<'p> {
    pub(super) fn new(path: &'p MemoryPath, until: u64) -> Self {
        Self { path: Some(path.as_str()), ..Self::of_files(BTreeSet::new(), until) }
    }

    /// Seeks these files alone.
    pub(super) fn of_files(files: BTreeSet<u64>, until: u64) -> Self {
        Self {
            path: None,
            until,
            paths: HashMap::new(),
            away: HashMap::new(),
            deleted: HashSet::new(),
            files,
            folders: BTreeSet::new(),
            others: HashMap::new(),
            inside: Vec::new(),
            held: Vec::new(),
            moves: Vec::new(),
            named: Vec::new(),
            keeps_path: HashSet::new(),
            is_cut: HashSet::new(),
        }
    }

    /// Whether an entry is of what is sought.
    pub(super) fn concerns(&self, version: &Version) -> bool {
        let is_found = self.files.contains(&version.file) || self.folders.contains(&version.number);
        is_found && !is_note(version)
    }

    /// What a later entry than the last version to be forgotten loses.
    pub(super) fn cut(&mut self, version: &Version) -> Option<Part> {
        if version.file == 0 {
            let loses =
                !version.old_path.as_str().is_empty() && !self.keeps_path.contains(&version.number);
            return loses.then_some(Part::OldPath);
        }
        let is_first = self.is_cut.insert(version.file);
        let had_text = version.previous > 0 && version.previous <= self.until;
        (is_first && had_text).then_some(Part::Before)
    }

    pub(super) fn step(&mut self, version: &Version) {
        let (new, old) = (version.path.as_str(), version.old_path.as_str());
        let at = self.path;
        let is_below = |path: &str| is_below(path, at);
        let is_later = version.number > self.until;
        if version.file != 0 {
            let start = if old.is_empty() { new } else { old };
            let is_known = self.paths.contains_key(&version.file);
            if version.file <= self.until
                && (is_below(new)
                    || is_below(old)
                    || !is_known && self.was_below(start, version.file, version.number))
            {
                self.files.insert(version.file);
            }
            self.away.remove(&version.file);
            if matches!(version.operation, Operation::Deleted | Operation::Expired) {
                self.deleted.insert(version.file);
            } else {
                self.deleted.remove(&version.file);
            }
            self.paths.insert(version.file, Wiped::new(new.to_owned()));
            if is_later {
                self.named.push(Wiped::new(new.to_owned()));
            }
            return;
        }
        if is_below(new) || is_below(old) {
            self.folders.insert(version.number);
        }
        if is_later {
            if self.named.iter().any(|path| below(path, old).is_some()) {
                self.keeps_path.insert(version.number);
            }
            self.named.push(Wiped::new(new.to_owned()));
        }
        let mut concerned = Vec::new();
        match version.operation {
            Operation::Deleted => {
                let back = if let Before::Restored(by) = version.before { by } else { u64::MAX };
                for (file, path) in &self.paths {
                    let is_there = below(path, new).is_some() && !self.deleted.contains(file);
                    if is_there && !self.away.contains_key(file) {
                        self.away.insert(*file, back);
                        concerned.push(*file);
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
                        if is_below(&there) && *file <= self.until {
                            self.files.insert(*file);
                        }
                        *path = Wiped::new(there);
                        concerned.push(*file);
                    }
                }
            }
        }
        self.others.insert(version.number, concerned);
    }

    /// Adds the entries of folders that moved or deleted nothing but what is found: they have its earlier and later names.
    pub(super) fn add_folders_of_files(&mut self) {
        for (number, files) in &self.others {
            if !files.is_empty() && files.iter().all(|file| self.files.contains(file)) {
                self.folders.insert(*number);
            }
        }
    }

    /// Whether this is the path or below it.
    fn is_below(&self, path: &str) -> bool {
        is_below(path, self.path)
    }

    /// Whether a file that had this path before a change was at or below the path earlier, in a folder that moved.
    fn was_below(&self, path: &str, file: u64, before: u64) -> bool {
        let mut path = Wiped::new(path.to_owned());
        // The number of a file is that of the change that made it.
        let earlier = self.moves.iter().rev().skip_while(|moves| moves.number >= before);
        for Move { old, new, .. } in earlier.take_while(|moves| moves.number > file) {
            if let Some(there) = moved(&path, new, old) {
                path = Wiped::new(there);
                if self.is_below(&path) {
                    return true;
                }
            }
        }
        false
    }

    /// Finds the files in deleted folders: they may have come there from the path. Returns the damage, if a folder cannot be
    /// read.
    pub(super) fn look_inside(&mut self, txn: &Txn<'_>) -> Result<Option<FileError>, FileError> {
        let mut damage = None;
        for held in std::mem::take(&mut self.held) {
            let is_direct = self.folders.contains(&held.number);
            let goes = is_direct && held.number <= self.until;
            let (mut found, mut all) = (Vec::new(), Vec::new());
            let visited = visit_files(txn, held.folder, &mut |below, info| {
                let path = secret::format(format_args!("{}{}", &*held.path, &*below));
                let is_known = self.paths.contains_key(&info.number);
                // The path lies in the folder, which stays for what else is in it. The entries of the file go too: they may hold
                // older heads of it.
                let is_there = self.is_below(&path);
                let was_there =
                    is_there || !is_known && self.was_below(&path, info.number, held.number);
                if info.number <= self.until && (is_direct || was_there) {
                    self.files.insert(info.number);
                }
                if !goes && self.files.contains(&info.number) && info.version <= self.until {
                    found.push((held.number, info.number, below));
                }
                all.push(info.number);
                true
            });
            match visited {
                Err(error @ FileError::Store(StoreError::Tampered { .. })) => {
                    damage = Some(error);
                    // The path itself may still lead to it.
                    let below = self.path.and_then(|path| below(path, &held.path));
                    let below = below.filter(|_| !goes);
                    found.extend(below.map(|it| (held.number, 0, Wiped::new(it.to_owned()))));
                    self.others.remove(&held.number);
                }
                visited => {
                    visited?;
                    self.others.insert(held.number, all);
                }
            }
            self.inside.append(&mut found);
        }
        Ok(damage)
    }
}

fn is_below(path: &str, at: Option<&str>) -> bool {
    at.is_some_and(|at| below(path, at).is_some())
}
