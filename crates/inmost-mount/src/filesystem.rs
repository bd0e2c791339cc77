//! The requests of the kernel, each as a call of the tree.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, SystemTime};

use fuser::{
    BsdFileFlags, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation,
    INodeNo, InitFlags, KernelConfig, LockOwner, Notifier, OpenFlags, RenameFlags, ReplyAttr,
    ReplyCreate, ReplyData, ReplyDirectory, ReplyDirectoryPlus, ReplyEmpty, ReplyEntry, ReplyOpen,
    ReplyStatfs, ReplyWrite, Request, TimeOrNow, WriteFlags,
};

use crate::contents::Access;
use crate::names;
use crate::stores::{Caller, program_of};
use crate::tree::{Listed, ROOT, Tree};

/// The file system.
pub(crate) struct MemoryFolder {
    tree: Arc<Mutex<Tree>>,
    is_read_only: bool,
    /// Tells the kernel what to forget; there once it is mounted.
    notifier: Arc<OnceLock<Notifier>>,
    /// The folders that are being listed.
    listings: Mutex<HashMap<u64, Arc<Listing>>>,
    next: AtomicU64,
}

struct Listing {
    entries: Vec<Listed>,
    /// The state of the tree then.
    state: (u64, Option<u64>),
}

impl MemoryFolder {
    pub(crate) fn new(
        tree: Arc<Mutex<Tree>>,
        is_read_only: bool,
        notifier: Arc<OnceLock<Notifier>>,
    ) -> Self {
        let (listings, next) = (Mutex::default(), AtomicU64::new(1));
        Self { tree, is_read_only, notifier, listings, next }
    }

    /// Runs a call, unless the store is locked.
    fn run<T>(&self, call: impl FnOnce(&mut Tree) -> Result<T, Errno>) -> Result<T, Errno> {
        let mut tree = lock(&self.tree);
        tree.reader()?;
        call(&mut tree)
    }

    /// Runs a call that changes something.
    fn change<T>(&self, call: impl FnOnce(&mut Tree) -> Result<T, Errno>) -> Result<T, Errno> {
        if self.is_read_only {
            return Err(Errno::EROFS);
        }
        self.run(|tree| {
            tree.changes = tree.changes.saturating_add(1);
            call(tree)
        })
    }

    fn listing(&self, handle: FileHandle) -> Option<Arc<Listing>> {
        lock(&self.listings).get(&handle.0).cloned()
    }
}

/// A poisoned lock is used on: a panic in one request must not end all others.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn done(result: Result<(), Errno>, reply: ReplyEmpty) {
    match result {
        Ok(()) => reply.ok(),
        Err(error) => reply.error(error),
    }
}

fn entry(result: Result<FileAttr, Errno>, reply: ReplyEntry) {
    match result {
        Ok(attributes) => reply.entry(&TTL, &attributes, Generation(0)),
        Err(error) => reply.error(error),
    }
}

fn attributes(result: Result<FileAttr, Errno>, reply: ReplyAttr) {
    match result {
        Ok(attributes) => reply.attr(&TTL, &attributes),
        Err(error) => reply.error(error),
    }
}

fn position(index: usize) -> u64 {
    u64::try_from(index).unwrap_or(u64::MAX)
}

impl Filesystem for MemoryFolder {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> std::io::Result<()> {
        // Without them, listings take a request for each entry, and nothing else differs.
        let _ = config.add_capabilities(InitFlags::FUSE_DO_READDIRPLUS);
        let _ = config.add_capabilities(InitFlags::FUSE_READDIRPLUS_AUTO);
        Ok(())
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        if parent.0 == ROOT && name == crate::SAVE_ALL {
            let saved = self.run(|tree| match tree.save_all() {
                0 => Err(Errno::ENOENT),
                _ => Err(Errno::EBUSY),
            });
            return entry(saved, reply);
        }
        let found = self.run(|tree| {
            let attributes = tree.lookup(parent.0, name)?;
            tree.looked_up(attributes.ino.0);
            Ok(attributes)
        });
        entry(found, reply);
    }

    fn forget(&self, _: &Request, ino: INodeNo, lookups: u64) {
        lock(&self.tree).forget(ino.0, lookups);
    }

    fn getattr(&self, _: &Request, ino: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        attributes(self.run(|tree| tree.attributes(ino.0)), reply);
    }

