//! Commits: where their entries go, and when a half is handed over to a checkpoint.

use super::checkpoint;
use super::layout::{self, Position};
use super::overlay::Layers;
use super::state::{Shared, Writer, lock, read, write};
use inmost_storage::StorageError;

impl Shared {
    /// Makes the pending changes durable: as an entry, or in the engine if they are too large for one. Returns whether
    /// there were any.
    pub(super) fn flush(&self, writer: &mut Writer) -> Result<bool, StorageError> {
        let layers = read(&self.layers);
        if layers.pending.is_empty() {
            return Ok(false);
        }
        let length = layout::entry_bytes(&layers.pending);
        if length > self.largest_entry() || layers.pending.len() > self.tuning.addresses {
            drop(layers);
            return self.bypass(writer).map(|()| true);
        }
        let is_full = !self.has_room(writer, &layers, 0, length);
        drop(layers);
        if is_full {
            self.begin_epoch(writer)?;
        }
        let mut place = writer.position;
        place.sequence = place.sequence.saturating_add(1);
        layout::encode_entry(
            &mut writer.entry,
            &self.id,
            &place,
            writer.root.as_ref(),
            &read(&self.layers).pending,
        );
        let offset = self.offset_in_half(place.epoch, writer.length);
        writer.note_use(place.epoch, writer.length.saturating_add(writer.entry.len()));
        self.medium.write_at(offset, &writer.entry)?;
        self.medium.sync()?;
        writer.position = place;
        writer.length = writer.length.saturating_add(writer.entry.len());
        write(&self.layers).commit(writer.root);
        Ok(true)
    }

    /// Writes the pending changes to the engine, after everything before them, as one batch.
    fn bypass(&self, writer: &mut Writer) -> Result<(), StorageError> {
        self.drain(writer)?;
        let mut turn = lock(&self.checkpointer);
        let bypassed = turn.stored.bypassed.saturating_add(1);
        let stored = Position { bypassed, ..turn.stored };
        let batch = checkpoint::batch_of(&read(&self.layers).pending, Some((&self.id, &stored)));
        let before = turn.stored;
        if !self.with_room(|| self.write_batches(std::slice::from_ref(&batch), before))? {
            return Err(StorageError::Full);
        }
        turn.stored = stored;
        writer.position.bypassed = stored.bypassed;
        write(&self.layers).pending.clear();
        self.write_slot(stored)?;
        self.follow(stored, false)
    }

    /// Whether an entry of this length, of the pending changes and so many more, fits the active half.
    pub(super) fn has_room(
        &self,
        writer: &Writer,
        layers: &Layers,
        more: usize,
        length: usize,
    ) -> bool {
        let changes = layers.pending.len().saturating_add(more);
        writer.length.saturating_add(length) <= self.half_bytes()
            && layers.active.changes.len().saturating_add(changes) <= self.tuning.addresses
    }

    /// Moves on to the other half, which must be free, or becomes free by a checkpoint that this waits for.
    pub(super) fn begin_epoch(&self, writer: &mut Writer) -> Result<(), StorageError> {
        if !self.checkpoint()? {
            return Err(StorageError::Full);
        }
        let mut layers = write(&self.layers);
        layers.freeze(writer.position);
        writer.position.epoch = writer.position.epoch.saturating_add(1);
        writer.length = 0;
        Ok(())
    }

    /// Writes everything in the journal to the engine.
    pub(super) fn drain(&self, writer: &mut Writer) -> Result<(), StorageError> {
        let is_empty = read(&self.layers).active.changes.is_empty();
        if !is_empty {
            self.begin_epoch(writer)?;
        }
        if self.checkpoint()? { Ok(()) } else { Err(StorageError::Full) }
    }

    /// Makes everything durable, writes it to the engine, and overwrites the used part of the journal. On a full disk the
    /// entries stay in the journal.
    pub(super) fn empty(&self) -> Result<(), StorageError> {
        let mut writer = lock(&self.writer);
        if writer.filling {
            self.with_engine(|engine| engine.sync())?;
            self.follow(Position::default(), true)?;
            return Ok(lock(&self.slots).double(&*self.medium)?);
        }
        self.flush(&mut writer)?;
        // A frozen epoch first, with its slot synced: an opening can do without one slot, but not without two.
        if !self.checkpoint()? {
            return Ok(());
        }
        lock(&self.checkpointer).closing = true;
        match self.drain(&mut writer) {
            Err(StorageError::Full) => return Ok(()),
            drained => drained?,
        }
        self.wipe(&mut writer)?;
        Ok(lock(&self.slots).double(&*self.medium)?)
    }

    /// Overwrites what the halves have held. Everything in them must be in the engine.
    fn wipe(&self, writer: &mut Writer) -> Result<(), StorageError> {
        let used = std::mem::take(&mut writer.used);
        if used == [0; 2] && !lock(&self.slots).is_unsynced() {
            return Ok(());
        }
        for (half, used) in used.into_iter().enumerate() {
            self.medium.write_at(self.offset_of_half(half), &vec![0; used])?;
        }
        writer.length = 0;
        Ok(lock(&self.slots).sync(&*self.medium)?)
    }
}

impl Writer {
    fn note_use(&mut self, epoch: u64, end: usize) {
        if let Some(used) = self.used.get_mut(layout::half_of(epoch)) {
            *used = end.max(*used);
        }
    }
}
