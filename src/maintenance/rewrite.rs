//! Rewrites the whole store: one routine for purge, data-key rotation, compaction, backup and a change of engine.
//!
//! The live records are written to a new generation under a fresh data key, in order of their addresses, so the new log
//! does not show which records were written when, or together. The headers are written only after that generation is
//! synced and read back, and the old one is removed only after that: at any moment one of the two is complete. Writers
//! wait. Readers use the old generation until the new one takes its place.

use inmost_engines::memory::MemoryStorage;
use inmost_format::header::Unlocked;
use inmost_format::limits::FILE_INLINE_AGAIN;
use inmost_format::record::node::{Child, Root};
use inmost_format::record::{Node, NodeSource, RecordId};
use inmost_storage::limits::BATCH_RECORDS_MAX;
use inmost_storage::{Address, Batch, Engine, EngineKind, Rewriting, Storage, StorageError};

use super::copy::{Copy, CopyTree, ReadBack, strict};
use crate::session::engines::is_built;
use crate::session::generation::{NextGeneration, NextKeys, Written};
use crate::session::leftovers;
use crate::session::{
    Exclusive, Open, ReadAhead, Session, StorageEngine, StoreError, check_clock, now, open,
    renew_lease,
};

impl Session {
    /// Rewrites the store under a fresh data key and removes the old records. Deleted and overwritten content is then
    /// gone from the store's files, and its space is free. Drops every version that the history keeps;
    /// [`compact`](Session::compact) keeps them.
    ///
    /// Writers wait meanwhile; readers do not. For a store in memory this does nothing.
    ///
    /// # Errors
    /// [`StoreError::Tampered`] if a live record is damaged; [`StoreError::DiskFull`], [`StoreError::Io`],
    /// [`StoreError::Storage`]. On an error nothing has changed, unless the session is halted: in that case the next unlock finds either the old or the new
    /// state. [`StoreError::OldRecordsRemain`] if the rewrite succeeded but the old records could not be removed.
    ///
    /// # Security
    /// Old ciphertext may survive in free blocks, snapshots and copies. It opens only with an old copy of the header
    /// and a credential that was valid for it. Backups are not purged.
    pub fn purge(&self) -> Result<(), StoreError> {
        self.purge_reporting(&mut |_| {})
    }

    /// As [`purge`](Session::purge), with a callback that gets the number of records written so far.
    /// It must not use the session: a store that several hosts share is locked meanwhile, and it would wait for itself.
    ///
    /// # Errors
    /// Those of [`purge`](Session::purge).
    pub fn purge_reporting(&self, progress: &mut dyn FnMut(u64)) -> Result<(), StoreError> {
        self.exclusive(|exclusive| exclusive.rewrite(None, Versions::Drop, progress))
    }

    /// Rewrites the store as a [`purge`](Session::purge) does, with the versions that it keeps.
    ///
    /// # Errors
    /// Those of [`purge`](Session::purge); [`StoreError::Tampered`] also if the history is damaged.
    pub fn compact(&self) -> Result<(), StoreError> {
        self.compact_reporting(&mut |_| {})
    }

    /// As [`compact`](Session::compact), with a callback that gets the number of records written so far.
    /// It must not use the session: a store that several hosts share is locked meanwhile, and it would wait for itself.
    ///
    /// # Errors
    /// Those of [`compact`](Session::compact).
    pub fn compact_reporting(&self, progress: &mut dyn FnMut(u64)) -> Result<(), StoreError> {
        self.exclusive(|exclusive| exclusive.rewrite(None, Versions::Keep, progress))
    }

    /// Moves the store to another engine: a [`compact`](Session::compact) that writes the new records to that engine,
    /// those of versions included. For the store's present engine it is an ordinary one.
    ///
    /// # Errors
    /// [`StoreError::EngineNotBuilt`], in which case nothing has changed; those of [`compact`](Session::compact).
    pub fn migrate(&self, engine: StorageEngine) -> Result<(), StoreError> {
        self.migrate_reporting(engine, &mut |_| {})
    }

    /// As [`migrate`](Session::migrate), with a callback that gets the number of records written so far.
    /// It must not use the session: a store that several hosts share is locked meanwhile, and it would wait for itself.
    ///
    /// # Errors
    /// Those of [`migrate`](Session::migrate).
    pub fn migrate_reporting(
        &self,
        engine: StorageEngine,
        progress: &mut dyn FnMut(u64),
    ) -> Result<(), StoreError> {
        if !is_built(engine.kind()) {
            return Err(StoreError::EngineNotBuilt);
        }
        let engine = Some(engine.kind());
        self.exclusive(|exclusive| exclusive.rewrite(engine, Versions::Keep, progress))
    }

