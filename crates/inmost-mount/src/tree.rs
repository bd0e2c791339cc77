//! The tree of a mount: which inode is which file of the store, and what exists in memory only.
//!
//! Nothing here knows the requests of FUSE but their error numbers and attributes. Every method takes the whole tree, so requests
//! run one after the other.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsStr;
use std::sync::mpsc::Sender;
use std::time::SystemTime;

use fuser::{Errno, FileAttr, FileType, INodeNo};
use inmost::{EntryKind, FileError, Metadata};
use inmost_keyd::OpenStore;
use inmost_screen::SecretScreen;

use crate::buffer::now;
use crate::names::{self, ScratchNames};
use crate::node::{File, Node, What};
use crate::reads::Reads;
use crate::stores::{Room, Stores, errno, no_key};

/// The tree.
pub(crate) struct Tree {
    pub(crate) stores: Stores,
    pub(crate) root: String,
    pub(crate) scratch: ScratchNames,
    pub(crate) screen: Option<SecretScreen>,
    pub(crate) owner: (u32, u32),
    pub(crate) nodes: HashMap<u64, Node>,
    /// The inode at each path that is known.
    pub(crate) paths: BTreeMap<String, u64>,
    /// The inode of each file of the store that is known.
    pub(crate) numbers: HashMap<u64, u64>,
    /// Files of the store that were moved to a scratch name.
    pub(crate) away: HashMap<String, Away>,
    /// The version of a file that a process has read last: it may replace only that one.
    pub(crate) reads: Reads,
    pub(crate) times: HashMap<String, SystemTime>,
    pub(crate) next: u64,
    pub(crate) notices: Sender<Notice>,
    /// Requests to change something.
    pub(crate) changes: u64,
    /// The commit of the store that the kernel was told of last.
    pub(crate) followed: Option<u64>,
    /// When the tree was mounted: the time of a folder in which nothing has changed since.
    pub(crate) began: SystemTime,
}

/// A file of the store that was moved to a scratch name. It stays in the store until the scratch file is deleted, so that a file that
/// is written in its place is a change of it, and a crash loses nothing.
#[derive(Clone, Copy)]
pub(crate) struct Away {
    pub(crate) number: u64,
    pub(crate) version: u64,
    /// The version that the process knows that has moved it: a new text replaces no other one.
    pub(crate) known: u64,
    /// The inode of the scratch file.
    pub(crate) ino: u64,
}

/// What the kernel must forget. It is told by another thread: the kernel may wait for an answer before it listens.
pub(crate) enum Notice {
    Inode(u64),
    /// The attributes of an inode, and not its pages.
    Attributes(u64),
    Entry(u64, String),
}

impl Tree {
    /// A tree that shows the folder `root` of a store.
    pub(crate) fn new(
        stores: Stores,
        scratch: ScratchNames,
        owner: (u32, u32),
        root: &str,
        notices: Sender<Notice>,
    ) -> Self {
        let what = What::Folder { is_kept: true };
        let node = Node { path: Some(root.to_owned()), lookups: 1, what };
        Self {
            stores,
            scratch,
            screen: None,
            owner,
            nodes: HashMap::from([(ROOT, node)]),
            paths: BTreeMap::from([(root.to_owned(), ROOT)]),
            numbers: HashMap::new(),
            away: HashMap::new(),
            reads: Reads::default(),
            times: HashMap::new(),
            next: FIRST_OWN,
            notices,
            changes: 0,
            followed: None,
            began: now(),
            root: root.to_owned(),
        }
    }

    /// The handle for reading.
    ///
    /// # Errors
    /// `ENOKEY` if the store is locked.
    pub(crate) fn reader(&mut self) -> Result<OpenStore, Errno> {
        let reader = self.stores.reader();
        reader.map_err(|error| self.fail(&error))
    }

    pub(crate) fn writer(&mut self, program: &str) -> Result<OpenStore, Errno> {
        let writer = self.stores.writer(program);
        writer.map_err(|error| self.fail(&error))
    }

    /// What still fits.
    pub(crate) fn room(&mut self) -> Result<Room, Errno> {
        let room = self.stores.room();
        room.map_err(|error| self.fail(&error))
    }

    /// The error number. If the store is locked, what was decrypted is wiped.
    pub(crate) fn fail(&mut self, error: &FileError) -> Errno {
        let errno = errno(error);
        if errno.code() == no_key().code() {
            self.lock_down();
        }
        errno
    }

