//! Creates the journal of a new generation, and opens that of an existing one.

use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::path::Path;
use std::sync::{Arc, Mutex, RwLock};
use std::time::Duration;

use super::JournaledEngine;
use super::checkpoint::{batch_of, damaged};
use super::layout::{
    self, BLOCK, BadSlots, JournalId, Layer, MARK, Place, Position, SLOTS_BYTES, Slot,
};
use super::medium::{self, Medium};
use super::overlay::{Changes, Frozen, Layers};
use super::pace::Pace;
use super::replay::{Damage, Epoch, OLDER_ENGINE, OLDER_JOURNAL, Replay, replay};
use super::slots::Slots;
use super::state::{Checkpointer, Shared, Surroundings, Writer};
use crate::files;
use crate::local::watched::By;
use crate::local_engine::{Expected, LocalEngine};
use crate::poison::Poison;
use inmost_storage::{JournalMac, StorageError};

impl JournaledEngine {
    /// Puts a journal in front of a new engine, which has its files in `folder` and no record.
    pub(crate) fn create(
        folder: &Path,
        engine: Box<dyn LocalEngine>,
        around: Surroundings,
    ) -> Result<Self, StorageError> {
        let id = new_id();
        let half_blocks = around.tuning.half_blocks;
        let bytes = medium::blank(id, half_blocks, Position::default(), &*around.mac);
        let file: File = medium::create(folder, &bytes)?;
        files::sync_folder(folder)?;
        around.watched.note(&folder.join(medium::NAME), By::Number)?;
        Self::begin(id, Box::new(file), engine, around)
    }

    /// As [`create`](Self::create), on a journal that is blank already.
    pub(super) fn begin(
        id: JournalId,
        medium: Box<dyn Medium>,
        engine: Box<dyn LocalEngine>,
        around: Surroundings,
    ) -> Result<Self, StorageError> {
        let stored = Position::default();
        engine.apply(&batch_of(&Layer::new(), Some((&id, &stored))))?;
        engine.sync()?;
        let opened = Opened {
            id,
            half_blocks: around.tuning.half_blocks,
            stored,
            position: Position { epoch: 1, ..stored },
            length: 0,
            used: [0; 2],
            layers: Layers::default(),
            filling: true,
            slots: Slots::created(Arc::clone(&around.mac)),
        };
        Ok(Self::with(opened, medium, engine, around))
    }

    /// Opens the journal of an existing generation, then its engine. A damaged journal is refused before the engine
    /// touches its files.
    ///
    /// # Errors
    /// [`StorageError::Damaged`] if journal or engine are not whole, and then no file has changed. [`StorageError::Corrupt`]
    /// if damage shows only when the opened engine reads its mark: by then it has written to free places.
    pub(crate) fn open(folder: &Path, around: Surroundings) -> Result<Self, StorageError> {
        let path = folder.join(medium::NAME);
        around.watched.note(&path, By::Number)?;
        let file = medium::open(folder).map_err(unopened)?;
        let bytes = file.read()?;
        let watched = Arc::clone(&around.watched);
        let prepare = || {
            // A sparse copy is replaced here.
            watched.replacing(&path, By::Number, || {
                Ok::<Box<dyn Medium>, _>(Box::new(medium::prepare(folder, file)?))
            })
        };
        Self::resume_with(&bytes, prepare, around)
    }

    /// As [`open`](Self::open), from a journal's bytes that need no preparation.
    #[cfg(any(test, feature = "testing"))]
    pub(super) fn resume(
        medium: Box<dyn Medium>,
        around: Surroundings,
    ) -> Result<Self, StorageError> {
        let bytes = medium.read()?;
        Self::resume_with(&bytes, || Ok(medium), around)
    }

