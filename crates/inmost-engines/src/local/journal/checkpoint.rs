//! Checkpoints: the changes of a frozen epoch go to the engine.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::layout::{self, JournalId, Layer, MARK, Position, Slot};
use super::overlay::Frozen;
use super::replay;
use super::state::{Checkpointer, Shared, lock, read, write};
use crate::local_engine::Expected;
use inmost_storage::{Batch, StorageError};

impl Shared {
    /// Writes the frozen epoch to the engine, or waits for the thread that does. Returns whether it is there now: on a
    /// full disk it stays in the journal.
    pub(super) fn checkpoint(&self) -> Result<bool, StorageError> {
        self.poison.check()?;
        if read(&self.layers).frozen.is_none() {
            // Not under the lock: the engine's index may be being written, which no commit needs to wait for.
            return Ok(true);
        }
        let mut turn = lock(&self.checkpointer);
        self.poison.check()?;
        let Some(frozen) = read(&self.layers).frozen.clone() else { return Ok(true) };
        let done = self.keep_reason(self.write_frozen(&mut turn, &frozen))?;
        turn.stuck = !done;
        if done {
            write(&self.layers).frozen = None;
        }
        Ok(done)
    }

    /// Keeps the error of a checkpoint, which may run in a thread of its own, or of a reopening, for the next call. The caller holds
    /// the turn.
    pub(super) fn keep_reason<T>(
        &self,
        result: Result<T, StorageError>,
    ) -> Result<T, StorageError> {
        self.poison.on_error(result).map_err(|error| {
            *lock(&self.failure) = Some(error);
            StorageError::Poisoned
        })
    }

    fn write_frozen(
        &self,
        turn: &mut Checkpointer,
        frozen: &Arc<Frozen>,
    ) -> Result<bool, StorageError> {
        let stored = Position { bypassed: turn.stored.bypassed, ..frozen.position };
        let batches = batches_of(frozen, self.tuning.batch_records, (&self.id, &stored));
        let count = u32::try_from(batches.len()).unwrap_or(u32::MAX);
        // Else a power cut between the mark and its slot could leave the mark two epochs ahead of the slots.
        lock(&self.slots).settle(&*self.medium)?;
        let before = turn.stored;
        if !self.with_room(|| self.write_batches(&batches, before))? {
            return Ok(false);
        }
        turn.batches = turn.batches.saturating_add(count);
        // Before this is durable, the half must not be used again: the engine's mark alone may come from a sync that
        // failed and left its pages in memory.
        self.write_slot(stored)?;
        if !turn.closing {
            lock(&self.slots).sync(&*self.medium)?;
        }
        turn.stored = stored;
        Ok(true)
    }

    /// Writes the slot of this position, with the engine's frontier. Does not sync.
    pub(super) fn write_slot(&self, stored: Position) -> Result<(), StorageError> {
        let frontier = self.with_engine(|engine| Ok(engine.frontier()))?;
        let (id, half_blocks) = (self.id, self.half_blocks);
        let slot = Slot { id, revision: 0, half_blocks, stored, frontier };
        Ok(lock(&self.slots).write(&*self.medium, slot)?)
    }

    /// Notes in the slot of `stored` how far the engine is on the disk, after changes that did not go through the journal.
    ///
    /// The slot is synced only now and then: the frontier in it may be behind, as long as the engine uses nothing again
    /// that was in effect there.
    pub(super) fn follow(&self, stored: Position, is_last: bool) -> Result<(), StorageError> {
        if self.frontier_behind()? == 0 {
            return Ok(());
        }
        self.write_slot(stored)?;
        if is_last || self.frontier_behind()? > BEHIND {
            lock(&self.slots).sync(&*self.medium)?;
        }
        Ok(())
    }

    /// The bytes of the engine's log behind the frontier in a durable slot. If the engine no longer has one, the slot is behind by
    /// all that it names.
    fn frontier_behind(&self) -> Result<u64, StorageError> {
        let frontier = self.with_engine(|engine| Ok(engine.frontier()))?;
        let durable = lock(&self.slots).durable();
        Ok(match frontier.position {
            0 => durable,
            position => position.saturating_sub(durable),
        })
    }

    /// Writes these batches to the engine, durably. `stored` is what the engine has before the last one.
    ///
    /// The journal still has them, so all but the last need not be whole after a crash. Where the engine must be synced in
    /// between, a slot follows at once.
    pub(super) fn write_batches(
        &self,
        batches: &[Batch],
        stored: Position,
    ) -> Result<(), StorageError> {
        let Some((last, others)) = batches.split_last() else { return Ok(()) };
        for batch in others {
            if self.with_engine(|engine| engine.apply_loosely(batch))? {
                self.follow(stored, true)?;
            }
        }
        self.with_engine(|engine| {
            engine.apply(last)?;
            engine.sync()
        })
    }