    /// Wipes texts and scratch files, and has the kernel forget all that it knows. Inodes stay for the next unlock. So
    /// do the versions that processes know: what others write meanwhile must not be overwritten by who has read before.
    pub(crate) fn lock_down(&mut self) {
        if !self.stores.is_open() {
            return;
        }
        self.stores.close();
        let mut gone = Vec::new();
        for (path, ino) in &self.paths {
            let parent = self.paths.get(names::parent(path)).copied();
            if let Some(parent) = parent {
                let _ = self.notices.send(Notice::Entry(parent, names::name(path).to_owned()));
            }
            let _ = self.notices.send(Notice::Inode(*ino));
        }
        for (ino, node) in &mut self.nodes {
            let Some(file) = node.file_mut() else { continue };
            if let Some(buffer) = file.buffer.take().filter(|_| file.handles > 0) {
                file.known = buffer.base;
                if buffer.is_changed && !file.is_scratch {
                    file.lose_handles();
                }
            }
            if file.is_scratch || file.number.is_none() || node.path.is_none() {
                let _ = self.notices.send(Notice::Inode(*ino));
                gone.push(*ino);
            }
        }
        for ino in gone {
            self.drop_node(ino);
        }
        self.away.clear();
    }

    pub(crate) fn node(&self, ino: u64) -> Result<&Node, Errno> {
        self.nodes.get(&ino).ok_or(Errno::ESTALE)
    }

    pub(crate) fn file(&mut self, ino: u64) -> Result<&mut File, Errno> {
        let node = self.nodes.get_mut(&ino).ok_or(Errno::ESTALE)?;
        node.file_mut().ok_or(Errno::EISDIR)
    }

    /// The path of a folder.
    pub(crate) fn folder(&self, ino: u64) -> Result<String, Errno> {
        let node = self.node(ino)?;
        match node.what {
            What::Folder { .. } => node.path.clone().ok_or(Errno::ENOENT),
            What::File(_) => Err(Errno::ENOTDIR),
        }
    }

    /// The path of a file that is not deleted.
    pub(crate) fn path(&self, ino: u64) -> Result<String, Errno> {
        self.node(ino)?.path.clone().ok_or(Errno::ESTALE)
    }

    /// Looks up a name.
    pub(crate) fn lookup(&mut self, folder: u64, name: &OsStr) -> Result<FileAttr, Errno> {
        let folder = self.folder(folder)?;
        let path = names::join(&folder, name).map_err(|error| match error.code() {
            code if code == Errno::EILSEQ.code() => Errno::ENOENT,
            _ => error,
        })?;
        self.entry(&path)
    }

    /// The file or folder at a path.
    ///
    /// # Errors
    /// `ENOENT`, also for a path that the store refuses.
    pub(crate) fn entry(&mut self, path: &str) -> Result<FileAttr, Errno> {
        if let Some(ino) = self.paths.get(path).copied()
            && self.node(ino)?.is_in_memory()
        {
            return self.attributes(ino);
        }
        if self.away.contains_key(path) || self.scratch.has(names::parent(path)) {
            return Err(Errno::ENOENT);
        }
        match self.reader()?.files().metadata(path) {
            Ok(metadata) => self.meet(path, &metadata),
            Err(FileError::NotFound | FileError::InvalidPath(_)) => {
                if let Some(ino) = self.paths.get(path).copied() {
                    self.detach_gone(ino);
                }
                Err(Errno::ENOENT)
            }
            Err(error) => Err(self.fail(&error)),
        }
    }

    /// As [`entry`](Self::entry); `None` instead of `ENOENT`.
    pub(crate) fn entry_if_any(&mut self, path: &str) -> Result<Option<FileAttr>, Errno> {
        match self.entry(path) {
            Err(error) if error.code() == Errno::ENOENT.code() => Ok(None),
            found => found.map(Some),
        }
    }

    /// The number and version of the file of the store at a path; `None` if there is no file.
    pub(crate) fn stored(&mut self, path: &str) -> Result<Option<(u64, u64)>, Errno> {
        match self.reader()?.files().metadata(path) {
            Ok(Metadata { kind: EntryKind::File { number, version, .. }, .. }) => {
                Ok(Some((number, version)))
            }
            Ok(_) | Err(FileError::NotFound) => Ok(None),
            Err(error) => Err(self.fail(&error)),
        }
    }

    /// Whether the store has a folder at a path.
    pub(crate) fn is_stored_folder(&mut self, path: &str) -> Result<bool, Errno> {
        match self.reader()?.files().metadata(path) {
            Ok(metadata) => Ok(metadata.is_folder()),
            Err(FileError::NotFound | FileError::InvalidPath(_)) => Ok(false),
            Err(error) => Err(self.fail(&error)),
        }
    }

