//! Writing the whole store anew: one routine for real deletion, a new data key, compaction, backup and a change of
//! engine.
//!
//! Under a fresh data key, the live records go into a new generation in the order of their addresses, so that the new
//! log shows nothing of what was written when or together. Only when that generation is synced and read back
//! are the headers written, and only then is the old one removed: at every moment one of the two is whole. Writers
//! wait; readers go on with the old generation until the new one takes its place.

use std::path::Path;

use super::anchor::{Anchor, Mark};
use super::commit::Exclusive;
use super::copy::{Copy, CopyTree, ReadBack, strict};
use super::create::FIRST_GENERATION;
use super::error::StoreError;
use super::open::{self, Open};
use super::options::StorageEngine;
use super::session::{Session, read, write};
use super::unlocked::{NextHeader, Unlocked};
use crate::crypto::keys::{DataKey, RecordKeys};
use crate::limits::{BATCH_RECORDS, FILE_INLINE_AGAIN};
use crate::record::node::Root;
use crate::record::{HeaderId, Sealer};
use crate::storage::local::LocalStorage;
use crate::storage::memory::MemoryStorage;
use crate::storage::{Address, Batch, Engine, EngineKind, HeaderCopy, Storage};

impl Session {
    /// Writes the store anew under a fresh data key and removes the old records: what was deleted or overwritten is gone
    /// from the store's files, and the space it took is free.
    ///
    /// `progress` is told the number of records written so far. Writers wait meanwhile, readers do not. A store in
    /// memory has nothing to purge.
    ///
    /// # Errors
    /// [`StoreError::Tampered`] if a live record is damaged; [`StoreError::Io`], [`StoreError::Storage`]. Nothing has changed
    /// then, unless the session is halted: in that case the next unlock finds either the old or the new state.
    ///
    /// # Security
    /// Old ciphertext may survive in free blocks, snapshots and copies. It opens only with an old copy of the header
    /// and a credential that was valid for it. Backups are not purged.
    pub fn purge(&self, mut progress: impl FnMut(u64)) -> Result<(), StoreError> {
        self.exclusive(|exclusive| exclusive.rewrite(None, &mut progress))
    }

    /// Moves the store to another engine: a [`purge`](Session::purge) whose new records are kept in it. Moving to the
    /// engine that the store has is a purge and no more.
    ///
    /// # Errors
    /// [`StoreError::EngineNotBuilt`], and then nothing was begun; those of [`purge`](Session::purge).
    pub fn migrate(
        &self,
        engine: StorageEngine,
        mut progress: impl FnMut(u64),
    ) -> Result<(), StoreError> {
        if !engine.kind().is_built() {
            return Err(StoreError::EngineNotBuilt);
        }
        self.exclusive(|exclusive| exclusive.rewrite(Some(engine.kind()), &mut progress))
    }

    /// Writes a consistent copy of the store to a new folder. It opens with the same credentials, holds the same state,
    /// and has a data key of its own. Writers wait meanwhile, readers do not.
    ///
    /// # Errors
    /// [`StoreError::AlreadyExists`]; [`StoreError::Tampered`] if a live record is damaged; [`StoreError::Io`]. Then there is no
    /// copy, and this store is as it was. A store in memory has no header to copy: [`StoreError::InMemory`].
    ///
    /// # Security
    /// A purge of this store does not reach its backups, and a keyslot removed here still opens them.
    pub fn backup(
        &self,
        path: impl AsRef<Path>,
        mut progress: impl FnMut(u64),
    ) -> Result<(), StoreError> {
        self.exclusive(|_| {
            let storage = LocalStorage::create(path.as_ref()).map_err(super::unlock::occupied)?;
            self.read(|open| {
                let keys = open.keys().ok_or(StoreError::InMemory)?;
                let engine = keys.header().engine();
                let next = Next::generation(keys, FIRST_GENERATION, engine)?;
                let commit = open.root().commit;
                let copy: CopyTree<'_> = &mut strict;
                let written = write_generation(open, &storage, &next, commit, copy, &mut progress)?;
                written.engine.close()?;
                let mark = Mark::of(commit, FIRST_GENERATION, &written.root_value);
                if let Some(mark) = mark {
                    Anchor::new(keys, None).remember(&storage, &mark);
                }
                write_headers(&storage, next.header())
            })?;
            storage.publish().map_err(super::unlock::occupied)?;
            Ok(())
        })
    }

