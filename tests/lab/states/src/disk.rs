//! A model of a file system like ext4 with `data=ordered`: what of a recorded run is on the disk for sure, and what may be.
//!
//! Metadata (names, set lengths) is a sequence that survives as a prefix. A completed sync of a file makes the writes
//! durable that came before its start. It commits the sequence up to its start only if it has to: the file is new, has
//! got blocks or another length, or is a folder whose names changed. `sync_file_range` makes nothing durable.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use crate::content::{Content, PAGE};
use crate::log::{Event, Number};

/// Paths of files and folders, below the recorded folder.
pub type Names = BTreeMap<String, Number>;

#[derive(Default)]
pub struct Disk {
    stable_names: Names,
    names: Names,
    /// Changes of names after the committed ones, each with its number in the sequence.
    renamings: Vec<(u64, Renaming)>,
    /// Changes of metadata so far, and how many of them are committed.
    pub issued: u64,
    pub committed: u64,
    files: HashMap<Number, Inode>,
    syncs: HashMap<u64, Sync>,
    /// The number of the next event.
    pub at: usize,
}

enum Renaming {
    Add(String, Number),
    Remove(String),
    Move(String, String),
}

#[derive(Default)]
pub struct Inode {
    is_folder: bool,
    /// What is on the disk for sure.
    pub stable: Content,
    /// What came after that, oldest first.
    pub pending: Vec<Change>,
    /// Changes that have left `pending`.
    settled: usize,
    length: u64,
    /// The last change of metadata that a sync of this file commits.
    last_metadata: u64,
}

pub struct Change {
    /// The number of its event.
    pub at: usize,
    /// Changes of metadata issued before this one.
    pub before: u64,
    pub what: What,
}

pub enum What {
    /// Needs a commit if it fills a page without a block. `metadata` is the number of the new length if the file becomes
    /// longer within a block that it has.
    Write {
        offset: u64,
        bytes: Range<usize>,
        allocates: bool,
        metadata: Option<u64>,
    },
    SetLength {
        length: u64,
        metadata: u64,
    },
}

struct Sync {
    file: Number,
    changes: usize,
    /// The metadata that it commits.
    commits: u64,
}

impl Disk {
    /// A disk on which everything is durable.
    pub fn of(tree: Vec<(String, Number, Option<Content>)>) -> Self {
        let mut disk = Self::default();
        for (path, number, content) in tree {
            let is_folder = content.is_none();
            let stable = content.unwrap_or_default();
            let length = stable.length;
            disk.files.insert(number, Inode { is_folder, stable, length, ..Inode::default() });
            if path != "." {
                disk.stable_names.insert(path, number);
            } else {
                disk.stable_names.insert(String::new(), number);
            }
        }
        disk.names = disk.stable_names.clone();
        disk
    }

    pub fn apply(&mut self, event: &Event, log: &[u8]) {
        match event {
            Event::Create { file, path } | Event::CreateFolder { file, path } => {
                let is_folder = matches!(event, Event::CreateFolder { .. });
                self.issued += 1;
                let inode = Inode { is_folder, last_metadata: self.issued, ..Inode::default() };
                self.files.insert(*file, inode);
                self.rename(Renaming::Add(path.clone(), *file));
            }
            Event::Link { from, to } => {
                let file = self.names[from];
                self.rename(Renaming::Add(to.clone(), file));
            }
            Event::Rename { from, to } => self.rename(Renaming::Move(from.clone(), to.clone())),
            Event::Remove { path } => self.rename(Renaming::Remove(path.clone())),
            Event::Write { file, offset, bytes } => self.write(*file, *offset, bytes.clone()),
            Event::SetLength { file, length } => {
                let before = self.issued;
                self.issued += 1;
                let what = What::SetLength { length: *length, metadata: self.issued };
                let inode = self.files.get_mut(file).expect("a known file");
                inode.last_metadata = self.issued;
                inode.length = *length;
                inode.pending.push(Change { at: self.at, before, what });
            }
            Event::SyncBegins { file, sync } => {
                let inode = &self.files[file];
                let commits = inode.last_metadata > self.committed
                    || inode
                        .pending
                        .iter()
                        .any(|it| matches!(it.what, What::Write { allocates: true, .. }));
                let commits = if commits { self.issued } else { 0 };
                let changes = inode.settled + inode.pending.len();
                self.syncs.insert(*sync, Sync { file: *file, changes, commits });
            }
            Event::SyncEnds { sync } => {
                let sync = self.syncs.remove(sync).expect("a sync that began");
                self.settle(&sync, log);
            }
            Event::Acknowledge { .. } | Event::Kill => {}
        }
        self.at += 1;
    }