    /// Whether a [`compact`](Session::compact) is worth its cost: the store takes more than four times the live bytes plus
    /// 16 MiB on disk. The live bytes are estimated from the number and length of the files; no record is read.
    ///
    /// # Errors
    /// [`StoreError::Locked`], [`StoreError::Halted`], or an error when listing the engine's files.
    pub fn compaction_due(&self) -> Result<bool, StoreError> {
        self.read(|open| {
            let root = open.root();
            // Estimated from the totals: reading every record would cost too much, and would include records that wait
            // to be reaped. A record is an eighth longer than its text; a short text takes half a KiB.
            let text = root.bytes.saturating_add(root.bytes / 8);
            let live = text.saturating_add(root.files.saturating_mul(512));
            let worth = live.saturating_mul(4).saturating_add(16 << 20);
            Ok(open.storage().size()? > worth)
        })
    }
}

/// What a copy does with earlier versions.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Versions {
    Keep,
    Drop,
}

impl Versions {
    /// The root of a copy.
    pub(super) fn root(self, root: &Root) -> Root {
        let mut root = root.clone();
        // Where none are kept any more, the rest of a history waits to be removed.
        if self == Self::Drop || root.keep == 0 {
            root.history = Child::NONE;
        }
        // Which files were read when is a trace of the past, like a version.
        if self == Self::Drop && root.reads_since > 0 {
            root.readings = Child::NONE;
            root.reads_since = now().max(1);
        }
        root
    }
}

impl Exclusive<'_> {
    /// Moves the store to a new generation, on another engine if one is given.
    pub(super) fn rewrite(
        &mut self,
        engine: Option<EngineKind>,
        versions: Versions,
        progress: &mut dyn FnMut(u64),
    ) -> Result<(), StoreError> {
        self.replace_generation(versions, progress, |keys, number| {
            NextGeneration::generation(keys, number, engine.unwrap_or(keys.header().engine()))
        })
    }

    /// Writes a new generation, makes the header name it, and switches to it.
    ///
    /// The storage notes the rewrite before anything is created, and forgets it when nothing is left behind. A crash in
    /// between leaves the note. By it the next unlock removes the new generation if the header does not name it yet, and
    /// otherwise the old one.
    pub(super) fn replace_generation(
        &mut self,
        versions: Versions,
        progress: &mut dyn FnMut(u64),
        mut next: impl FnMut(&Unlocked, u64) -> Result<NextGeneration, StoreError>,
    ) -> Result<(), StoreError> {
        // Other hosts follow a switch with their next call; after a rotation they are locked.
        let is_switched = self.switch_between_hosts(&mut |open, number| {
            let next = next(open.keys().ok_or(StoreError::InMemory)?, number)?;
            let written = write_and_announce(open, &next, versions, &mut *progress)?;
            Ok((next, written))
        })?;
        if is_switched {
            return Ok(());
        }
        let written = self.session().read_once(|open| {
            let Some(keys) = open.keys() else { return Ok(None) };
            let storage = open.storage();
            // What follows goes by names, and must not meet a copy that was put in the place of these files.
            storage.check_files()?;
            // An earlier rewrite may have left something that could not be removed then.
            leftovers::clear(storage, keys.header(), &[])?;
            let old = keys.header().generation();
            let newest = storage.generations()?.into_iter().max().unwrap_or(old).max(old);
            let new = newest.checked_add(1).ok_or(StoreError::TooLarge)?;
            let scratch = new.checked_add(1).ok_or(StoreError::TooLarge)?;
            let next = next(keys, new)?;
            let rewriting = Rewriting { old, new, scratch, switched: false, kept_header: None };
            let written = storage
                .begin_rewrite(&rewriting)
                .map_err(StoreError::from)
                .and_then(|()| write_and_announce(open, &next, versions, progress));
            let written = written.inspect_err(|_| abandon(storage, &rewriting))?;
            Ok::<_, StoreError>(Some((rewriting, next, written)))
        })?;
        let Some((mut rewriting, next, written)) = written else { return Ok(()) };
        self.switch(next, written)?.discard();
        self.session().read(|open| {
            let storage = open.storage();
            rewriting.switched = true;
            // Best effort: without it, only a header that is put back before the old generation is gone does harm.
            let _ = storage.begin_rewrite(&rewriting);
            open.renew_anchor();
            let removed =
                storage.check_files().and_then(|()| storage.remove_generation(rewriting.old));
            removed
                .and_then(|()| storage.finish_rewrite())
                .map_err(|error| StoreError::OldRecordsRemain(StoreError::from(error).to_string()))
        })
    }
}

/// Removes what a failed rewrite has written. If that fails too, the note stays, and the next unlock removes it.
pub(super) fn abandon(storage: &dyn Storage, rewriting: &Rewriting) {
    if remove_unfinished(storage, rewriting).is_ok() {
        let _ = storage.finish_rewrite();
    }
}

/// Removes the generations that a rewrite has begun.
pub(super) fn remove_unfinished(
    storage: &dyn Storage,
    rewriting: &Rewriting,
) -> Result<(), StoreError> {
    let unfinished = [rewriting.new, rewriting.scratch];
    for removed in unfinished.map(|generation| storage.remove_generation(generation)) {
        removed?;
    }
    Ok(())
}