    /// Takes note of a file or folder of the store, and returns its attributes.
    pub(crate) fn meet(&mut self, path: &str, metadata: &Metadata) -> Result<FileAttr, Errno> {
        let at_path = self.paths.get(path).copied();
        let ino = self.ino_of(path, metadata);
        if let Some(other) = at_path.filter(|other| *other != ino) {
            self.detach_gone(other);
        }
        let old = self.nodes.get(&ino).and_then(|node| node.path.clone());
        if let Some(old) = old.filter(|old| old != path) {
            self.paths.remove(&old);
        }
        let EntryKind::File { number, version, .. } = metadata.kind else {
            self.nodes
                .entry(ino)
                .or_insert(Node { path: None, lookups: 0, what: What::Folder { is_kept: false } })
                .path = Some(path.to_owned());
            self.paths.insert(path.to_owned(), ino);
            return Ok(self.of_metadata(ino, path, metadata));
        };
        let node = self.nodes.entry(ino).or_insert_with(|| Node {
            path: None,
            lookups: 0,
            what: What::File(Box::new(File {
                number: Some(number),
                told: Some(version),
                ..File::default()
            })),
        });
        node.path = Some(path.to_owned());
        let base = node.file().and_then(|file| file.buffer.as_ref()).map(|buffer| buffer.base);
        self.numbers.insert(number, ino);
        self.paths.insert(path.to_owned(), ino);
        if base.is_some_and(|base| base != Some(version)) {
            self.refresh(ino)?;
            return self.of_buffer(ino);
        }
        Ok(self.of_metadata(ino, path, metadata))
    }

    /// The inode of a file or folder of the store. A file that nobody knows yet has its number.
    pub(crate) fn ino_of(&mut self, path: &str, metadata: &Metadata) -> u64 {
        if let EntryKind::File { number, .. } = metadata.kind {
            if let Some(ino) = self.numbers.get(&number) {
                return *ino;
            }
            // The file that was moved to a scratch name keeps its inode there, and another one has its number now.
            let is_taken = self.nodes.get(&number).and_then(Node::file);
            let is_taken = is_taken.is_some_and(|file| file.number != Some(number));
            return if is_taken { self.fresh() } else { number };
        }
        let known = self.paths.get(path).copied();
        let known = known.filter(|ino| self.nodes.get(ino).is_some_and(|it| it.file().is_none()));
        known.unwrap_or_else(|| self.fresh())
    }

    /// An inode number that no file of the store has.
    pub(crate) fn fresh(&mut self) -> u64 {
        self.next = self.next.saturating_add(1);
        self.next
    }

    /// The attributes of an inode.
    ///
    /// # Errors
    /// `ESTALE` if it is gone from the store.
    pub(crate) fn attributes(&mut self, ino: u64) -> Result<FileAttr, Errno> {
        let node = self.node(ino)?;
        let path = node.path.clone();
        if let What::Folder { is_kept } = node.what {
            let Some(path) = path else { return Err(Errno::ESTALE) };
            if !is_kept && !self.is_stored_folder(&path)? {
                self.detach(ino);
                return Err(Errno::ESTALE);
            }
            return Ok(self.of_folder(ino, &path));
        }
        let is_in_memory = node.is_in_memory();
        let Some(path) = path.filter(|_| !is_in_memory) else {
            return self.of_buffer(ino);
        };
        let number = node.file().and_then(|file| file.number);
        match self.reader()?.files().metadata(&path) {
            Ok(metadata) => match metadata.kind {
                EntryKind::File { number: found, .. } if Some(found) == number => {
                    self.meet(&path, &metadata)
                }
                _ => self.gone(ino),
            },
            Err(FileError::NotFound) => self.gone(ino),
            Err(error) => Err(self.fail(&error)),
        }
    }

    /// A file that is gone from the store is readable while it is open.
    fn gone(&mut self, ino: u64) -> Result<FileAttr, Errno> {
        self.detach_gone(ino);
        self.of_buffer(ino)
    }

    /// The attributes of a file as its buffer has it.
    ///
    /// # Errors
    /// `ESTALE` if it has none.
    fn of_buffer(&self, ino: u64) -> Result<FileAttr, Errno> {
        let node = self.node(ino)?;
        let buffer = node.file().and_then(|file| file.buffer.as_ref()).ok_or(Errno::ESTALE)?;
        let nlink = u32::from(node.path.is_some());
        Ok(FileAttr { nlink, ..self.of_file(ino, buffer.len(), buffer.modified) })
    }

