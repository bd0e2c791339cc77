//! Internal crate of `inmost`, for this workspace only. It promises no semantic versioning.
//!
//! The optional engine: redb 4. The folder of a generation contains one database file with one table.
//!
//! redb copies on write and swaps the root of its tree, so a commit is atomic, and its own sync is durable
//! (it passed the power-cut lab unmodified). [`apply`](Engine::apply) is a commit that stays in memory and is
//! visible at once. [`sync`](Engine::sync) is an empty durable commit, which writes everything before it to
//! the disk with one `fdatasync`. Readers wait for an apply but never for a disk. A crash between the two
//! restores the state of the last sync: nothing in the file refers to later changes.
//!
//! Not promised:
//!
//! - that damage to a value is noticed: redb checks no page that it reads, but the AEAD above does
//! - that opening after a crash is quick: redb then reads and checks every page, which takes about a second
//!   for 300,000 records; its quick repair would cost a second sync in every commit
//! - that a crafted store cannot make redb allocate without bound
//!
//! No other crate of the workspace names redb.

mod copy_on_write;
#[cfg(test)]
mod tests;

use std::fs;
use std::io;
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use redb::backends::FileBackend;
use redb::{Database, Durability, ReadOnlyTable, ReadableDatabase, ReadableTable, TableDefinition};

use inmost_engines::guard::guarded;
use inmost_engines::poison::Poison;
use inmost_storage::{Address, Batch, Engine, EngineKind, StorageError, limits};

use copy_on_write::CopyOnWrite;
use inmost_engines::files;
use inmost_engines::local_engine::{Expected, LocalEngine, LocalKind, undated};

/// redb, for [`LocalStorage`](inmost_engines::local::LocalStorage).
pub const KIND: LocalKind = LocalKind {
    kind: EngineKind::Redb,
    create: |folder| Ok(Box::new(RedbEngine::create(folder)?)),
    open: |folder, expected| Ok(Box::new(RedbEngine::open(folder, expected)?)),
    // It has no files that it could rebuild.
    open_in_no_room: |_, _| Err(StorageError::Full),
    batch_records: limits::BATCH_RECORDS_MAX,
    index_after: None,
    file: DATABASE,
    written: |_, length| undated(length),
};

/// One generation in its own folder.
struct RedbEngine {
    handle: Handle,
    folder: PathBuf,
    /// Whether any change was applied after the last sync.
    unsynced: AtomicBool,
    poison: Poison,
}

impl RedbEngine {
    /// Creates an empty, durable generation.
    ///
    /// # Errors
    /// `AlreadyExists` if the folder exists.
    fn create(folder: &Path) -> Result<Self, StorageError> {
        files::create_private_folder(folder)?;
        let created = Self::begin(folder);
        if created.is_err() {
            // Best effort, because a generation that no header names is removed at the next unlock anyway.
            let _ = fs::remove_dir_all(folder);
        }
        created
    }

    fn begin(folder: &Path) -> Result<Self, StorageError> {
        files::create_private_file(&folder.join(DATABASE))?;
        let engine = Self::start(folder)?;
        engine.handle.call(|db| {
            let change = db.begin_write()?;
            change.open_table(RECORDS)?;
            Ok(change.commit()?)
        })?;
        files::sync_folder(folder)?;
        files::sync_folder(folder.parent().unwrap_or(folder))?;
        Ok(engine)
    }

    /// Opens an existing generation, after verifying that redb can.
    ///
    /// # Errors
    /// [`StorageError::Corrupt`] if the file is damaged, or what `expected` returns for the mark. The file has not changed
    /// then.
    fn open(folder: &Path, expected: &Expected<'_>) -> Result<Self, StorageError> {
        let path = folder.join(DATABASE);
        // redb would silently create an empty database in an empty file.
        match fs::symlink_metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(StorageError::Corrupt("the engine's database is missing".into()));
            }
            Ok(metadata) if metadata.is_file() && metadata.len() == 0 => {
                return Err(StorageError::Corrupt("the engine's database is empty".into()));
            }
            metadata => metadata?,
        };
        (expected.admit)(read_mark(&path)?.as_deref())?;
        files::make_private(folder)?;
        files::make_private(&path)?;
        let engine = Self::start(folder)?;
        engine.handle.read(|_| Ok(()))?;
        Ok(engine)
    }

    fn start(folder: &Path) -> Result<Self, StorageError> {
        Ok(Self {
            handle: Handle::open(&folder.join(DATABASE))?,
            folder: folder.to_path_buf(),
            unsynced: AtomicBool::new(false),
            poison: Poison::default(),
        })
    }
}

impl Engine for RedbEngine {
    fn get_many(&self, addresses: &[Address]) -> Result<Vec<Option<Vec<u8>>>, StorageError> {
        self.poison.check()?;
        self.handle.read(|records| {
            addresses
                .iter()
                .map(|address| Ok(records.get(&address.0)?.map(|value| value.value().to_vec())))
                .collect()
        })
    }

    fn scan(
        &self,
        after: Option<&Address>,
        limit: usize,
    ) -> Result<Vec<(Address, Vec<u8>)>, StorageError> {
        self.poison.check()?;
        let from = after.map_or(Bound::Unbounded, |address| Bound::Excluded(&address.0));
        self.handle.read(|records| {
            records
                .range::<&[u8; 32]>((from, Bound::Unbounded))?
                .take(limit)
                .map(|record| {
                    let (address, value) = record?;
                    Ok((Address(*address.value()), value.value().to_vec()))
                })
                .collect()
        })
    }

