//! Internal crate of inmost: an unlocked store as a folder of the system, for programs that keep their memory in plain files.
//!
//! [`Mount::new`] mounts a part of the store over an empty folder, and [`Mount::run`] serves it until it is unmounted. Texts that
//! are open are held in wiped memory and saved by a conditional write, so no change of another program is lost. Files with the
//! names of temporary files live in memory only. docs/MOUNT.md has the rules.
//!
//! Only Linux has what this needs; elsewhere the crate is empty.
#![cfg(target_os = "linux")]

mod buffer;
mod contents;
mod filesystem;
mod moves;
mod names;
mod node;
mod place;
mod reads;
mod screening;
mod stores;
mod tree;

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::thread;
use std::time::Duration;

use fuser::{Config, INodeNo, MountOption, Notifier, Session};
use inmost::{FileError, StoreError};
use inmost_screen::SecretScreen;

use filesystem::{MemoryFolder, lock};
pub use names::ScratchNames;
pub use stores::OpenAs;
use stores::Stores;
use tree::{Notice, Tree};

/// What is mounted, and how.
#[derive(Debug, Clone)]
pub struct MountOptions {
    /// The folder of the memory that is shown: `/memories` or a path below it.
    pub subtree: String,
    /// Whether every change is refused.
    pub is_read_only: bool,
    /// More names of scratch files, as globs of one name.
    pub scratch: Vec<String>,
    /// The folder of the store, whose disk must have room.
    pub disk: Option<PathBuf>,
    /// What looks for secrets in what programs write. If it redacts, programs that have the file open see their own text until all
    /// of them have closed it. If it refuses, the text is not saved: `fsync`, `close` and renames fail with `EACCES`.
    pub screen: Option<SecretScreen>,
    /// Whether the store may be locked. Then every access fails with `ENOKEY` until it is unlocked.
    pub may_be_locked: bool,
}

/// A mounted memory. It is unmounted when this is dropped.
pub struct Mount {
    session: Session<MemoryFolder>,
    tree: Arc<Mutex<Tree>>,
    folder: PathBuf,
}

/// Saves and unmounts from another thread.
#[derive(Clone)]
pub struct Unmounter {
    tree: Arc<Mutex<Tree>>,
    folder: PathBuf,
}

impl Mount {
    /// Mounts a part of a store over an empty folder, which is made if it is missing. `open` is called for each program that
    /// changes something, with the actor of its changes, and again after the store was locked.
    ///
    /// # Errors
    /// See [`MountError`].
    pub fn new(folder: &Path, open: OpenAs, options: &MountOptions) -> Result<Self, MountError> {
        let scratch = ScratchNames::new(&options.scratch).map_err(MountError::Scratch)?;
        let place = place::prepare(folder)?;
        let folder = place.folder.clone();
        let failed = |error| MountError::Folder(folder.clone(), error);
        let metadata = fs::metadata(&folder).map_err(failed)?;
        let (notices, received) = channel();
        let root = options.subtree.trim_end_matches('/').to_owned();
        if scratch.has(&root) {
            return Err(MountError::ScratchRoot(root));
        }
        let stores = Stores::new(open, options.disk.clone());
        let owner = (metadata.uid(), metadata.gid());
        let mut tree = Tree::new(stores, scratch, owner, &root, notices);
        let is_valid = match tree.stores.reader() {
            Ok(_) => tree.check_path(&root).is_ok(),
            // A wrong one is found when something is saved.
            Err(FileError::Store(StoreError::Locked)) if options.may_be_locked => true,
            Err(error) => return Err(MountError::Store(error)),
        };
        if !root.starts_with("/memories") || !is_valid {
            return Err(MountError::Subtree);
        }
        tree.screen = options.screen;
        let tree = Arc::new(Mutex::new(tree));
        let mut config = Config::default();
        config.mount_options = vec![
            MountOption::FSName(place::SOURCE.to_owned()),
            MountOption::Subtype("inmost".to_owned()),
            MountOption::NoSuid,
            MountOption::NoDev,
            MountOption::NoExec,
            MountOption::NoAtime,
            MountOption::DefaultPermissions,
            if options.is_read_only { MountOption::RO } else { MountOption::RW },
        ];
        let told = Arc::new(OnceLock::new());
        let served = MemoryFolder::new(Arc::clone(&tree), options.is_read_only, Arc::clone(&told));
        let session = place.open().and_then(|()| Session::new(served, &folder, &config));
        // In any case.
        place.close()?;
        let session = session.map_err(MountError::Mounting)?;
        let notifier = session.notifier();
        let _ = told.set(notifier.clone());
        thread::spawn(move || notify(&notifier, &received));
        let watched = Arc::downgrade(&tree);
        thread::spawn(move || watch(&watched));
        Ok(Self { session, tree, folder })
    }