    pub(crate) fn of_metadata(&self, ino: u64, path: &str, metadata: &Metadata) -> FileAttr {
        if let EntryKind::File { created, modified, .. } = metadata.kind {
            let length = usize::try_from(metadata.bytes).unwrap_or(usize::MAX);
            FileAttr { crtime: created, ..self.of_file(ino, length, modified) }
        } else {
            self.of_folder(ino, path)
        }
    }

    pub(crate) fn of_folder(&self, ino: u64, path: &str) -> FileAttr {
        let time = self.times.get(path).copied().unwrap_or(self.began);
        FileAttr { kind: FileType::Directory, perm: 0o700, nlink: 2, ..self.of_file(ino, 0, time) }
    }

    pub(crate) fn of_file(&self, ino: u64, length: usize, modified: SystemTime) -> FileAttr {
        let size = u64::try_from(length).unwrap_or(u64::MAX);
        FileAttr {
            ino: INodeNo(ino),
            size,
            blocks: size.div_ceil(512),
            atime: modified,
            mtime: modified,
            ctime: modified,
            crtime: modified,
            kind: FileType::RegularFile,
            perm: 0o600,
            nlink: 1,
            uid: self.owner.0,
            gid: self.owner.1,
            rdev: 0,
            blksize: 4_096,
            flags: 0,
        }
    }

    /// Takes an inode out of the tree, because it is deleted, replaced or gone. It stays readable while it is open.
    pub(crate) fn detach(&mut self, ino: u64) {
        self.take_out(ino);
        self.drop_if_unused(ino);
    }

    fn take_out(&mut self, ino: u64) {
        let Some(node) = self.nodes.get_mut(&ino) else { return };
        let path = node.path.take();
        let number = node.file_mut().and_then(|file| file.number.take());
        if let Some(path) = path.filter(|path| self.paths.get(path) == Some(&ino)) {
            self.paths.remove(&path);
        }
        if let Some(number) = number.filter(|number| self.numbers.get(number) == Some(&ino)) {
            self.numbers.remove(&number);
        }
    }

    /// As [`detach`](Self::detach), because somebody else has taken it from the store: what is not saved of it is saved beside its place,
    /// at once or when programs close it.
    pub(crate) fn detach_gone(&mut self, ino: u64) {
        let Some(node) = self.nodes.get_mut(&ino) else { return };
        let path = node.path.clone();
        let mut is_open = false;
        if let Some(file) = node.file_mut() {
            is_open = file.handles > 0;
            file.gone_from = path.filter(|_| !file.is_scratch);
        }
        self.detach(ino);
        if !is_open {
            self.save_or_keep(ino);
            self.drop_if_unused(ino);
        }
    }

    /// Forgets an inode that neither the kernel nor the mount needs.
    pub(crate) fn drop_if_unused(&mut self, ino: u64) {
        let Some(node) = self.nodes.get(&ino) else { return };
        let handles = node.file().map_or(0, |file| file.handles);
        let is_unsaved = node.file().is_some_and(File::is_gone_unsaved);
        let is_needed = (node.path.is_some() && node.is_in_memory()) || is_unsaved;
        if node.lookups == 0 && handles == 0 && !is_needed && ino != ROOT {
            self.drop_node(ino);
        }
    }

    fn drop_node(&mut self, ino: u64) {
        self.take_out(ino);
        self.nodes.remove(&ino);
    }

    /// The kernel forgets an inode.
    pub(crate) fn forget(&mut self, ino: u64, lookups: u64) {
        if let Some(node) = self.nodes.get_mut(&ino) {
            node.lookups = node.lookups.saturating_sub(lookups);
            self.drop_if_unused(ino);
        }
    }

    pub(crate) fn looked_up(&mut self, ino: u64) {
        if let Some(node) = self.nodes.get_mut(&ino) {
            node.lookups = node.lookups.saturating_add(1);
        }
    }

    /// Sets the path of an inode.
    pub(crate) fn place(&mut self, ino: u64, path: &str) {
        let Some(node) = self.nodes.get_mut(&ino) else { return };
        let old = node.path.replace(path.to_owned());
        if let Some(old) = old.filter(|old| self.paths.get(old) == Some(&ino)) {
            self.paths.remove(&old);
        }
        self.paths.insert(path.to_owned(), ino);
    }

    /// Notes that a folder has changed, and keeps it if it has lost its last file.
    pub(crate) fn touch(&mut self, folder: &str) {
        self.times.insert(folder.to_owned(), now());
    }

