//! A store in a folder on a local disk.
//!
//! `lock` is held while the store is open, `header.a` and `header.b` are the header copies, `anchor` is the anchor, `ballast`
//! is room for a full disk, and each generation is a folder `gen-` with its number in 16 hexadecimal digits. Everything is readable by its
//! owner alone. A new store is built in a hidden sibling folder and renamed into place, so a crash leaves
//! either no store or a whole one.

mod anchor;
mod ballast;
mod creation;
mod destroy;
mod header_file;
mod lock;
mod low_space;
#[cfg(test)]
mod tests;

use std::fs;
use std::io;
use std::path::{Path, PathBuf, absolute};
use std::sync::Arc;

use self::anchor::AnchorFile;
use self::ballast::Ballast;
use self::lock::Lock;
use self::low_space::LowSpaceEngine;
#[cfg(feature = "redb")]
use crate::redb::RedbEngine;
use crate::sled::SledEngine;
use inmost_storage::{AnchorSlot, Engine, EngineKind, HeaderCopy, Storage, StorageError};

use crate::files;

/// An open store folder, or one being created; holds the lock either way.
pub struct LocalStorage {
    folder: PathBuf,
    /// Where the store is to appear; `None` once it is there.
    target: Option<PathBuf>,
    anchor: AnchorFile,
    ballast: Arc<Ballast>,
    _lock: Lock,
}

impl LocalStorage {
    /// Opens the store in a folder. A folder that holds no store is left exactly as it is.
    ///
    /// # Errors
    /// [`StorageError::Missing`] if there is no such folder or it holds neither header nor generation,
    /// [`StorageError::InUse`] at once if another process has it open.
    pub fn open(path: &Path) -> Result<Self, StorageError> {
        let folder = absolute(path)?;
        if !holds_store(&folder)? {
            return Err(StorageError::Missing);
        }
        let lock = Lock::take(&folder)?;
        let ballast = Arc::new(Ballast::of(&folder));
        let anchor = AnchorFile::default();
        let storage = Self { folder, target: None, anchor, ballast, _lock: lock };
        for copy in header_file::COPIES {
            // What a crash interrupted may be a header whose slots were meant to be gone.
            header_file::discard_draft(&storage.folder, copy);
        }
        Ok(storage)
    }

    /// Begins a new store: everything is written to a hidden folder beside `path` until
    /// [`publish`](Self::publish). What an interrupted creation left there is cleared; dropping the storage
    /// unpublished removes it.
    ///
    /// # Errors
    /// `AlreadyExists` if `path` is anything but absent or an empty folder, `NotFound` if its parent is
    /// missing, [`StorageError::InUse`] if another process is creating the same store, [`StorageError::Odd`] if
    /// something else has the name of the hidden folder.
    pub fn create(path: &Path) -> Result<Self, StorageError> {
        let target = absolute(path)?;
        let folder = creation::folder_for(&target);
        let folder = folder.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        check_vacant(&target)?;
        creation::take(&folder)?;
        let lock = Lock::take(&folder)?;
        creation::clear_but_lock(&folder)?;
        let ballast = Arc::new(Ballast::of(&folder));
        let anchor = AnchorFile::default();
        let storage = Self { folder, target: Some(target), anchor, ballast, _lock: lock };
        // First of all: where there is no room for it, there is none for a store.
        storage.ballast.make()?;
        Ok(storage)
    }

    /// Moves a new store to its place, durably, and goes on holding it there. Every engine must be closed
    /// before: they hold paths. A store already in place stays as it is.
    ///
    /// # Errors
    /// `AlreadyExists` if something has taken the place meanwhile; then nothing has changed there.
    pub fn publish(mut self) -> Result<Self, StorageError> {
        let Some(target) = self.target.clone() else { return Ok(self) };
        files::sync_folder(&self.folder)?;
        check_vacant(&target)?;
        if cfg!(not(unix)) && target.exists() {
            fs::remove_dir(&target)?; // elsewhere a rename does not replace an empty folder
        }
        fs::rename(&self.folder, &target).map_err(|error| match error.kind() {
            // Taken since we looked; the rename itself replaces nothing but an empty folder.
            io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::NotADirectory => {
                io::ErrorKind::AlreadyExists.into()
            }
            _ => error,
        })?;
        self.folder.clone_from(&target);
        self.ballast = Arc::new(Ballast::of(&target));
        self.target = None;
        files::sync_folder(target.parent().unwrap_or(&target))?;
        Ok(self)
    }

    fn generation_path(&self, number: u64) -> PathBuf {
        self.folder.join(format!("{GENERATION_PREFIX}{number:016x}"))
    }
}

impl Drop for LocalStorage {
    /// Leaves nothing of a store that was never published.
    fn drop(&mut self) {
        if self.target.is_some() && creation::clear_but_lock(&self.folder).is_ok() {
            // The lock goes last, while still held: whoever opened it meanwhile sees that its name is gone.
            let _ = fs::remove_file(self.folder.join(lock::NAME));
            let _ = fs::remove_dir(&self.folder);
        }
    }
}

impl Storage for LocalStorage {
    fn read_header(&self, copy: HeaderCopy) -> Result<Option<Vec<u8>>, StorageError> {
        header_file::read(&self.folder, copy)
    }