    fn apply(&self, batch: &Batch) -> Result<(), StorageError> {
        self.poison.check()?;
        // redb allows one writer at a time, so the expected root cannot change before the commit.
        let applied = self.handle.call(|db| {
            let mut change = db.begin_write()?;
            change.set_durability(Durability::None)?;
            {
                let mut records = change.open_table(RECORDS)?;
                if let Some((root, expected)) = &batch.expect {
                    let found = records.get(&root.0)?;
                    if found.as_ref().map(redb::AccessGuard::value) != expected.as_deref() {
                        return Ok(Err(StorageError::Conflict));
                    }
                }
                for (address, value) in &batch.puts {
                    records.insert(&address.0, value.as_slice())?;
                }
                for address in &batch.deletes {
                    records.remove(&address.0)?;
                }
            }
            // Set before the commit, while no sync can run.
            self.unsynced.store(true, Ordering::SeqCst);
            Ok(Ok(change.commit()?))
        });
        self.poison.on_error(applied).inspect_err(|_| files::forget_cached_in(&self.folder))?
    }

    fn sync(&self) -> Result<(), StorageError> {
        self.poison.check()?;
        let synced = self.handle.call(|db| {
            let change = db.begin_write()?;
            if self.unsynced.swap(false, Ordering::SeqCst) {
                change.commit()?;
            }
            Ok(())
        });
        self.poison.on_error(synced).inspect_err(|_| files::forget_cached_in(&self.folder))
    }

    fn size(&self) -> Result<u64, StorageError> {
        self.poison.check()?;
        Ok(files::size_below(&self.folder)?)
    }

    fn close(mut self: Box<Self>) -> Result<(), StorageError> {
        self.sync()?;
        let db = self.handle.0.take().ok_or(StorageError::Poisoned)?;
        guarded(storage_error, || db.close().map_err(redb::Error::from))
    }
}

impl LocalEngine for RedbEngine {}

/// Opens the database without changing its file, and returns the journal's mark.
///
/// After an unclean end, redb reads and checks every page to repair the file. What it repairs stays in memory here. After a
/// clean end it would trust its list of free pages, and write over records if that is damaged; so a file of moderate length is
/// checked then too.
fn read_mark(path: &Path) -> Result<Option<Vec<u8>>, StorageError> {
    let file = files::open(path)?;
    let is_checked = file.metadata()?.len() <= CHECKED_BYTES;
    guarded(storage_error, || {
        let mut builder = Database::builder();
        builder.set_cache_size(Handle::CACHE_BYTES);
        let mut db = builder.create_with_backend(CopyOnWrite::over(file)?)?;
        if is_checked && !db.check_integrity()? {
            return Err(redb::Error::Corrupted("a page has a wrong checksum".to_owned()));
        }
        let records = db.begin_read()?.open_table(RECORDS)?;
        Ok(records.get(&[0; 32])?.map(|value| value.value().to_vec()))
    })
}

/// The longest file of which every page is checked at each opening, in bytes. Longer ones would open slowly.
const CHECKED_BYTES: u64 = 32 << 20;
/// The database file in the folder of a generation.
const DATABASE: &str = "redb";
const RECORDS: TableDefinition<&[u8; 32], &[u8]> = TableDefinition::new("records");

/// redb's database. Like every call into it, dropping it is guarded.
struct Handle(Option<Database>);

impl Handle {
    /// The size of redb's page cache; its default is 1 GiB. A layer above caches decoded values, so this
    /// cache only has to hold inner pages and the pages of one batch.
    const CACHE_BYTES: usize = 16 << 20;

    fn open(path: &Path) -> Result<Self, StorageError> {
        // Opened here, so that redb follows no link and does not wait for a pipe.
        let file = files::open_to_write(path)?;
        let open = || {
            let file = FileBackend::new(file)?;
            let mut builder = Database::builder();
            builder.set_cache_size(Self::CACHE_BYTES);
            Ok::<_, redb::Error>(builder.create_with_backend(file)?)
        };
        Ok(Self(Some(guarded(storage_error, open)?)))
    }

    fn call<T>(
        &self,
        call: impl FnOnce(&Database) -> Result<T, redb::Error>,
    ) -> Result<T, StorageError> {
        let db = self.0.as_ref().ok_or(StorageError::Poisoned)?;
        guarded(storage_error, || call(db))
    }

    fn read<T>(
        &self,
        read: impl FnOnce(&Records) -> Result<T, redb::Error>,
    ) -> Result<T, StorageError> {
        self.call(|db| read(&db.begin_read()?.open_table(RECORDS)?))
    }
}

type Records = ReadOnlyTable<&'static [u8; 32], &'static [u8]>;

impl Drop for Handle {
    fn drop(&mut self) {
        let db = self.0.take();
        // A caller that needs the result has synced before.
        let _ = guarded(storage_error, || {
            drop(db);
            Ok(())
        });
    }
}

/// Converts redb's error.
fn storage_error(error: redb::Error) -> StorageError {
    match error {
        redb::Error::DatabaseAlreadyOpen | redb::Error::LockProtocolMismatch => {
            StorageError::InUse(None)
        }
        redb::Error::PreviousIo => StorageError::Poisoned,
        redb::Error::Io(error) => match error.kind() {
            // The file is not a database, or is shorter than its header says.
            io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => {
                StorageError::Corrupt(error.to_string())
            }
            _ => error.into(),
        },
        error => StorageError::Corrupt(error.to_string()),
    }
}
