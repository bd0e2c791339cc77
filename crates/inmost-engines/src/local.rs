//! A store in a folder on a local disk.
//!
//! The folder contains:
//!
//! - `lock`, locked while the store is open
//! - `header.a` and `header.b`, the header copies
//! - `anchor`, the rollback anchor
//! - `ballast`, space reserved for a full disk
//! - `sync`, the state of synchronisation with other devices, if there is one: sealed, and not read here
//! - one folder per generation: `gen-` and its number in 16 hexadecimal digits, with the engine's files and `journal`
//! - `rewriting`, the note of a rewrite in progress
//! - generations that were set aside: `set-aside-` and a number in 16 hexadecimal digits
//!
//! Only the owner can read any of them. A new store is built in a hidden folder next to its final place and
//! then renamed, so a crash leaves either no store or a complete one.

mod anchor;
mod ballast;
mod bare;
mod creation;
mod destroy;
mod folder;
mod header_file;
mod journal;
mod lock;
mod overwritten;
#[cfg(unix)]
mod owner;
mod publishing;
mod rewriting;
mod set_aside;
mod watched;

use std::fs;
use std::io;
use std::path::{Path, PathBuf, absolute};
use std::sync::Arc;
use std::time::Duration;

use self::anchor::{AnchorFile, Durability};
use self::ballast::Ballast;
use self::bare::BareFolder;
use self::folder::{GENERATION_PREFIX, check_vacant, holds_store};
#[cfg(any(test, feature = "testing"))]
#[doc(hidden)]
pub use self::journal::in_memory::JournalInMemory;
use self::journal::{JournaledEngine, OpenEngine, Surroundings, Tuning};
pub use self::lock::Lock;
use self::watched::{By, Watched};
use inmost_storage::{
    BareFiles, Engine, EngineKind, HeaderCopy, JournalMac, Rewriting, SetAsideGeneration,
    SlotFields, Storage, StorageError,
};

use crate::files;
use crate::local_engine::LocalKind;

/// A store folder that is open or being created. It holds the lock in both cases.
pub struct LocalStorage {
    folder: PathBuf,
    engines: &'static [LocalKind],
    /// The final path of a store being created; `None` once it is published.
    target: Option<PathBuf>,
    anchor: AnchorFile,
    ballast: Arc<Ballast>,
    watched: Arc<Watched>,
    /// Taken, but for the moment in which [`publish`](Self::publish) moves the folder.
    lock: Option<Lock>,
}

impl LocalStorage {
    /// Opens the store in a folder, with these engines. A folder without a store is not changed.
    ///
    /// # Errors
    /// [`StorageError::Missing`] if the folder does not exist or has neither a header nor a generation.
    /// [`StorageError::InUse`], without waiting, if another process has the store open.
    pub fn open(path: &Path, engines: &'static [LocalKind]) -> Result<Self, StorageError> {
        let folder = absolute(path)?;
        if !holds_store(&folder)? {
            return Err(StorageError::Missing);
        }
        #[cfg(unix)]
        owner::check(&folder)?;
        let lock = Some(Lock::take(&folder)?);
        let ballast = Arc::new(Ballast::of(&folder));
        let anchor = AnchorFile::default();
        let watched = watch(&folder)?;
        Ok(Self { folder, engines, target: None, anchor, ballast, watched, lock })
    }

    /// Begins a new store. Everything is written to a hidden folder next to `path` until
    /// [`publish`](Self::publish).
    ///
    /// Files of an interrupted creation are removed first. Dropping the storage before it is published
    /// removes the hidden folder.
    ///
    /// # Errors
    /// `AlreadyExists` if `path` exists and is not an empty folder, `NotFound` if its parent does not exist,
    /// [`StorageError::InUse`] if another process is creating the same store, [`StorageError::UntrustedFile`]
    /// if the name of the hidden folder is taken by anything else.
    pub fn create(path: &Path, engines: &'static [LocalKind]) -> Result<Self, StorageError> {
        let target = absolute(path)?;
        let folder = creation::folder_for(&target);
        let folder = folder.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        check_vacant(&target)?;
        creation::take(&folder)?;
        let lock = Some(Lock::take(&folder)?);
        creation::clear_except_lock(&folder)?;
        let ballast = Arc::new(Ballast::of(&folder));
        let anchor = AnchorFile::default();
        let watched = watch(&folder)?;
        let target = Some(target);
        let storage = Self { folder, engines, target, anchor, ballast, watched, lock };
        // First, because a disk without room for the ballast has no room for a store.
        storage.ballast.make()?;
        Ok(storage)
    }