    /// The folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Unmounts from another thread.
    #[must_use]
    pub fn unmounter(&self) -> Unmounter {
        Unmounter { tree: Arc::clone(&self.tree), folder: self.folder.clone() }
    }

    /// Serves the mount until it is unmounted, and saves what is left. Returns how many files could not be saved.
    ///
    /// # Errors
    /// Those of the connection to the kernel.
    pub fn run(self) -> io::Result<usize> {
        let served = self.session.run();
        let left = lock(&self.tree).save_all();
        served.map(|()| left)
    }
}

impl Unmounter {
    /// Saves all files, and unmounts. Programs that still have files open keep them until they close them.
    ///
    /// # Errors
    /// [`MountError::Folder`].
    pub fn unmount(&self) -> Result<(), MountError> {
        lock(&self.tree).save_all();
        place::detach(&self.folder)
    }
}

/// Whether a memory is mounted at a folder and its process runs.
#[must_use]
pub fn is_mounted(folder: &Path) -> bool {
    fs::read_dir(folder).is_ok()
        && folder.canonicalize().is_ok_and(|folder| place::is_mounted(&folder))
}

/// Unmounts the memory at a folder, after it has saved all files.
///
/// # Errors
/// [`MountError::NotMounted`]; [`MountError::Unsaved`] unless it is to be forced; [`MountError::Busy`] if a program has a file or
/// its working folder there.
pub fn unmount(folder: &Path, is_forced: bool) -> Result<(), MountError> {
    let failed = |error| MountError::Folder(folder.to_owned(), error);
    let absolute = std::path::absolute(folder).map_err(failed)?;
    // A dead mount has no canonical path, and one that does not answer must not be asked.
    let folder = match (is_forced, absolute.parent(), absolute.file_name()) {
        (true, Some(parent), Some(name)) => parent.canonicalize().map_err(failed)?.join(name),
        _ => absolute.canonicalize().unwrap_or(absolute),
    };
    if !place::is_mounted(&folder) {
        return Err(MountError::NotMounted(folder));
    }
    let (answer, answered) = channel();
    let all = folder.join(SAVE_ALL);
    thread::spawn(move || answer.send(fs::symlink_metadata(all).err().map(|error| error.kind())));
    if is_forced {
        let _ = answered.recv_timeout(FORCED);
        return place::detach(&folder);
    }
    if answered.recv() == Ok(Some(io::ErrorKind::ResourceBusy)) {
        return Err(MountError::Unsaved(folder));
    }
    place::unmount(&folder)
}

/// Tells the kernel what to forget.
fn notify(notifier: &Notifier, received: &Receiver<Notice>) {
    while let Ok(notice) = received.recv() {
        // It has forgotten it already, or the mount is ending.
        let _ = match notice {
            Notice::Inode(ino) => notifier.inval_inode(INodeNo(ino), 0, 0),
            Notice::Attributes(ino) => notifier.inval_inode(INodeNo(ino), -1, 0),
            Notice::Entry(folder, name) => notifier.inval_entry(INodeNo(folder), OsStr::new(&name)),
        };
    }
}