    /// Keeps a folder and those above it for as long as the mount lasts.
    pub(crate) fn keep(&mut self, folder: &str) {
        let mut folder = folder.to_owned();
        while folder.len() > self.root.len() {
            let ino = match self.paths.get(&folder) {
                Some(ino) => *ino,
                None => self.fresh(),
            };
            let lookups = self.nodes.get(&ino).map_or(0, |node| node.lookups);
            let what = What::Folder { is_kept: true };
            self.nodes.insert(ino, Node { path: Some(folder.clone()), lookups, what });
            self.paths.insert(folder.clone(), ino);
            folder = names::parent(&folder).to_owned();
        }
    }

    /// What differs once somebody has changed something, here at once or elsewhere.
    pub(crate) fn state(&self) -> (u64, Option<u64>) {
        (self.changes, self.followed)
    }

    /// The entries of a folder, with their attributes.
    pub(crate) fn list(&mut self, ino: u64) -> Result<Vec<Listed>, Errno> {
        let folder = self.folder(ino)?;
        let mut entries = BTreeMap::new();
        if !self.scratch.has(&folder) {
            match self.reader()?.files().list(&folder) {
                Ok(listed) => {
                    for entry in listed {
                        let path = format!("{folder}/{}", entry.name);
                        if self.away.contains_key(&path) {
                            continue;
                        }
                        let ino = self.ino_of(&path, &entry.metadata);
                        let node = self.nodes.get(&ino);
                        let is_open = node.is_some_and(|node| {
                            node.file().is_some_and(|file| file.buffer.is_some())
                        });
                        let attributes = if is_open || entry.metadata.is_folder() {
                            self.meet(&path, &entry.metadata)?
                        } else {
                            self.of_metadata(ino, &path, &entry.metadata)
                        };
                        let (number, version) = match entry.metadata.kind {
                            EntryKind::File { number, version, .. } => {
                                (Some(number), Some(version).filter(|_| !is_open))
                            }
                            _ => (None, None),
                        };
                        let name = entry.name.clone();
                        entries.insert(entry.name, Listed { name, attributes, number, version });
                    }
                }
                Err(FileError::NotFound) => {}
                Err(error) => return Err(self.fail(&error)),
            }
        }
        for (name, ino) in self.children(&folder) {
            let attributes = self.attributes(ino)?;
            let number = self.nodes.get(&ino).and_then(|node| node.file()?.number);
            entries.insert(name.clone(), Listed { name, attributes, number, version: None });
        }
        Ok(entries.into_values().collect())
    }

    /// What is in memory in a folder: names and inodes.
    pub(crate) fn children(&self, folder: &str) -> Vec<(String, u64)> {
        let prefix = format!("{folder}/");
        let below = self.paths.range(prefix.clone()..);
        below
            .map_while(|(path, ino)| Some((path.strip_prefix(&prefix)?, *ino)))
            .filter(|(name, ino)| {
                !name.contains('/') && self.nodes.get(ino).is_some_and(Node::is_in_memory)
            })
            .map(|(name, ino)| (name.to_owned(), ino))
            .collect()
    }

    /// Takes note of an entry of a listing that the kernel gets with its attributes. It may have been forgotten meanwhile.
    pub(crate) fn listed(&mut self, folder: u64, entry: &Listed) {
        let ino = entry.attributes.ino.0;
        if let Some(node) = self.nodes.get_mut(&ino) {
            if let Some(file) = node.file_mut().filter(|file| file.told != entry.version) {
                file.told = None;
            }
        } else if let Ok(folder) = self.folder(folder)
            && let path = format!("{folder}/{}", entry.name)
            // A listing may be older than what another program has put there.
            && !self.paths.contains_key(&path)
            && entry.number.is_none_or(|number| !self.numbers.contains_key(&number))
        {
            let what = if let Some(number) = entry.number {
                self.numbers.insert(number, ino);
                let (number, told) = (Some(number), entry.version);
                What::File(Box::new(File { number, told, ..File::default() }))
            } else {
                What::Folder { is_kept: false }
            };
            self.paths.insert(path.clone(), ino);
            self.nodes.insert(ino, Node { path: Some(path), lookups: 0, what });
        }
        self.looked_up(ino);
    }
}

/// An entry of a folder.
pub(crate) struct Listed {
    pub(crate) name: String,
    pub(crate) attributes: FileAttr,
    /// The number of a file of the store.
    pub(crate) number: Option<u64>,
    /// The version that its attributes are of; `None` if its text is in memory.
    pub(crate) version: Option<u64>,
}

/// The inode of the root folder.
pub(crate) const ROOT: u64 = 1;

/// The first inode number that is not that of a file of the store.
pub(crate) const FIRST_OWN: u64 = 1 << 48;