    /// Drops what the system has cached of the generations, so that the next reads come from the disk. Best effort.
    pub fn forget_cached(&self) {
        for number in self.generations().unwrap_or_default() {
            files::forget_cached_in(&self.generation_path(number));
        }
    }

    /// Opens the engine of a generation, with the ballast's room if the disk is full.
    fn engine_opener(&self, folder: PathBuf, engine: &'static LocalKind) -> OpenEngine {
        let ballast = Arc::clone(&self.ballast);
        Box::new(move |expected| {
            let opened = match (engine.open)(&folder, expected) {
                Err(StorageError::Full) => {
                    // A loan, so that no other thread takes the room back while the engine opens.
                    let _room = ballast.lend(0);
                    (engine.open)(&folder, expected).or_else(|error| match error {
                        StorageError::Full => (engine.open_in_no_room)(&folder, expected),
                        error => Err(error),
                    })
                }
                opened => opened,
            };
            opened.inspect_err(|_| files::forget_cached_in(&folder))
        })
    }

    fn engine(&self, kind: EngineKind) -> Result<&'static LocalKind, StorageError> {
        self.engines.iter().find(|engine| engine.kind == kind).ok_or(StorageError::NotBuilt)
    }

    /// Shrinks the ballast to nothing and restores it, as a full disk makes a store do.
    #[cfg(feature = "testing")]
    pub fn spend_ballast(&self) {
        self.ballast.keep(0);
        let _ = self.ballast.make();
    }

    /// What the journal of a generation works with. Watches the generation's folder and the file of its records: before they are
    /// opened, so that what is opened is what is watched.
    fn surroundings(
        &self,
        folder: &Path,
        engine: &'static LocalKind,
        mac: Arc<dyn JournalMac>,
    ) -> io::Result<Surroundings> {
        let file = folder.join(engine.file);
        // In a container whose image has the store, the first opening for writing makes another file of it. A file that cannot be
        // opened is for the engine to report.
        drop(files::open_to_write(&file));
        self.watched.note(folder, By::Folder)?;
        self.watched.note(&file, By::Number)?;
        Ok(Surroundings {
            open_engine: self.engine_opener(folder.to_owned(), engine),
            ballast: Arc::clone(&self.ballast),
            watched: Arc::clone(&self.watched),
            tuning: tuning(engine),
            mac,
        })
    }

    fn generation_path(&self, number: u64) -> PathBuf {
        self.folder.join(format!("{GENERATION_PREFIX}{number:016x}"))
    }
}

impl Storage for LocalStorage {
    fn read_header(&self, copy: HeaderCopy) -> Result<Option<Vec<u8>>, StorageError> {
        header_file::read(&self.folder, copy)
    }

    fn write_header(&self, copy: HeaderCopy, bytes: &[u8]) -> Result<(), StorageError> {
        let replace = || header_file::replace(&self.folder, copy, bytes);
        let path = self.folder.join(header_file::name(copy));
        self.watched.replacing(&path, By::Time, || match replace() {
            Err(StorageError::Full) => {
                self.ballast.keep(self.ballast.held().saturating_sub(HEADER_ROOM));
                replace()
            }
            written => written,
        })
    }

    fn is_synchronised(&self) -> bool {
        self.folder.join(SYNC).exists()
    }

    fn read_forgets(&self) -> Result<Option<Vec<u8>>, StorageError> {
        Ok(files::read_small(&self.folder.join(SYNC_FORGETS), MOST_FORGETS)?)
    }

    fn write_forgets(&self, bytes: &[u8]) -> Result<(), StorageError> {
        let path = self.folder.join(SYNC_FORGETS);
        let is_empty = bytes.is_empty();
        let write = || {
            if is_empty {
                header_file::remove_if_there(&path)
            } else {
                files::replace(&path, bytes)
            }
        };
        Ok(write()?)
    }