    fn setattr(
        &self,
        request: &Request,
        ino: INodeNo,
        _mode: Option<u32>,
        _uid: Option<u32>,
        _gid: Option<u32>,
        size: Option<u64>,
        _atime: Option<TimeOrNow>,
        mtime: Option<TimeOrNow>,
        _ctime: Option<SystemTime>,
        handle: Option<FileHandle>,
        _crtime: Option<SystemTime>,
        _chgtime: Option<SystemTime>,
        _bkuptime: Option<SystemTime>,
        _flags: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let set = self.change(|tree| {
            let caller = Caller::of(request.pid());
            if let Some(size) = size {
                tree.resize((ino.0, handle.map(|it| it.0)), size, &caller)?;
            }
            let time = match mtime {
                // A new length has set the time already.
                None => None,
                Some(TimeOrNow::Now) if size.is_some() => None,
                Some(TimeOrNow::Now) => Some(SystemTime::now()),
                Some(TimeOrNow::SpecificTime(time)) => Some(time),
            };
            if let Some(time) = time {
                tree.set_modified(ino.0, time, &caller.program)?;
            }
            tree.attributes(ino.0)
        });
        attributes(set, reply);
    }

    fn readlink(&self, _: &Request, _: INodeNo, reply: ReplyData) {
        reply.error(Errno::EINVAL);
    }

    fn mknod(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _umask: u32,
        _rdev: u32,
        reply: ReplyEntry,
    ) {
        if mode & TYPE != REGULAR {
            return reply.error(Errno::EPERM);
        }
        let file = self.change(|tree| {
            let place = tree.new_path(parent.0, name)?;
            let file = tree.create(&place, &Caller::of(request.pid()), false)?;
            tree.looked_up(file.ino.0);
            tree.release(file.ino.0, 0, false);
            Ok(file)
        });
        entry(file, reply);
    }

    fn mkdir(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        _mode: u32,
        _umask: u32,
        reply: ReplyEntry,
    ) {
        let made = self.change(|tree| {
            let made = tree.make_folder(parent.0, name, &program_of(request.pid()))?;
            tree.looked_up(made.ino.0);
            Ok(made)
        });
        entry(made, reply);
    }

    fn unlink(&self, request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let program = program_of(request.pid());
        done(self.change(|tree| tree.unlink(parent.0, name, &program)), reply);
    }

    fn rmdir(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        done(self.change(|tree| tree.remove_folder(parent.0, name)), reply);
    }

    fn rename(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        new_parent: INodeNo,
        new_name: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        if flags.intersects(RenameFlags::RENAME_NOREPLACE.complement()) {
            return reply.error(Errno::EINVAL);
        }
        let may_replace = !flags.contains(RenameFlags::RENAME_NOREPLACE);
        let program = program_of(request.pid());
        let renamed = self.change(|tree| {
            let (old, new) = ((parent.0, name), (new_parent.0, new_name));
            tree.rename(old, new, may_replace, request.pid(), &program)
        });
        done(renamed, reply);
    }

    fn open(&self, request: &Request, ino: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        let opened = self.run(|tree| {
            let handle = tree.open(ino.0, request.pid(), access(flags.0))?;
            Ok((handle, tree.is_news(ino.0)))
        });
        match opened {
            Ok((handle, is_news)) => {
                // Before the answer, so that nothing is read by an old length. Without pages, the kernel waits for nothing here.
                if let Some(notifier) = self.notifier.get().filter(|_| is_news) {
                    let _ = notifier.inval_inode(ino, -1, 0);
                }
                reply.opened(FileHandle(handle), FopenFlags::empty());
            }
            Err(error) => reply.error(error),
        }
    }

    fn read(
        &self,
        request: &Request,
        ino: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let mut tree = lock(&self.tree);
        let bytes = match tree.reader().and_then(|_| tree.read(ino.0, offset, request.pid())) {
            Ok(bytes) => bytes,
            Err(error) => return reply.error(error),
        };
        let from = usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
        let length = usize::try_from(size).unwrap_or(usize::MAX);
        let to = from.saturating_add(length).min(bytes.len());
        reply.data(bytes.get(from..to).unwrap_or_default());
    }

    fn write(
        &self,
        request: &Request,
        ino: INodeNo,
        handle: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        flags: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let is_append = flags.0 & APPEND != 0;
        let caller = Caller::of(request.pid());
        let file = (ino.0, handle.0);
        let written = self.change(|tree| tree.write(file, (offset, is_append), data, &caller));
        match written {
            Ok(()) => reply.written(u32::try_from(data.len()).unwrap_or(u32::MAX)),
            Err(error) => reply.error(error),
        }
    }