    /// Whether the store takes much more room than what it holds, so that [`purge`](Session::purge) is worth it: more than
    /// three times the live bytes plus 8 MiB. What is live is estimated from the number of files and their length; no
    /// record is read.
    ///
    /// # Errors
    /// [`StoreError::Locked`], [`StoreError::Halted`], or a failure to list the engine's files.
    pub fn compaction_due(&self) -> Result<bool, StoreError> {
        self.read(|open| {
            let root = open.root();
            // From the totals: reading every record would cost more than the question is worth, and would count what
            // still waits to be reaped. A record is an eighth longer than its text, half a KiB where the text is short.
            let text = root.bytes.saturating_add(root.bytes / 8);
            let live = text.saturating_add(root.files.saturating_mul(512));
            let worth = live.saturating_mul(3).saturating_add(8 << 20);
            Ok(open.storage().size()? > worth)
        })
    }
}

impl Exclusive<'_> {
    /// Moves the store to a new generation, on another engine if one is named.
    pub(super) fn rewrite(
        &mut self,
        engine: Option<EngineKind>,
        progress: &mut dyn FnMut(u64),
    ) -> Result<(), StoreError> {
        self.replace_generation(progress, &mut strict, |keys, number| {
            Next::generation(keys, number, engine.unwrap_or(keys.header().engine()))
        })
    }

    /// Writes a new generation, makes the header name it, and goes on with it.
    pub(super) fn replace_generation(
        &mut self,
        progress: &mut dyn FnMut(u64),
        copy: CopyTree<'_>,
        next: impl FnOnce(&Unlocked, u64) -> Result<Next, StoreError>,
    ) -> Result<(), StoreError> {
        let session = self.session();
        let state = read(&session.shared.state);
        let open = state.open()?;
        let Some(keys) = open.keys() else { return Ok(()) };
        let old = keys.header().generation();
        let newest = open.storage().generations()?.into_iter().max().unwrap_or(old).max(old);
        let number = newest.checked_add(1).ok_or(StoreError::TooLarge)?;
        let next = next(keys, number)?;
        let commit = open.root().commit.saturating_add(1);
        let written = match write_generation(open, open.storage(), &next, commit, copy, progress) {
            Ok(written) => written,
            Err(error) => return Err(abandoned(open, number, error)),
        };
        if let NextKeys::Rotated(keys) = &next.keys
            && let Err(error) = open.announce(keys, commit, &written.root_value)
        {
            let _ = written.engine.close();
            return Err(abandoned(open, number, error));
        }
        let switched = write_headers(open.storage(), next.header());
        drop(state);
        switched.map_err(|error| session.halt(error))?;

        let before = {
            let mut state = write(&session.shared.state);
            let open = state.open_mut()?;
            open.replace(written.engine, next, written.root, written.root_value)
        };
        // The new generation is durable and named, and the old one is synced: closing it can fail without harm.
        let _ = before.close();
        session.read(|open| {
            open.renew_anchor();
            let removed = open.storage().remove_generation(old);
            removed
                .map_err(|error| StoreError::OldRecordsRemain(StoreError::from(error).to_string()))
        })
    }
}

/// What was begun is of no use; if it cannot be removed now, the next unlock does it.
fn abandoned(open: &Open, number: u64, error: StoreError) -> StoreError {
    let _ = open.storage().remove_generation(number);
    error
}

/// The header that a new generation belongs to, and the keys of its records.
pub(super) struct Next {
    pub(super) keys: NextKeys,
    pub(super) sealer: Sealer,
    generation: u64,
    engine: EngineKind,
}

/// Where the new header comes from.
pub(super) enum NextKeys {
    /// The same master key and slots.
    Same(Box<NextHeader>),
    /// A new master key with one slot.
    Rotated(Box<Unlocked>),
}

impl Next {
    pub(super) fn generation(
        keys: &Unlocked,
        number: u64,
        engine: EngineKind,
    ) -> Result<Self, StoreError> {
        let data_key = DataKey::generate()?;
        let store = keys.header().store();
        let sealer = Sealer::new(RecordKeys::derive(&data_key, &store, number), store, number);
        let header = keys.next_generation(number, engine, data_key)?;
        Ok(Self { keys: NextKeys::Same(Box::new(header)), sealer, generation: number, engine })
    }