/// Notices a lock and changes of others soon, and saves texts before a lock by time.
fn watch(tree: &Weak<Mutex<Tree>>) {
    let mut saved = 0;
    loop {
        thread::sleep(WATCH);
        let Some(tree) = tree.upgrade() else { return };
        let mut tree = lock(&tree);
        if !tree.stores.is_open() {
            continue;
        }
        let Ok(reader) = tree.stores.reader() else { continue };
        // None of this keeps the store unlocked.
        let facts = reader.status().and_then(|status| {
            tree.follow(status.commit);
            reader.daemon()
        });
        match facts {
            // Once for each change: saving is use of the store, and what cannot be saved must not keep it unlocked.
            Ok(Some(facts))
                if facts.idle_left.min(facts.total_left) < BEFORE_LOCK && saved != tree.changes =>
            {
                saved = tree.changes;
                tree.save_all();
            }
            Ok(_) => {}
            Err(error) => {
                tree.fail(&FileError::Store(error));
            }
        }
    }
}

/// A name in the root folder that no file can have here: looking it up saves all files. `EBUSY` says that some could not be saved,
/// `ENOENT` that all are.
const SAVE_ALL: &str = ".inmost-save-all";

/// How long a forced unmount waits until files are saved.
const FORCED: Duration = Duration::from_secs(5);

/// Between two looks at the state of the store.
const WATCH: Duration = Duration::from_millis(500);

/// Texts are saved this long before the store locks by itself.
const BEFORE_LOCK: Duration = Duration::from_secs(3);

/// Why a memory was not mounted or unmounted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MountError {
    /// Programs have files there open.
    #[error("Programs have files open in {0}.")]
    Busy(PathBuf),
    /// The folder could not be read, made or unmounted.
    #[error("The folder {0} cannot be used: {1}.")]
    Folder(PathBuf, #[source] io::Error),
    /// A memory is mounted there already.
    #[error("A memory is mounted at {0} already.")]
    Mounted(PathBuf),
    /// The system refused the mount.
    #[error("The system refused the mount: {0}.")]
    Mounting(#[source] io::Error),
    /// The path is not a folder, or is a link to one.
    #[error("{0} is not a folder.")]
    NotAFolder(PathBuf),
    /// The folder has files.
    #[error("The folder {0} is not empty.")]
    NotEmpty(PathBuf),
    /// No memory is mounted there.
    #[error("No memory is mounted at {0}.")]
    NotMounted(PathBuf),
    /// The folder belongs to another user.
    #[error("The folder {0} belongs to another user.")]
    NotOwn(PathBuf),
    /// A glob of scratch names is not valid. Contains the reason.
    #[error("The glob of scratch names is not valid: {0}.")]
    Scratch(String),
    /// The subtree has the name of a scratch file, so nothing in it would last.
    #[error("{0} has a name of scratch files: what is written there would not last.")]
    ScratchRoot(String),
    /// The store could not be opened.
    #[error("{0}")]
    Store(#[source] FileError),
    /// The subtree is not a folder of the memory.
    #[error("The subtree is not a folder of the memory.")]
    Subtree,
    /// Some files could not be saved.
    #[error("Some files in {0} could not be saved.")]
    Unsaved(PathBuf),
}

impl MountError {
    /// What a person can do.
    #[must_use]
    pub fn advice(&self) -> &'static str {
        match self {
            Self::Busy(_) => "Close what is open there, or use `--force`.",
            Self::Folder(..) => "Choose another folder.",
            Self::Mounted(_) => "Unmount it first, with `inmost unmount`.",
            Self::Mounting(_) => {
                "It needs /dev/fuse, and for other users than root the program fusermount3, of the package fuse3."
            }
            Self::NotAFolder(_) => "Give the path of a folder itself.",
            Self::NotEmpty(_) => {
                "Choose an empty one. `inmost adopt` takes the files of a folder into the memory."
            }
            Self::NotMounted(_) => "`grep ^inmost /proc/mounts` lists the mounts.",
            Self::NotOwn(_) => "Choose a folder of your own.",
            Self::Scratch(_) => "A glob has *, ? and [...], and stands for one name.",
            Self::ScratchRoot(_) => "Show another folder, or rename it in the memory.",
            Self::Store(_) => "Unlock it with `inmost unlock`.",
            Self::Subtree => "Give /memories, or the path of a folder below it.",
            Self::Unsaved(_) => {
                "Copy them from there; `--force` unmounts and loses what is not saved."
            }
        }
    }
}
