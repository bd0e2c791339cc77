//! Internal crate of `inmost`, for this workspace only. It promises no semantic versioning.
//!
//! The default engine: sled 0.34.7, used under the rules with which it survived every power cut of the lab.
//!
//! sled alone is not enough: its `flush` does not reach the disk on Linux, an interrupted open leaves files
//! that it cannot open again, and damaged files make it panic. Therefore:
//!
//! - `log_check` verifies sled's log, and `repair` its other files, before sled opens them
//! - every call into sled is guarded: a panic becomes [`StorageError::Corrupt`]
//! - a sync ends with `fdatasync` on a second handle of sled's log
//! - after a failed write, the engine is not used again
//!
//! sled reuses a segment of its log when it has handed the replacing data to the operating system, which can be before our
//! sync. It does so two whole segments after that data at the earliest. So its writes between two syncs must not begin
//! more than one segment: batches have few records, segments are four times their usual length, and changes that are applied
//! loosely are synced as soon as they have begun one. (The lab lost stores with the usual length.)
//!
//! Not promised: that damage behind the frontier is noticed (sled recovers to an older state and reports success; the
//! journal in front has what is there), or that a crafted store cannot make sled allocate without bound.
//! A build with `panic = "abort"` does not have the guard. No other crate of the workspace names sled.

mod claim;
mod cursor;
mod descriptors;
mod eviction;
mod filling;
#[cfg(feature = "testing")]
pub mod forgery;
mod handle;
mod holes;
mod index;
mod log;
mod log_check;
mod page_table;
mod rebuild;
mod repair;
mod snapshot;
#[cfg(test)]
mod tests;
mod threads;
mod written;

use std::fs::{self, File};
use std::io;
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use inmost_engines::poison::Poison;
use inmost_storage::{Address, Batch, Engine, EngineKind, StorageError};

use claim::claim;
use cursor::{Cursor, Progress};
use eviction::Eviction;
use handle::Handle;
use inmost_engines::files;
use inmost_engines::local_engine::{Expected, Frontier, LocalEngine, LocalKind};

/// sled, for [`LocalStorage`](inmost_engines::local::LocalStorage).
pub const KIND: LocalKind = LocalKind {
    kind: EngineKind::Sled,
    create: |folder| Ok(Box::new(SledEngine::create(folder)?)),
    open: |folder, expected| Ok(Box::new(SledEngine::open(folder, expected)?)),
    open_in_no_room: |folder, expected| {
        Ok(Box::new(SledEngine::open_without_snapshots(folder, expected)?))
    },
    batch_records: BATCH,
    index_after: Some(INDEX_AFTER),
    file: repair::LOG,
    written: written::written,
};

/// Records in one batch of a checkpoint. After each of them sled decides whether its log must be synced.
const BATCH: usize = 12;
/// Batches after which sled's index is brought up to date: about 4 MiB of its log, more if most records are long. All of it is
/// replayed after a crash.
const INDEX_AFTER: u32 = 100;

/// One generation in its own folder.
struct SledEngine {
    handle: Handle,
    /// A second handle of sled's log, because sled has no call that makes its writes durable.
    log: File,
    eviction: Eviction,
    folder: PathBuf,
    /// Allows one writer at a time: the lab tested no other case, and the expected root must not change
    /// before the batch is applied.
    writer: Mutex<()>,
    /// Whether anything may be written and not synced.
    unsynced: AtomicBool,
    /// Whether this engine has synced the log once: what an earlier process has left of it too.
    was_synced: AtomicBool,
    progress: Mutex<Progress>,
    poison: Poison,
}

impl SledEngine {
    /// Creates an empty, durable generation.
    ///
    /// # Errors
    /// `AlreadyExists` if the folder exists.
    fn create(folder: &Path) -> Result<Self, StorageError> {
        files::create_private_folder(folder)?;
        let created = Self::start(folder, Cursor::default()).and_then(|engine| {
            // The first pages of a new database are still in sled's buffer.
            engine.handle.call(|db| db.flush())?;
            sync_all(folder)?;
            files::sync_folder(folder.parent().unwrap_or(folder))?;
            Ok(engine)
        });
        if created.is_err() {
            // Best effort, because a generation that no header names is removed at the next unlock anyway.
            let _ = fs::remove_dir_all(folder);
        }
        created
    }