    fn flush(
        &self,
        _: &Request,
        ino: INodeNo,
        handle: FileHandle,
        _: LockOwner,
        reply: ReplyEmpty,
    ) {
        done(self.run(|tree| tree.flush(ino.0, handle.0)), reply);
    }

    fn release(
        &self,
        _: &Request,
        ino: INodeNo,
        handle: FileHandle,
        flags: OpenFlags,
        _: Option<LockOwner>,
        _flush: bool,
        reply: ReplyEmpty,
    ) {
        lock(&self.tree).release(ino.0, handle.0, is_writer(flags.0));
        reply.ok();
    }

    fn fsync(&self, _: &Request, ino: INodeNo, handle: FileHandle, _: bool, reply: ReplyEmpty) {
        done(self.run(|tree| tree.sync(ino.0, handle.0)), reply);
    }

    fn opendir(&self, _: &Request, ino: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        let listed =
            self.run(|tree| Ok(Listing { entries: tree.list(ino.0)?, state: tree.state() }));
        match listed {
            Ok(listing) => {
                let handle = self.next.fetch_add(1, Ordering::Relaxed);
                lock(&self.listings).insert(handle, Arc::new(listing));
                reply.opened(FileHandle(handle), FopenFlags::empty());
            }
            Err(error) => reply.error(error),
        }
    }

    fn readdir(
        &self,
        _: &Request,
        ino: INodeNo,
        handle: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        if let Err(error) = self.run(|_| Ok(())) {
            return reply.error(error);
        }
        let Some(listing) = self.listing(handle) else { return reply.error(Errno::EBADF) };
        let own = DOTS.iter().map(|name| (*name, ino, FileType::Directory));
        let below = listing
            .entries
            .iter()
            .map(|it| (it.name.as_str(), it.attributes.ino, it.attributes.kind));
        let from = usize::try_from(offset).unwrap_or(usize::MAX);
        for (index, (name, ino, kind)) in own.chain(below).enumerate().skip(from) {
            if reply.add(ino, position(index).saturating_add(1), kind, name) {
                break;
            }
        }
        reply.ok();
    }

    fn readdirplus(
        &self,
        _: &Request,
        ino: INodeNo,
        handle: FileHandle,
        offset: u64,
        mut reply: ReplyDirectoryPlus,
    ) {
        let Some(listing) = self.listing(handle) else { return reply.error(Errno::EBADF) };
        let mut tree = lock(&self.tree);
        let own = tree.reader().and_then(|_| Ok((tree.attributes(ino.0)?, tree.folder(ino.0)?)));
        let (own, folder) = match own {
            Ok(own) => own,
            Err(error) => return reply.error(error),
        };
        let is_old = listing.state != tree.state();
        let own = DOTS.iter().map(|name| (*name, own, None));
        let below = listing.entries.iter().map(|it| (it.name.as_str(), it.attributes, Some(it)));
        let from = usize::try_from(offset).unwrap_or(usize::MAX);
        for (index, (name, mut attributes, listed)) in own.chain(below).enumerate().skip(from) {
            if is_old && listed.is_some() {
                // The kernel would take old attributes for the present ones.
                match tree.entry_if_any(&format!("{folder}/{name}")) {
                    Ok(Some(now)) => attributes = now,
                    Ok(None) => continue,
                    Err(error) => return reply.error(error),
                }
            }
            let next = position(index).saturating_add(1);
            if reply.add(attributes.ino, next, name, &TTL, &attributes, Generation(0)) {
                break;
            }
            // The kernel does not count the first two.
            match listed {
                Some(_) if is_old => tree.looked_up(attributes.ino.0),
                Some(listed) => tree.listed(ino.0, listed),
                None => {}
            }
        }
        reply.ok();
    }

    fn releasedir(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        _: OpenFlags,
        reply: ReplyEmpty,
    ) {
        lock(&self.listings).remove(&handle.0);
        reply.ok();
    }

    fn fsyncdir(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        // A change of a name is durable when its call returns.
        reply.ok();
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        match self.run(Tree::room) {
            Ok(room) => {
                let free = room.quota.min(room.disk);
                let blocks = room.used.0.saturating_add(free) / BLOCK;
                let free = free / BLOCK;
                let free_files = room.max_files.saturating_sub(room.used.1);
                let size = u32::try_from(BLOCK).unwrap_or(u32::MAX);
                reply.statfs(blocks, free, free, room.max_files, free_files, size, 255, size);
            }
            Err(error) => reply.error(error),
        }
    }