    /// Closes the engine and opens it again. Reads wait meanwhile.
    ///
    /// If the system has no file descriptor or thread left at this moment, the opening is tried again for a while: nothing is
    /// damaged, and without an engine the session would end.
    pub(super) fn reopen(&self) -> Result<(), StorageError> {
        let mut engine = write(&self.engine);
        let noted = lock(&self.slots).frontier();
        let frontier = engine.as_ref().map_or(noted, |engine| engine.frontier());
        if let Some(engine) = engine.take() {
            // A failed sync loses nothing: every batch is synced, or still in the journal. Not closed, because the opening brings the
            // index up to date, too.
            let _ = engine.sync();
            engine.discard();
        }
        // It is opened by its name.
        self.watched.check()?;
        // The journal is the one that was opened, so the mark needs no second look.
        let expected = Expected { frontier, mark: &self.id.0, admit: &|_| Ok(()) };
        let start = Instant::now();
        let mut pause = FIRST_PAUSE;
        *engine = Some(loop {
            match (self.open_engine)(&expected) {
                Err(StorageError::Io(_) | StorageError::InUse(_))
                    if start.elapsed() < OPENING_AGAIN =>
                {
                    thread::sleep(pause);
                    pause = pause.saturating_mul(2).min(LONGEST_PAUSE);
                }
                opened => break opened?,
            }
        });
        self.watched.check()
    }

    /// Brings the engine's index up to date if that is due, so that the next opening need not replay what was written since.
    pub(super) fn index_if_due(
        &self,
        due: impl Fn(&Checkpointer) -> bool,
    ) -> Result<(), StorageError> {
        let mut turn = lock(&self.checkpointer);
        if !due(&turn) {
            return Ok(());
        }
        self.poison.check()?;
        // An index is a file of its own, which must not go to another engine's.
        self.keep_reason(self.watched.check())?;
        let start = Instant::now();
        match self.with_engine(|engine| Ok(engine.index()))? {
            Ok(true) => {}
            Ok(false) => self.keep_reason(self.reopen())?,
            // Such as a full disk. The index is only behind, and the next checkpoint tries again.
            Err(_) => return Ok(()),
        }
        turn.batches = 0;
        turn.indexing = start.elapsed();
        Ok(())
    }

    /// Compares the journal with the changes that are in memory.
    pub(super) fn verify(&self) -> Result<(), StorageError> {
        let writer = lock(&self.writer);
        let turn = lock(&self.checkpointer);
        let bytes = self.medium.read()?;
        let newest = layout::newest_slot(&bytes, lock(&self.slots).mac());
        let is_newest = |slot: &Slot| slot.id == self.id && slot.stored.epoch == turn.stored.epoch;
        if !newest.is_ok_and(|(_, slot)| is_newest(&slot)) {
            return Err(damaged("a slot of the journal is damaged"));
        }
        let (_, halves) = bytes.split_at_checked(layout::SLOTS_BYTES).unwrap_or_default();
        let halves = halves.split_at_checked(self.half_bytes()).unwrap_or_default();
        let found = replay::replay([halves.0, halves.1], &self.id, &turn.stored)
            .map_err(|replay::Damage(what)| damaged(what))?;
        let layers = read(&self.layers);
        let held = [layers.frozen.as_ref().map(|it| &it.changes.changes), Some(&layers.active)];
        let stored = [found.frozen.as_ref().map(|it| &it.changes), Some(&found.active.changes)];
        // An epoch without entries has left nothing in the journal: there the one before it may still be the last.
        let is_same = held
            .into_iter()
            .flatten()
            .filter(|it| !it.is_empty())
            .eq(stored.into_iter().flatten().filter(|it| !it.is_empty()));
        let is_whole = found.position.sequence == writer.position.sequence;
        if is_same && is_whole {
            Ok(())
        } else {
            Err(damaged("an entry of the journal is damaged"))
        }
    }
}

/// The batches of a checkpoint. The root and the mark are in the last one.
fn batches_of(frozen: &Frozen, most: usize, mark: (&JournalId, &Position)) -> Vec<Batch> {
    let root = frozen.changes.root;
    let (mut last, mut rest): (Layer, Layer) = (Layer::new(), Layer::new());
    for (address, value) in &frozen.changes.changes {
        let layer = if Some(*address) == root { &mut last } else { &mut rest };
        layer.insert(*address, value.clone());
    }
    let mut batches = Vec::new();
    // The last batch has room for everything else besides the root and the mark.
    while rest.len() > most.saturating_sub(2) {
        let key = rest.keys().nth(most).copied();
        let later = key.map(|key| rest.split_off(&key)).unwrap_or_default();
        batches.push(batch_of(&std::mem::replace(&mut rest, later), None));
    }
    rest.append(&mut last);
    batches.push(batch_of(&rest, Some(mark)));
    batches
}

/// One batch of these changes, with a mark if one is given.
pub(super) fn batch_of(changes: &Layer, mark: Option<(&JournalId, &Position)>) -> Batch {
    let mut batch = Batch::default();
    for (address, value) in changes {
        match value {
            Some(value) => batch.puts.push((*address, value.clone())),
            None => batch.deletes.push(*address),
        }
    }
    if let Some((id, stored)) = mark {
        batch.puts.push((MARK, layout::encode_mark(id, stored)));
    }
    batch
}

/// How many bytes of an engine's log the frontier in a durable slot may be behind. sled uses a segment of 2 MiB again when
/// the messages that replace its own are two whole segments back.
const BEHIND: u64 = 1 << 20;

/// How long the opening of an engine that was just closed is tried.
const OPENING_AGAIN: Duration = Duration::from_secs(10);
const FIRST_PAUSE: Duration = Duration::from_millis(5);
const LONGEST_PAUSE: Duration = Duration::from_millis(200);

pub(super) fn damaged(what: &str) -> StorageError {
    StorageError::Corrupt(what.to_owned())
}