    /// Opens an existing generation, after verifying its log and repairing files that sled itself would fail on.
    ///
    /// # Errors
    /// [`StorageError::Corrupt`] if the log is damaged, or what `expected` returns for the mark. No file has changed then.
    fn open(folder: &Path, expected: &Expected<'_>) -> Result<Self, StorageError> {
        // Before anything that a thread of the parent may have locked.
        threads::claim()?;
        let log = folder.join(repair::LOG);
        // sled would silently create an empty database in place of a lost one.
        let claim = match claim(&log, &[]) {
            Err(StorageError::Io(error)) if error.kind() == io::ErrorKind::NotFound => {
                return Err(StorageError::Corrupt("the engine's log is missing".into()));
            }
            claim => claim?,
        };
        let kept = holes::inspect(&claim)?;
        let mut plan = repair::inspect(folder, kept.length)?;
        let verify = |snapshot| {
            log_check::check(&claim, kept.length, snapshot, &expected.frontier, expected.mark)
        };
        let snapshot = plan.snapshot.take();
        let is_lost = snapshot.as_ref().and_then(|it| it.position).is_none();
        let mut checked = verify(snapshot);
        if is_lost
            && checked.is_err()
            && let Some(body) = rebuild::rebuild(&claim, kept.length, &expected.frontier)?
        {
            checked = verify(plan.make_snapshot(folder, &body, kept.length));
        }
        let checked = checked?;
        (expected.admit)(checked.mark.as_deref())?;
        // Nothing was written up to here.
        kept.cut(&claim)?;
        plan.carry_out(folder)?;
        // sled's snapshot of what a killed process has written must not reach the disk before that does.
        claim.sync_data()?;
        drop(claim);
        files::make_private(folder)?;
        Self::start(folder, checked.cursor)
    }

    /// Deletes the snapshots of an existing generation and opens it, so that the new snapshot has their
    /// space.
    ///
    /// A snapshot is only an index of the log. Rebuilding it takes time.
    fn open_without_snapshots(
        folder: &Path,
        expected: &Expected<'_>,
    ) -> Result<Self, StorageError> {
        let log = files::open(&folder.join(repair::LOG))?;
        let length = log.metadata()?.len();
        // sled can do without a snapshot only if nothing that it would replay was given up.
        if log_check::check(&log, length, None, &expected.frontier, expected.mark).is_err() {
            return Err(StorageError::Full);
        }
        repair::remove_snapshots(folder)?;
        Self::open(folder, expected)
    }

    fn start(folder: &Path, cursor: Cursor) -> Result<Self, StorageError> {
        let number = descriptors::next_number(folder);
        let handle = Handle::open(folder)?;
        // sled creates files, at least a snapshot, with the modes of the umask. The names of new snapshots need not be
        // durable: sled rebuilds a lost or torn one from the log.
        repair::make_private(folder)?;
        let log = files::open_to_write(&folder.join(repair::LOG))?;
        // A forked child would keep sled's lock. Best effort: where the system has no way, it stays until sled closes.
        let _ = descriptors::release_lock(&log, number);
        let eviction = Eviction::default();
        eviction.note_length(&log);
        Ok(Self {
            handle,
            log,
            eviction,
            folder: folder.to_path_buf(),
            writer: Mutex::new(()),
            // What a killed process has written may be in the page cache only.
            unsynced: AtomicBool::new(true),
            was_synced: AtomicBool::new(false),
            progress: Mutex::new(Progress::new(cursor)),
            poison: Poison::default(),
        })
    }
}

impl SledEngine {
    /// Follows the log to its end and syncs it: everything before the new frontier is on the disk.
    fn sync_log(&self) -> Result<(), StorageError> {
        let mut progress = self.progress();
        progress.advance(&self.log)?;
        // Only on Linux does sled leave the disk's own cache unsynced. Elsewhere it has synced each buffer completely before
        // its flush returned, and `F_FULLFSYNC` is slow.
        let is_synced = !cfg!(target_os = "linux") && self.was_synced.swap(true, Ordering::SeqCst);
        if !is_synced {
            self.log.sync_data()?;
        }
        progress.note_synced();
        Ok(())
    }