    /// The generation that a rotated header names.
    pub(super) fn rotated(keys: Unlocked) -> Self {
        let header = keys.header();
        let (generation, engine) = (header.generation(), header.engine());
        let sealer = Sealer::new(keys.record_keys(), header.store(), generation);
        Self { keys: NextKeys::Rotated(Box::new(keys)), sealer, generation, engine }
    }

    fn header_id(&self) -> HeaderId {
        match &self.keys {
            NextKeys::Same(header) => header.id(),
            NextKeys::Rotated(keys) => keys.header().id(),
        }
    }

    fn header(&self) -> &[u8] {
        match &self.keys {
            NextKeys::Same(header) => header.bytes(),
            NextKeys::Rotated(keys) => keys.header().bytes(),
        }
    }
}

struct Written {
    engine: Box<dyn Engine>,
    root: Root,
    root_value: Vec<u8>,
}

/// Writes a header to copy A, and when that is durable to copy B: one of the two is whole at any moment.
pub(super) fn write_headers(storage: &dyn Storage, header: &[u8]) -> Result<(), StoreError> {
    for copy in [HeaderCopy::A, HeaderCopy::B] {
        storage.write_header(copy, header)?;
    }
    Ok(())
}

/// Writes the live records under new keys, in address order, and reads them all back.
///
/// Sealing goes from the leaves to the root, which is the order of the tree and would show in the log. So sealed
/// records are collected first, in memory if they are few and else in a generation of their own, and copied from there in
/// order.
fn write_generation(
    open: &Open,
    storage: &dyn Storage,
    next: &Next,
    commit: u64,
    copy_tree: CopyTree<'_>,
    progress: &mut dyn FnMut(u64),
) -> Result<Written, StoreError> {
    let size =
        open.root().bytes.saturating_add(open.root().files.saturating_mul(FILE_INLINE_AGAIN));
    let in_memory = MemoryStorage::default();
    let scratch_number = next.generation.checked_add(1).ok_or(StoreError::TooLarge)?;
    let (place, kind): (&dyn Storage, _) = if size <= COLLECTED_IN_MEMORY {
        (&in_memory, EngineKind::Memory)
    } else {
        storage.remove_generation(scratch_number)?;
        (storage, next.engine)
    };
    let scratch = place.create_generation(scratch_number, kind)?;
    let mut copy = Copy::new(open, &next.sealer, &*scratch);
    let copied = copy.root(commit, next.header_id(), copy_tree);
    let records = copy.records();
    drop(copy);
    let engine = copied.and_then(|()| {
        let engine = storage.create_generation(next.generation, next.engine)?;
        sort(&*scratch, &*engine, progress)?;
        Ok(engine)
    });
    let _ = scratch.close();
    place.remove_generation(scratch_number)?;
    let engine = engine?;

    let (root, root_value) = open::read_root(&*engine, &next.sealer)?;
    if ReadBack::count(&*engine, &next.sealer, &root)? != records {
        return Err(StoreError::Storage("the new generation lacks records".to_owned()));
    }
    Ok(Written { engine, root, root_value })
}

/// Copies records from one engine to another in the order of their addresses.
fn sort(
    from: &dyn Engine,
    into: &dyn Engine,
    progress: &mut dyn FnMut(u64),
) -> Result<(), StoreError> {
    let mut after: Option<Address> = None;
    let mut records = 0_u64;
    loop {
        let page = from.scan(after.as_ref(), PAGE)?;
        let Some((last, _)) = page.last() else { return Ok(()) };
        after = Some(*last);
        records = records.saturating_add(u64::try_from(page.len()).unwrap_or_default());
        into.apply(&Batch { expect: None, puts: page, deletes: Vec::new() })?;
        into.sync()?;
        progress(records);
    }
}

/// Records read at once and written in one batch.
const PAGE: usize = BATCH_RECORDS;
/// Bytes of a store that is collected in memory to be sorted.
const COLLECTED_IN_MEMORY: u64 = 64 << 20;