    fn write_header(&self, copy: HeaderCopy, bytes: &[u8]) -> Result<(), StorageError> {
        match header_file::replace(&self.folder, copy, bytes) {
            Err(StorageError::Full) => {
                self.ballast.keep(self.ballast.held().saturating_sub(HEADER_ROOM));
                header_file::replace(&self.folder, copy, bytes)
            }
            written => written,
        }
    }

    fn read_anchor(&self) -> Result<Vec<Vec<u8>>, StorageError> {
        AnchorFile::read(&self.folder)
    }

    fn write_anchor(&self, slot: AnchorSlot, bytes: &[u8]) -> Result<(), StorageError> {
        self.anchor.write(&self.folder, slot, bytes)
    }

    fn generations(&self) -> Result<Vec<u64>, StorageError> {
        let mut numbers = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            if let Some(number) = parse_generation(&entry.file_name().to_string_lossy())
                && entry.file_type()?.is_dir()
            {
                numbers.push(number);
            }
        }
        numbers.sort_unstable();
        Ok(numbers)
    }

    fn create_generation(
        &self,
        number: u64,
        engine: EngineKind,
    ) -> Result<Box<dyn Engine>, StorageError> {
        let engine = create_engine(&self.generation_path(number), engine)?;
        Ok(Box::new(LowSpaceEngine::new(engine, Arc::clone(&self.ballast))))
    }

    fn open_generation(
        &self,
        number: u64,
        engine: EngineKind,
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
        let opened = match open_engine(&folder, engine) {
            Err(StorageError::Full) => {
                self.ballast.keep(0);
                open_engine(&folder, engine).or_else(|error| match error {
                    StorageError::Full => open_in_no_room(&folder, engine),
                    error => Err(error),
                })?
            }
            opened => opened?,
        };
        // What is there can be read either way; without the ballast it is hard to change.
        let _ = self.ballast.make();
        Ok(Box::new(LowSpaceEngine::new(opened, Arc::clone(&self.ballast))))
    }

    fn remove_generation(&self, number: u64) -> Result<(), StorageError> {
        match fs::remove_dir_all(self.generation_path(number)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => Ok(removed.and_then(|()| files::sync_folder(&self.folder))?),
        }
    }

    fn size(&self) -> Result<u64, StorageError> {
        let ballast =
            fs::symlink_metadata(self.folder.join(ballast::NAME)).map_or(0, |it| it.len());
        Ok(files::size_below(&self.folder)?.saturating_sub(ballast))
    }

    fn is_short_of_room(&self) -> bool {
        self.ballast.is_short()
    }
}

fn create_engine(folder: &Path, engine: EngineKind) -> Result<Box<dyn Engine>, StorageError> {
    Ok(match engine {
        EngineKind::Sled => Box::new(SledEngine::create(folder)?),
        #[cfg(feature = "redb")]
        EngineKind::Redb => Box::new(RedbEngine::create(folder)?),
        _ => return Err(StorageError::NotBuilt),
    })
}

fn open_engine(folder: &Path, engine: EngineKind) -> Result<Box<dyn Engine>, StorageError> {
    Ok(match engine {
        EngineKind::Sled => Box::new(SledEngine::open(folder)?),
        #[cfg(feature = "redb")]
        EngineKind::Redb => Box::new(RedbEngine::open(folder)?),
        _ => return Err(StorageError::NotBuilt),
    })
}

/// The last resort on a full disk: room that the engine itself can do without.
fn open_in_no_room(folder: &Path, engine: EngineKind) -> Result<Box<dyn Engine>, StorageError> {
    match engine {
        EngineKind::Sled => Ok(Box::new(SledEngine::open_without_snapshots(folder)?)),
        _ => Err(StorageError::Full),
    }
}

/// Bytes of the ballast given up to replace a header copy on a full disk: far more than a block and the file
/// system's own.
const HEADER_ROOM: u64 = 64 << 10;
const GENERATION_PREFIX: &str = "gen-";

/// The number in a generation's folder name, if the name is exactly what we would write. Does no I/O.
fn parse_generation(name: &str) -> Option<u64> {
    let number = u64::from_str_radix(name.strip_prefix(GENERATION_PREFIX)?, 16).ok()?;
    (name == format!("{GENERATION_PREFIX}{number:016x}")).then_some(number)
}

fn holds_store(folder: &Path) -> io::Result<bool> {
    let entries = match fs::read_dir(folder) {
        // A plain file is no store either.
        Err(error)
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
        {
            return Ok(false);
        }
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        let mut copies = header_file::COPIES.map(header_file::name).into_iter();
        // A folder is never a header; it may be all that is left where a store was destroyed.
        if copies.any(|copy| name == copy) && !entry.file_type()?.is_dir()
            || parse_generation(&name.to_string_lossy()).is_some()
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// # Errors
/// `AlreadyExists` unless there is nothing or an empty folder.
fn check_vacant(target: &Path) -> io::Result<()> {
    let vacant = match fs::symlink_metadata(target) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => true,
        metadata => metadata?.is_dir() && fs::read_dir(target)?.next().is_none(),
    };
    if vacant { Ok(()) } else { Err(io::ErrorKind::AlreadyExists.into()) }
}