    fn read_anchor(&self) -> Result<Option<Vec<u8>>, StorageError> {
        AnchorFile::read(&self.folder)
    }

    fn write_anchor(&self, bytes: &[u8]) -> Result<(), StorageError> {
        self.anchor.write(&self.folder, &self.watched, bytes, Durability::OfFirstWrite)
    }

    fn write_anchor_durably(&self, bytes: &[u8]) -> Result<(), StorageError> {
        self.anchor.write(&self.folder, &self.watched, bytes, Durability::OfThisWrite)
    }

    fn generations(&self) -> Result<Vec<u64>, StorageError> {
        Ok(folder::numbers(&self.folder, GENERATION_PREFIX)?)
    }

    fn create_generation(
        &self,
        number: u64,
        engine: EngineKind,
    ) -> Result<Box<dyn Engine>, StorageError> {
        self.create_generation_with(number, engine, Arc::new(NoMac))
    }

    fn open_generation(
        &self,
        number: u64,
        engine: EngineKind,
    ) -> Result<Box<dyn Engine>, StorageError> {
        self.open_generation_with(number, engine, Arc::new(NoMac))
    }

    fn create_generation_with(
        &self,
        number: u64,
        engine: EngineKind,
        mac: Arc<dyn JournalMac>,
    ) -> Result<Box<dyn Engine>, StorageError> {
        let engine = self.engine(engine)?;
        let folder = self.generation_path(number);
        let created = (engine.create)(&folder)?;
        let around = self.surroundings(&folder, engine, mac)?;
        match JournaledEngine::create(&folder, created, around) {
            Ok(engine) => Ok(Box::new(engine)),
            Err(error) => {
                // Best effort, because a generation that no header names is removed at the next unlock anyway.
                self.watched.forget_below(&folder);
                let _ = fs::remove_dir_all(&folder);
                Err(error)
            }
        }
    }

    fn open_generation_with(
        &self,
        number: u64,
        engine: EngineKind,
        mac: Arc<dyn JournalMac>,
    ) -> Result<Box<dyn Engine>, StorageError> {
        let folder = self.generation_path(number);
        match fs::symlink_metadata(&folder) {
            Ok(metadata) if metadata.is_dir() => {}
            Ok(_) => return Err(StorageError::Missing),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(StorageError::Missing);
            }
            Err(error) => return Err(error.into()),
        }
        AnchorFile::refuse_other_names(&self.folder)?;
        let engine = self.engine(engine)?;
        let opened = JournaledEngine::open(&folder, self.surroundings(&folder, engine, mac)?)?;
        for copy in header_file::COPIES {
            // The draft left by a crash may be a header with keyslots that were to be removed. A damaged store stays as it
            // is, so this waits until the generation is open.
            header_file::discard_draft(&self.folder, copy);
        }
        rewriting::discard_draft(&self.folder);
        // The store can be read without the ballast. Only changes on a full disk become difficult.
        let _ = self.ballast.make();
        Ok(Box::new(opened))
    }

    fn bare_files(&self, number: u64) -> Result<Box<dyn BareFiles>, StorageError> {
        Ok(Box::new(BareFolder::open(&self.generation_path(number), self.engines)?))
    }

    fn remove_generation(&self, number: u64) -> Result<(), StorageError> {
        let folder = self.generation_path(number);
        self.watched.forget_below(&folder);
        match fs::remove_dir_all(folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => Ok(removed.and_then(|()| files::sync_folder(&self.folder))?),
        }
    }

    fn rewriting(&self) -> Result<Option<Rewriting>, StorageError> {
        rewriting::read(&self.folder)
    }

    fn begin_rewrite(&self, rewriting: &Rewriting) -> Result<(), StorageError> {
        rewriting::write(&self.folder, rewriting)
    }

    fn finish_rewrite(&self) -> Result<(), StorageError> {
        rewriting::remove(&self.folder)
    }

    fn set_aside(&self, number: u64, header: Option<&[u8]>) -> Result<(), StorageError> {
        let generation = self.generation_path(number);
        if !generation.try_exists()? {
            return Err(StorageError::Missing);
        }
        self.watched.forget_below(&generation);
        match set_aside::add(&self.folder, &generation, number, header) {
            Err(StorageError::Full) => {
                self.ballast.keep(self.ballast.held().saturating_sub(HEADER_ROOM));
                set_aside::add(&self.folder, &generation, number, header)
            }
            added => added,
        }
    }

    fn set_aside_generations(&self) -> Result<Vec<SetAsideGeneration>, StorageError> {
        set_aside::list(&self.folder)
    }

    fn discard_set_aside(&self, number: u64) -> Result<(), StorageError> {
        set_aside::discard(&self.folder, number)
    }

    fn size(&self) -> Result<u64, StorageError> {
        let ballast =
            fs::symlink_metadata(self.folder.join(ballast::NAME)).map_or(0, |it| it.len());
        let set_aside = set_aside::list(&self.folder)?.iter().map(|it| it.bytes).sum::<u64>();
        Ok(files::size_below(&self.folder)?.saturating_sub(ballast).saturating_sub(set_aside))
    }

    fn check_files(&self) -> Result<(), StorageError> {
        self.watched.check()
    }

    fn is_short_of_room(&self) -> bool {
        self.ballast.is_short()
    }
}