/// Writes the next generation. If its keys are new, also writes its mark to the anchor before a header names it.
pub(super) fn write_and_announce(
    open: &Open,
    next: &NextGeneration,
    versions: Versions,
    progress: &mut dyn FnMut(u64),
) -> Result<Written, StoreError> {
    let commit = open.root().commit.saturating_add(1);
    let (trail, anchored) = (open.next_trail(), open.anchored_now());
    let root = versions.root(&Root { commit, trail, anchored, ..open.root().clone() });
    let from = ReadAhead::once(open);
    let written = write_generation(&from, &root, open.storage(), next, &mut strict, progress)?;
    if let NextKeys::Rotated(keys) = &next.keys
        && let Err(error) = open.announce(keys, &written.root, &written.root_value)
    {
        let _ = written.engine.close();
        return Err(error);
    }
    Ok(written)
}

/// Writes the records below `root` under new keys, in order of their addresses, and reads them all back.
///
/// Sealing proceeds from the leaves to the root, which is the order of the tree and would show in the log. So sealed
/// records are collected first, in memory or, for a large store, in a scratch generation, and copied from there in
/// order.
pub(super) fn write_generation(
    from: &dyn NodeSource,
    root: &Root,
    storage: &dyn Storage,
    next: &NextGeneration,
    copy_tree: CopyTree<'_>,
    progress: &mut dyn FnMut(u64),
) -> Result<Written, StoreError> {
    let mut size = root.bytes.saturating_add(root.files.saturating_mul(FILE_INLINE_AGAIN));
    if !root.history.is_none()
        && let Ok(Node::History(history)) =
            from.load(RecordId::history(root.history.id), &root.history.tag)
    {
        size = size.saturating_add(history.held);
    }
    check_clock()?;
    let in_memory = MemoryStorage::default();
    let scratch_number = next.generation.checked_add(1).ok_or(StoreError::TooLarge)?;
    let (scratch_storage, kind): (&dyn Storage, _) = if size <= COLLECTED_IN_MEMORY {
        (&in_memory, EngineKind::Memory)
    } else {
        (storage, next.engine)
    };
    let scratch = scratch_storage.create_generation(scratch_number, kind)?;
    let mut into = |puts: Vec<_>| {
        scratch.apply(&Batch { puts, ..Batch::default() }).and_then(|()| scratch.sync())
    };
    let mut copy = Copy::new(from, &next.sealer, &mut into);
    let copied = copy.root(root, next.header_id(), copy_tree);
    let records = copy.records();
    drop(copy);
    let engine = still_held(scratch_storage, scratch_number, copied).and_then(|()| {
        let mac = next.sealer.journal();
        let engine = storage.create_generation_with(next.generation, next.engine, mac)?;
        let sorted = sort(&*scratch, &*engine, records, progress);
        let sorted = still_held(scratch_storage, scratch_number, sorted);
        still_held(storage, next.generation, sorted).map(|()| engine)
    });
    scratch.discard();
    let removed = scratch_storage.remove_generation(scratch_number);
    let engine = engine?;
    match removed {
        // Another host is changing the header. The next rewrite or unlock removes it.
        Ok(()) | Err(StorageError::InUse(_)) => {}
        Err(error) => return Err(error.into()),
    }

    let read_back = || {
        let (root, root_value) = open::read_root(&*engine, &next.sealer)?;
        if ReadBack::count(&*engine, &next.sealer, &root)? != records {
            return Err(StoreError::Storage("the new generation is missing records".to_owned()));
        }
        Ok((root, root_value))
    };
    let (root, root_value) = still_held(storage, next.generation, read_back())?;
    Ok(Written { engine, root, root_value })
}

/// The result of a phase in which a generation was written or read, if it is still there. In a shared place, other hosts remove
/// one whose host stood still for long. Its records are then absent, which would look like damage.
fn still_held<T>(
    storage: &dyn Storage,
    generation: u64,
    result: Result<T, StoreError>,
) -> Result<T, StoreError> {
    renew_lease(storage, generation)?;
    result
}

/// Copies this many records from one engine to another in order of their addresses. A server that has more of them is lying, and
/// could go on for ever.
fn sort(
    from: &dyn Engine,
    into: &dyn Engine,
    most: u64,
    progress: &mut dyn FnMut(u64),
) -> Result<(), StoreError> {
    let mut after: Option<Address> = None;
    let mut records = 0_u64;
    loop {
        let page = from.scan(after.as_ref(), PAGE)?;
        let Some((last, _)) = page.last() else { return Ok(into.sync()?) };
        after = Some(*last);
        records = records.saturating_add(u64::try_from(page.len()).unwrap_or_default());
        if records > most {
            let more = "the scratch generation has more records than were written";
            return Err(StoreError::Storage(more.to_owned()));
        }
        into.apply(&Batch { puts: page, ..Batch::default() })?;
        progress(records);
    }
}

/// Records read in one page and written as one batch: about half a MiB.
const PAGE: usize = BATCH_RECORDS_MAX;
/// The largest store, in bytes of text, that is collected in memory for sorting. Less in tests, so that they reach the scratch
/// generation.
const COLLECTED_IN_MEMORY: u64 = if cfg!(test) { 256 << 10 } else { 64 << 20 };
