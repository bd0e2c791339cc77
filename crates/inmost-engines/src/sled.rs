//! The default engine: sled 0.34.7, held to the rules under which it survived every power cut of the lab.
//!
//! sled alone is not enough: its `flush` does not reach the disk on Linux, interrupted opens leave files
//! it cannot open again, and damaged files make it panic. So [`repair`] looks at its files before it does,
//! every call into it runs inside a guard that turns a panic into [`StorageError::Corrupt`], a sync ends
//! with `fdatasync` on a second handle of its log, and a failed write ends the use of the handle.
//!
//! sled reuses a segment of its log as soon as it has handed what replaces it to the operating system, which is
//! before our sync. So what it writes between two syncs has to stay below one segment: batches of few records,
//! and segments of four times the usual length. (The lab lost stores with the usual one.)
//!
//! Not promised: that a damaged end of the log is noticed (sled recovers to an older state and reports
//! success; the anchor above notices), or that a crafted store cannot make sled allocate without bound. A
//! build with `panic = "abort"` loses the guard. No other file names sled.

mod holes;
mod repair;
#[cfg(test)]
mod tests;

use std::fs::{self, File, TryLockError};
use std::io;
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::guard::guarded;
use inmost_storage::{Address, Batch, Engine, StorageError};

use crate::files;

/// One generation in a folder of its own.
pub(crate) struct SledEngine {
    handle: Handle,
    /// Second handle of sled's log: sled offers no call that makes its writes durable.
    log: File,
    folder: PathBuf,
    /// One writer at a time: the lab tested no other, and the expectation must hold until the batch is in.
    writer: Mutex<()>,
    poisoned: AtomicBool,
}

impl SledEngine {
    /// Creates a generation; it is empty and durable.
    ///
    /// # Errors
    /// `AlreadyExists` if the folder is there.
    pub(crate) fn create(folder: &Path) -> Result<Self, StorageError> {
        files::create_private_folder(folder)?;
        let created = Self::start(folder).and_then(|engine| {
            files::sync_folder(folder.parent().unwrap_or(folder))?;
            Ok(engine)
        });
        if created.is_err() {
            // Best effort: a generation that no header names is removed at the next unlock anyway.
            let _ = fs::remove_dir_all(folder);
        }
        created
    }

    /// Opens an existing generation after mending what sled itself would stumble over.
    pub(crate) fn open(folder: &Path) -> Result<Self, StorageError> {
        let log = folder.join(repair::LOG);
        // sled would quietly start an empty database in place of a lost one.
        let claim = match claim(&log) {
            Err(StorageError::Io(error)) if error.kind() == io::ErrorKind::NotFound => {
                return Err(StorageError::Corrupt("the engine's log is missing".into()));
            }
            claim => claim?,
        };
        holes::cut(&claim)?;
        repair::before_open(folder, claim.metadata()?.len())?;
        drop(claim);
        files::make_private(folder)?;
        Self::start(folder)
    }

    /// Opens an existing generation without its snapshots, so that the new one has the room of the old. They
    /// hold nothing but an index of the log; building it anew takes time.
    pub(crate) fn open_without_snapshots(folder: &Path) -> Result<Self, StorageError> {
        repair::remove_snapshots(folder)?;
        Self::open(folder)
    }

    fn start(folder: &Path) -> Result<Self, StorageError> {
        let handle = Handle::open(folder)?;
        // The first pages of a new database are still in sled's buffer.
        handle.call(|db| db.flush())?;
        settle(folder)?;
        let log = files::open_to_write(&folder.join(repair::LOG))?;
        Ok(Self {
            handle,
            log,
            folder: folder.to_path_buf(),
            writer: Mutex::new(()),
            poisoned: AtomicBool::new(false),
        })
    }

    fn check_usable(&self) -> Result<(), StorageError> {
        let poisoned = self.poisoned.load(Ordering::SeqCst);
        if poisoned { Err(StorageError::Poisoned) } else { Ok(()) }
    }

    fn poison_on_error<T>(&self, result: Result<T, StorageError>) -> Result<T, StorageError> {
        if result.is_err() {
            self.poisoned.store(true, Ordering::SeqCst);
        }
        result
    }
}

impl Engine for SledEngine {
    fn get_many(&self, addresses: &[Address]) -> Result<Vec<Option<Vec<u8>>>, StorageError> {
        self.check_usable()?;
        self.handle.call(|db| {
            addresses
                .iter()
                .map(|address| Ok(db.get(address.0)?.map(|value| value.to_vec())))
                .collect()
        })
    }

    fn scan(
        &self,
        after: Option<&Address>,
        limit: usize,
    ) -> Result<Vec<(Address, Vec<u8>)>, StorageError> {
        self.check_usable()?;
        let from = after.map_or(Bound::Unbounded, |address| Bound::Excluded(address.0));
        let page: Vec<_> = self
            .handle
            .call(|db| db.range::<[u8; 32], _>((from, Bound::Unbounded)).take(limit).collect())?;
        page.into_iter().map(|(key, value)| Ok((parse_address(&key)?, value.to_vec()))).collect()
    }