    /// Counts records that sled was given. If it may write so many bytes for them and the next that the log must be looked
    /// at, has sled write and follows the log. Returns whether that must be synced now.
    fn follow_if_due(&self, records: usize) -> Result<bool, StorageError> {
        let mut progress = self.progress();
        if progress.count(records) {
            return Ok(false);
        }
        self.handle.call(|db| db.flush())?;
        progress.advance(&self.log)?;
        Ok(progress.has_left_segment())
    }

    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Engine for SledEngine {
    fn get_many(&self, addresses: &[Address]) -> Result<Vec<Option<Vec<u8>>>, StorageError> {
        self.poison.check()?;
        self.handle.call(|db| {
            addresses
                .iter()
                .map(|address| {
                    let value = db.get(address.0)?;
                    self.eviction.hasten(db, address.0)?;
                    Ok(value.map(|value| value.to_vec()))
                })
                .collect()
        })
    }

    fn scan(
        &self,
        after: Option<&Address>,
        limit: usize,
    ) -> Result<Vec<(Address, Vec<u8>)>, StorageError> {
        self.poison.check()?;
        let from = after.map_or(Bound::Unbounded, |address| Bound::Excluded(address.0));
        let page: Vec<_> = self
            .handle
            .call(|db| db.range::<[u8; 32], _>((from, Bound::Unbounded)).take(limit).collect())?;
        page.into_iter().map(|(key, value)| Ok((parse_address(&key)?, value.to_vec()))).collect()
    }

    fn apply(&self, batch: &Batch) -> Result<(), StorageError> {
        let _writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        self.poison.check()?;
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
        self.unsynced.store(true, Ordering::SeqCst);
        let applied = self.poison.on_error(self.handle.call(|db| db.apply_batch(changes)));
        applied.inspect_err(|_| files::forget_cached_in(&self.folder))
    }

    fn sync(&self) -> Result<(), StorageError> {
        self.poison.check()?;
        if !self.unsynced.swap(false, Ordering::SeqCst) {
            return Ok(());
        }
        let flushed = self.handle.call(|db| db.flush());
        self.eviction.note_length(&self.log);
        let synced = self.poison.on_error(flushed.and_then(|_| self.sync_log()));
        synced.inspect_err(|_| files::forget_cached_in(&self.folder))
    }

    fn size(&self) -> Result<u64, StorageError> {
        self.poison.check()?;
        Ok(files::size_below(&self.folder)?)
    }

    fn close(mut self: Box<Self>) -> Result<(), StorageError> {
        let synced = self.sync();
        if synced.is_ok() && self.progress().is_behind_by_segments() {
            // Best effort: without a newer snapshot, only more of the log is replayed by the next opening.
            let _ = self.write_snapshot();
        }
        self.handle.release();
        synced?;
        // sled closes its files when its last internal reference is dropped, which can be after this drop.
        claim(&self.folder.join(repair::LOG), &[&self.log])?;
        if self.progress().is_behind_by_segments() {
            let _ = renew_snapshot(&self.folder, &self.log);
        }
        check_no_blobs(&self.folder)
    }

    fn discard(mut self: Box<Self>) {
        self.handle.release();
        // Best effort: without this wait, removing the files of a database that is still open fails on some systems.
        let _ = claim(&self.folder.join(repair::LOG), &[&self.log]);
    }
}

impl LocalEngine for SledEngine {
    /// Changes one record after the other, without a batch of sled's, so that sled writes the records of several calls at once.
    fn apply_loosely(&self, batch: &Batch) -> Result<bool, StorageError> {
        if batch.records() > cursor::NEXT_RECORDS {
            self.sync()?;
            self.apply(batch)?;
            return self.sync().map(|()| true);
        }
        let _writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        self.poison.check()?;
        self.unsynced.store(true, Ordering::SeqCst);
        let applied = self.handle.call(|db| {
            for (address, value) in &batch.puts {
                db.insert(address.0, value.as_slice())?;
            }
            for address in &batch.deletes {
                db.remove(address.0)?;
            }
            Ok(())
        });
        let is_due = applied.and_then(|()| self.follow_if_due(batch.records()));
        let is_due = self.poison.on_error(is_due);
        if is_due.inspect_err(|_| files::forget_cached_in(&self.folder))? {
            self.sync()?;
            return Ok(true);
        }
        Ok(false)
    }

    fn fill(&self, records: &[(Address, Vec<u8>)]) -> Result<(), StorageError> {
        self.fill_in_order(records)
    }

    fn frontier(&self) -> Frontier {
        self.progress().frontier
    }

    fn index(&self) -> Result<bool, StorageError> {
        self.write_snapshot()
    }
}

/// Opens a closed database and closes it, because sled makes a snapshot only when it opens one.
fn renew_snapshot(folder: &Path, log: &File) -> Result<(), StorageError> {
    Handle::open(folder)?.release();
    claim(&folder.join(repair::LOG), &[log])?.sync_data()?;
    repair::make_private(folder)
}

/// Makes all files of a new database durable, and their names. sled does neither.
fn sync_all(folder: &Path) -> Result<(), StorageError> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            files::sync_folder(&path)?;
        } else {
            files::open_to_write(&path)?.sync_all()?;
        }
    }
    Ok(files::sync_folder(folder)?)
}

/// Refuses blob files. sled never syncs them and leaks them, so no value may be long enough to need one.
fn check_no_blobs(folder: &Path) -> Result<(), StorageError> {
    match fs::read_dir(folder.join(repair::BLOBS))?.next() {
        None => Ok(()),
        Some(_) => Err(StorageError::Corrupt("the engine stored a value outside its log".into())),
    }
}

fn parse_address(key: &[u8]) -> Result<Address, StorageError> {
    let bytes = key.try_into();
    bytes.map(Address).map_err(|_| StorageError::Corrupt("a key is not an address".into()))
}