    fn create(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        _mode: u32,
        _umask: u32,
        flags: i32,
        reply: ReplyCreate,
    ) {
        let created = self.change(|tree| {
            let folder = tree.folder(parent.0)?;
            let path = names::join(&folder, name)?;
            let created = create_or_open(tree, &path, flags, request.pid())?;
            tree.looked_up(created.0.ino.0);
            Ok(created)
        });
        match created {
            Ok((attributes, handle)) => {
                let flags = FopenFlags::empty();
                reply.created(&TTL, &attributes, Generation(0), FileHandle(handle), flags);
            }
            Err(error) => reply.error(error),
        }
    }
}

/// Creates and opens a file, or opens the one that somebody else has created since the kernel has looked. Returns the handle too.
fn create_or_open(
    tree: &mut Tree,
    path: &str,
    flags: i32,
    thread: u32,
) -> Result<(FileAttr, u64), Errno> {
    let caller = Caller::of(thread);
    let Some(found) = tree.entry_if_any(path)? else {
        return Ok((tree.create(path, &caller, is_writer(flags))?, 0));
    };
    if flags & EXCLUSIVE != 0 {
        return Err(Errno::EEXIST);
    }
    let ino = found.ino.0;
    let handle = tree.open(ino, thread, access(flags))?;
    // The kernel takes the file for a new one, and does not empty it.
    let emptied = match flags & TRUNCATE {
        0 => Ok(()),
        _ => tree.resize((ino, Some(handle)), 0, &caller),
    };
    let opened = emptied.and_then(|()| Ok((tree.attributes(ino)?, handle)));
    if opened.is_err() {
        tree.release(ino, handle, is_writer(flags));
    }
    opened
}

fn access(flags: i32) -> Access {
    Access { reads: flags & ACCESS != WRITE_ONLY, writes: is_writer(flags) }
}

/// Whether a handle writes, and not only at the end.
fn is_writer(flags: i32) -> bool {
    flags & ACCESS != 0 && flags & APPEND == 0
}

/// How long the kernel trusts a name and its attributes. Changes through the mount are known at once.
const TTL: Duration = Duration::from_secs(1);

const DOTS: [&str; 2] = [".", ".."];

/// The unit of free space.
const BLOCK: u64 = 4_096;

/// `O_ACCMODE`, `O_WRONLY`, `O_EXCL`, `O_TRUNC`, `O_APPEND`, `S_IFMT` and `S_IFREG` of Linux.
const ACCESS: i32 = 0o3;
const WRITE_ONLY: i32 = 0o1;
const EXCLUSIVE: i32 = 0o200;
const TRUNCATE: i32 = 0o1000;
const APPEND: i32 = 0o2000;
const TYPE: u32 = 0o170_000;
const REGULAR: u32 = 0o100_000;

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops at an unexpected value")]
mod tests {
    use super::*;
    use crate::names::ScratchNames;
    use crate::stores::Stores;
    use inmost::Session;

    #[test]
    fn a_file_that_others_created_meanwhile_is_opened_as_it_was_asked_for() {
        let session = Session::in_memory().unwrap();
        session.files().write("/memories/a.md", "a long text of others\n").unwrap();
        let opened = session.clone();
        let stores = Stores::new(Box::new(move |actor| Ok(opened.acting_as(actor).into())), None);
        let (notices, _received) = std::sync::mpsc::channel();
        let scratch = ScratchNames::new(&[]).unwrap();
        let mut tree = Tree::new(stores, scratch, (0, 0), "/memories", notices);
        let thread = std::process::id();
        let refused = create_or_open(&mut tree, "/memories/a.md", 1 | EXCLUSIVE, thread);
        assert_eq!(refused.err().map(Errno::code), Some(Errno::EEXIST.code()));
        let opened = create_or_open(&mut tree, "/memories/a.md", 1 | TRUNCATE, thread);
        let (found, handle) = opened.unwrap();
        assert_eq!(found.size, 0);
        let file = (found.ino.0, handle);
        tree.write(file, (0, false), b"own\n", &Caller::of(thread)).unwrap();
        tree.flush(found.ino.0, handle).unwrap();
        assert_eq!(session.files().read("/memories/a.md").unwrap().as_str(), "own\n");
    }
}