    /// Goes on with a journal of these bytes. `medium` prepares it for writing, which happens only if journal and engine
    /// are whole.
    fn resume_with(
        bytes: &[u8],
        medium: impl FnOnce() -> Result<Box<dyn Medium>, StorageError>,
        around: Surroundings,
    ) -> Result<Self, StorageError> {
        let (place, slot) = newest_slot(bytes, &*around.mac).map_err(unopened)?;
        let half_bytes =
            usize::try_from(slot.half_blocks).unwrap_or(usize::MAX).saturating_mul(BLOCK);
        let (_, halves) = bytes.split_at_checked(SLOTS_BYTES).unwrap_or_default();
        let (even, odd) = halves
            .split_at_checked(half_bytes)
            .filter(|(even, odd)| even.len() == odd.len())
            .ok_or_else(|| unopened(damaged("the journal has the wrong length")))?;

        let admit = |value: Option<&[u8]>| {
            let Some(value) = value else { return Ok(()) };
            let mark = read_mark(Some(value), &slot)?;
            replay_from(&slot, &mark, [even, odd]).map(|_| ())
        };
        let expected = Expected { frontier: slot.frontier, mark: &slot.id.0, admit: &admit };
        let engine = (around.open_engine)(&expected).map_err(unopened)?;
        let medium = medium()?;
        // A killed process may have left changes that only the page cache holds. The entries that they came from must
        // not be dropped before they are durable.
        engine.sync()?;
        let mark = read_mark(engine.get_many(&[MARK])?.pop().flatten().as_deref(), &slot)?;
        let (stored, found) = replay_from(&slot, &mark, [even, odd])?;
        write_again(&*medium, &found, [even, odd], half_bytes)?;
        let mut slots = Slots::found(place, &slot, Arc::clone(&around.mac));
        if stored.epoch != slot.stored.epoch {
            slots.write(&*medium, Slot { stored, frontier: engine.frontier(), ..slot })?;
            slots.sync(&*medium)?;
        }
        let opened = Opened {
            id: slot.id,
            half_blocks: slot.half_blocks,
            stored,
            position: found.position,
            length: found.active.length,
            used: [even, odd].map(used),
            layers: Layers {
                pending: Layer::new(),
                frozen: found.frozen.map(|epoch| {
                    let (changes, position) = (Changes::from(epoch), found.frozen_position);
                    Arc::new(Frozen { changes, position })
                }),
                active: found.active.into(),
            },
            filling: false,
            slots,
        };
        let has_entries = opened.layers.frozen.is_some() || !opened.layers.active.is_empty();
        let engine = Self::with(opened, medium, engine, around);
        if has_entries {
            engine.pace.committed(&engine.shared);
        }
        Ok(engine)
    }

    fn with(
        opened: Opened,
        medium: Box<dyn Medium>,
        engine: Box<dyn LocalEngine>,
        around: Surroundings,
    ) -> Self {
        let Opened { id, half_blocks, stored, position, length, used, layers, filling, slots } =
            opened;
        let Surroundings { open_engine, ballast, watched, tuning, mac: _ } = around;
        let writer = Writer {
            position,
            length,
            root: None,
            filling,
            filled: MARK,
            is_prepared: false,
            used,
            entry: Vec::new(),
        };
        let shared = Shared {
            writer: Mutex::new(writer),
            checkpointer: Mutex::new(Checkpointer {
                stored,
                batches: 0,
                indexing: Duration::ZERO,
                stuck: false,
                closing: false,
            }),
            layers: RwLock::new(layers),
            engine: RwLock::new(Some(engine)),
            id,
            medium,
            half_blocks,
            open_engine,
            ballast,
            watched,
            tuning,
            poison: Poison::default(),
            slots: Mutex::new(slots),
            failure: Mutex::default(),
        };
        Self { shared: Arc::new(shared), pace: Pace::new() }
    }
}

/// The state of a journal that was just created or read.
struct Opened {
    id: JournalId,
    half_blocks: u32,
    stored: Position,
    position: Position,
    length: usize,
    used: [usize; 2],
    layers: Layers,
    filling: bool,
    slots: Slots,
}

impl From<Epoch> for Changes {
    fn from(epoch: Epoch) -> Self {
        Self { changes: epoch.changes, root: epoch.root }
    }
}