    fn write(&mut self, file: Number, offset: u64, bytes: Range<usize>) {
        let before = self.issued;
        let inode = self.files.get_mut(&file).expect("a known file");
        let end = offset + bytes.len() as u64;
        let allocates = (offset / PAGE..end.div_ceil(PAGE)).any(|it| !inode.stable.has_page(it));
        let mut metadata = None;
        if end > inode.length {
            if inode.stable.has_page(inode.length / PAGE) {
                self.issued += 1;
                inode.last_metadata = self.issued;
                metadata = Some(self.issued);
            }
            inode.length = end;
        }
        let what = What::Write { offset, bytes, allocates, metadata };
        inode.pending.push(Change { at: self.at, before, what });
    }

    fn rename(&mut self, renaming: Renaming) {
        self.issued += 1;
        let paths = match &renaming {
            Renaming::Add(path, _) | Renaming::Remove(path) => vec![path],
            Renaming::Move(from, to) => vec![from, to],
        };
        for path in paths {
            let parent = path.rsplit_once('/').map_or("", |it| it.0);
            let parent = self.files.get_mut(&self.names[parent]).expect("a known folder");
            parent.last_metadata = self.issued;
        }
        renaming.make_in(&mut self.names);
        self.renamings.push((self.issued, renaming));
    }

    fn settle(&mut self, sync: &Sync, log: &[u8]) {
        // The number may belong to another file by now.
        if let Some(inode) = self.files.get_mut(&sync.file) {
            let count = sync.changes.saturating_sub(inode.settled).min(inode.pending.len());
            inode.settled += count;
            for change in inode.pending.drain(..count) {
                match change.what {
                    What::Write { offset, bytes, .. } => inode.stable.write(offset, &log[bytes]),
                    What::SetLength { length, .. } => inode.stable.set_length(length),
                }
            }
        }
        if sync.commits > self.committed {
            self.committed = sync.commits;
            let count = self.renamings.partition_point(|it| it.0 <= self.committed);
            for (_, renaming) in self.renamings.drain(..count) {
                renaming.make_in(&mut self.stable_names);
            }
        }
    }

    /// The names after so many changes of metadata, which must be those committed at least.
    pub fn names_at(&self, metadata: u64) -> Names {
        let mut names = self.stable_names.clone();
        let kept = self.renamings.iter().take_while(|it| it.0 <= metadata);
        kept.for_each(|(_, renaming)| renaming.make_in(&mut names));
        names.remove("");
        names
    }

    /// Returns `None` for a folder.
    pub fn file(&self, file: Number) -> Option<&Inode> {
        Some(&self.files[&file]).filter(|it| !it.is_folder)
    }

    /// Changes of files that are not durable.
    pub fn pending(&self) -> usize {
        self.files.values().map(|it| it.pending.len()).sum()
    }
}

impl Renaming {
    fn make_in(&self, names: &mut Names) {
        match self {
            Self::Add(path, file) => {
                names.insert(path.clone(), *file);
            }
            Self::Remove(path) => {
                names.remove(path);
            }
            Self::Move(from, to) => {
                let below = format!("{from}/");
                let moved: Names = names
                    .extract_if(.., |path, _| path == from || path.starts_with(&below))
                    .collect();
                for (path, file) in moved {
                    names.insert(format!("{to}{}", &path[from.len()..]), file);
                }
            }
        }
    }
}