    fn apply(&self, batch: &Batch) -> Result<(), StorageError> {
        let _writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        self.check_usable()?;
        batch.check_bounds()?;
        if let Some((root, expected)) = &batch.expect {
            let found = self.handle.call(|db| db.get(root.0))?;
            if found.as_deref() != expected.as_deref() {
                return Err(StorageError::Conflict);
            }
        }
        let mut changes = sled::Batch::default();
        for (address, value) in &batch.puts {
            changes.insert(&address.0, value.as_slice());
        }
        for address in &batch.deletes {
            changes.remove(&address.0);
        }
        self.poison_on_error(self.handle.call(|db| db.apply_batch(changes)))
    }

    fn sync(&self) -> Result<(), StorageError> {
        self.check_usable()?;
        let flushed = self.handle.call(|db| db.flush());
        self.poison_on_error(flushed.and_then(|_| Ok(self.log.sync_data()?)))
    }

    fn size(&self) -> Result<u64, StorageError> {
        self.check_usable()?;
        Ok(files::size_below(&self.folder)?)
    }

    fn close(mut self: Box<Self>) -> Result<(), StorageError> {
        let synced = self.sync();
        self.handle.release();
        synced?;
        // sled lets go of its lock only when its last internal reference is gone, which can be after drop.
        claim(&self.folder.join(repair::LOG))?;
        check_no_blobs(&self.folder)
    }
}

/// sled's database; it is dropped inside the same guard as every other call into it.
struct Handle(Option<sled::Db>);

impl Handle {
    /// sled's page cache. Values are read through the decoded cache above, so this one only has to hold
    /// the index and the leaves being written; sled's default is 1 GiB.
    const CACHE_BYTES: u64 = 32 << 20;

    /// Opens the database, waiting for an earlier handle of this process to be gone.
    fn open(folder: &Path) -> Result<Self, StorageError> {
        // A configuration remembers the errors of an attempt, so each attempt has its own. The
        // background flusher stays off: what is durable is ours to say, at every commit.
        let open = || {
            sled::Config::new()
                .path(folder)
                .cache_capacity(Self::CACHE_BYTES)
                .segment_size(repair::SEGMENT_BYTES)
                .flush_every_ms(None)
                .open()
        };
        Ok(Self(Some(while_in_use(|| guarded(storage_error, open))?)))
    }

    fn call<T>(
        &self,
        call: impl FnOnce(&sled::Db) -> Result<T, sled::Error>,
    ) -> Result<T, StorageError> {
        let db = self.0.as_ref().ok_or(StorageError::Poisoned)?;
        guarded(storage_error, || call(db))
    }

    fn release(&mut self) {
        let db = self.0.take();
        // Whoever needs the outcome has synced before; sled's own flush on drop says nothing.
        let _ = guarded(storage_error, || {
            drop(db);
            Ok(())
        });
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.release();
    }
}

/// How long an earlier holder of sled's lock may take to let go: sled drops its file in the background.
const LOCK_WAIT: Duration = Duration::from_secs(1);
const LOCK_POLL: Duration = Duration::from_millis(5);

/// The error of the seam for one of the engine.
fn storage_error(error: sled::Error) -> StorageError {
    match error {
        // sled drops the kind of this error and keeps it as text.
        sled::Error::Io(error) if error.to_string().contains("could not acquire lock") => {
            StorageError::InUse(None)
        }
        // A file shorter than its own index says.
        sled::Error::Io(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            StorageError::Corrupt(error.to_string())
        }
        sled::Error::Io(error) => error.into(),
        // In its own words this is an offset that is not known and a backtrace that is empty.
        sled::Error::Corruption { .. } => StorageError::Corrupt("a checksum is wrong".into()),
        error => StorageError::Corrupt(error.to_string()),
    }
}

/// Waits until nobody holds sled's lock on its log, and holds it until the file is dropped.
fn claim(log: &Path) -> Result<File, StorageError> {
    let file = files::open_to_write(log)?;
    while_in_use(|| match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(StorageError::InUse(None)),
        Err(TryLockError::Error(error)) => Err(error.into()),
    })?;
    Ok(file)
}

/// Repeats an attempt while another handle holds the lock, for [`LOCK_WAIT`] at most.
fn while_in_use<T>(attempt: impl Fn() -> Result<T, StorageError>) -> Result<T, StorageError> {
    let deadline = Instant::now() + LOCK_WAIT;
    loop {
        match attempt() {
            Err(StorageError::InUse(_)) if Instant::now() < deadline => {
                thread::sleep(LOCK_POLL);
            }
            outcome => return outcome,
        }
    }
}

/// Makes what an open has created private and durable, names included; sled does neither.
fn settle(folder: &Path) -> Result<(), StorageError> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        files::make_private(&path)?;
        if path.is_dir() {
            files::sync_folder(&path)?;
        } else {
            files::open_to_write(&path)?.sync_all()?;
        }
    }
    Ok(files::sync_folder(folder)?)
}

/// sled never syncs its blob files and leaks them, so no value may ever be long enough to become one.
fn check_no_blobs(folder: &Path) -> Result<(), StorageError> {
    match fs::read_dir(folder.join(repair::BLOBS))?.next() {
        None => Ok(()),
        Some(_) => Err(StorageError::Corrupt("a value has left the engine's log".into())),
    }
}

fn parse_address(key: &[u8]) -> Result<Address, StorageError> {
    let bytes = key.try_into();
    bytes.map(Address).map_err(|_| StorageError::Corrupt("a key that is no address".into()))
}