/// The name of a new journal. It is not secret; it only has to differ from every other.
fn new_id() -> JournalId {
    let halves = [RandomState::new().hash_one(1), RandomState::new().hash_one(2)];
    let mut id = [0; 16];
    for (byte, random) in id.iter_mut().zip(halves.iter().flat_map(|half| half.to_le_bytes())) {
        *byte = random;
    }
    JournalId(id)
}

/// The newest slot and its place. One slot is enough: the other one was torn, or is older.
fn newest_slot(bytes: &[u8], mac: &dyn JournalMac) -> Result<(Place, Slot), StorageError> {
    layout::newest_slot(bytes, mac).map_err(|bad| {
        damaged(match bad {
            BadSlots::Damaged => "both slots of the journal are damaged",
            BadSlots::Forged => "a slot of the journal was written without the keys of the store",
            BadSlots::OfTwoJournals => "the slots of the journal are of different journals",
        })
    })
}

/// Reads the value of the engine's mark and checks that engine and journal are of the same day.
fn read_mark(value: Option<&[u8]>, slot: &Slot) -> Result<Position, StorageError> {
    let mark = value.and_then(|value| layout::decode_mark(value, &slot.id));
    let mark = mark.ok_or_else(|| damaged("the engine's records belong to another journal"))?;
    // The slot follows the mark. A crash in between leaves it one epoch behind.
    let next = slot.stored.epoch.saturating_add(1);
    if mark.epoch < slot.stored.epoch
        || mark.bypassed < slot.stored.bypassed
        || mark.epoch == slot.stored.epoch && mark.sequence != slot.stored.sequence
    {
        return Err(damaged(OLDER_ENGINE));
    }
    if mark.epoch > next { Err(damaged(OLDER_JOURNAL)) } else { Ok(mark) }
}

/// Reads the entries behind the slot, or behind the mark if those before it are gone already. Returns the position that
/// counts as stored.
///
/// The slot comes first, although the mark is newer: the mark may come from a sync that failed, whose pages are in memory
/// only. The entries of that epoch are still there then.
fn replay_from(
    slot: &Slot,
    mark: &Position,
    halves: [&[u8]; 2],
) -> Result<(Position, Replay), StorageError> {
    let stored = Position { bypassed: mark.bypassed, ..slot.stored };
    let found = replay(halves, &slot.id, &stored);
    if mark.epoch == stored.epoch {
        return Ok((stored, found.map_err(of_damage)?));
    }
    match found.map(Replay::freeze_first) {
        Ok(found) if found.frozen_position.sequence == mark.sequence => Ok((stored, found)),
        // The half was wiped or used again, so this mark was durable and only its slot is damaged.
        _ => Ok((*mark, replay(halves, &slot.id, mark).map_err(of_damage)?)),
    }
}

/// The error of an opening that has changed nothing.
fn unopened(error: StorageError) -> StorageError {
    match error {
        StorageError::Corrupt(what) => StorageError::Damaged(what),
        error => error,
    }
}

fn of_damage(Damage(what): Damage) -> StorageError {
    damaged(what)
}

/// Writes the last entry again and syncs, so that nothing is shown that a power cut could take back.
fn write_again(
    medium: &dyn Medium,
    found: &Replay,
    halves: [&[u8]; 2],
    half_bytes: usize,
) -> Result<(), StorageError> {
    let epochs =
        [(Some(&found.active), found.position), (found.frozen.as_ref(), found.frozen_position)];
    let last = epochs.into_iter().find_map(|(epoch, position)| {
        let epoch = epoch?;
        let half = layout::half_of(position.epoch);
        let at = epoch.last_entry?;
        let bytes = halves.get(half)?.get(at..epoch.length)?;
        Some((
            SLOTS_BYTES.saturating_add(half.saturating_mul(half_bytes)).saturating_add(at),
            bytes,
        ))
    });
    if let Some((offset, bytes)) = last {
        medium.write_at(offset, bytes)?;
        medium.sync()?;
    }
    Ok(())
}

/// The bytes of a half up to the last block that is not blank.
fn used(half: &[u8]) -> usize {
    let last = half.chunks(BLOCK).rposition(|block| block.iter().any(|byte| *byte != 0));
    last.map_or(0, |block| block.saturating_add(1).saturating_mul(BLOCK))
}