/// For a generation that no header will name, such as one for sorting. A generation under a key is damaged to it, and the other way
/// round.
struct NoMac;

impl JournalMac for NoMac {
    fn mac(&self, _: u8, _: &SlotFields) -> [u8; 32] {
        [0; 32]
    }

    fn verify(&self, _: u8, _: &SlotFields, mac: &[u8; 32]) -> bool {
        *mac == [0; 32]
    }
}

/// Watches the files of a store that are in its own folder.
fn watch(folder: &Path) -> io::Result<Arc<Watched>> {
    let watched = Watched::default();
    watched.note(folder, By::Folder)?;
    watched.note(&folder.join(lock::NAME), By::Number)?;
    for copy in header_file::COPIES {
        watched.note(&folder.join(header_file::name(copy)), By::Time)?;
    }
    watched.note(&folder.join(anchor::NAME), By::Names)?;
    Ok(Arc::new(watched))
}

/// The journal in front of an engine.
fn tuning(engine: &LocalKind) -> Tuning {
    Tuning {
        half_blocks: half_blocks(),
        addresses: CHECKPOINT_ADDRESSES,
        batch_records: engine.batch_records,
        idle: IDLE,
        background: is_background(),
        index_after: engine.index_after,
    }
}

/// Blocks of 4 KiB in each half of a new journal.
#[cfg(not(feature = "testing"))]
fn half_blocks() -> u32 {
    HALF_BLOCKS
}

/// The lab makes the journal small, so that power cuts often hit a checkpoint.
#[cfg(feature = "testing")]
fn half_blocks() -> u32 {
    let small = std::env::var("INMOST_TEST_HALF_BLOCKS").ok();
    small.and_then(|blocks| blocks.parse().ok()).unwrap_or(HALF_BLOCKS)
}

/// Whether checkpoints run in a thread of their own.
#[cfg(not(feature = "testing"))]
fn is_background() -> bool {
    true
}

/// A sample of a store in use must not depend on how fast a checkpoint is. Without the thread, a full half waits until the
/// other one is full too.
#[cfg(feature = "testing")]
fn is_background() -> bool {
    std::env::var_os("INMOST_TEST_NO_BACKGROUND").is_none()
}

/// Blocks of 4 KiB in each half of a journal: 448 KiB. Larger halves would make fewer checkpoints; these keep a new store
/// below 7 MiB.
const HALF_BLOCKS: u32 = 112;
/// The most addresses of one checkpoint. It bounds the room that a checkpoint needs.
const CHECKPOINT_ADDRESSES: usize = 125;
/// How long no commit comes before the journal is emptied.
const IDLE: Duration = Duration::from_secs(1);
/// Bytes of the ballast that are freed to replace a header copy on a full disk: far more than one block plus
/// the overhead of the file system.
const HEADER_ROOM: u64 = 64 << 10;
/// The state of synchronisation, which the crate `inmost-sync` keeps here under a key of the store.
const SYNC: &str = "sync";
/// What was forgotten and is not in that state yet, under the same key.
const SYNC_FORGETS: &str = "sync-forgets";
/// The most bytes of it.
const MOST_FORGETS: u64 = 64 << 20;
