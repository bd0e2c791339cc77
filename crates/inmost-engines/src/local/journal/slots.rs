//! The two slots of a journal: which one is written next.
//!
//! A slot is written to the place that does not hold the newest durable slot, so a torn write leaves that one. Its frontier is
//! then near the end of the engine's log, because no batch is written while it is far behind.

use std::io;
use std::sync::Arc;

use inmost_storage::JournalMac;

use super::layout::{Place, Slot};
use super::medium::Medium;
use crate::local_engine::Frontier;

/// What is known of the slots.
pub(super) struct Slots {
    mac: Arc<dyn JournalMac>,
    /// The place that is written next.
    next: Place,
    /// The revision of the slot that was written last.
    revision: u64,
    /// The slot that was written or found last.
    newest: Option<Slot>,
    /// The position of the frontier in the durable slot; 0 if none is known to be durable.
    durable: u64,
    /// Whether the slot that was written last is not synced.
    is_unsynced: bool,
    /// Whether an opening has found the newest slot. Then it may be in the page cache only, even after a sync if an earlier one
    /// failed.
    is_found: bool,
}

impl Slots {
    /// Those of a journal that was just created, durably.
    pub(super) fn created(mac: Arc<dyn JournalMac>) -> Self {
        Self {
            mac,
            next: Place::Second,
            revision: 0,
            newest: None,
            durable: 0,
            is_unsynced: false,
            is_found: false,
        }
    }

    /// Those of a journal that has its newest slot at this place.
    pub(super) fn found(place: Place, slot: &Slot, mac: Arc<dyn JournalMac>) -> Self {
        Self {
            next: place.other(),
            revision: slot.revision,
            newest: Some(*slot),
            is_found: true,
            ..Self::created(mac)
        }
    }

    /// What authenticates them.
    pub(super) fn mac(&self) -> &dyn JournalMac {
        &*self.mac
    }

    /// The frontier in the newest slot.
    pub(super) fn frontier(&self) -> Frontier {
        self.newest.map(|slot| slot.frontier).unwrap_or_default()
    }

    /// The position of the frontier in the newest slot that is known to be durable.
    pub(super) fn durable(&self) -> u64 {
        self.durable
    }

    /// Whether a slot was written that is not synced.
    pub(super) fn is_unsynced(&self) -> bool {
        self.is_unsynced
    }

    /// Makes the slot durable that an opening has found. It is written again where it is: the same bytes cannot be torn.
    pub(super) fn settle(&mut self, medium: &dyn Medium) -> io::Result<()> {
        if let (true, Some(slot)) = (self.is_found, self.newest) {
            let place = self.next.other();
            medium.write_at(place.offset(), &slot.encode(place, &*self.mac))?;
            medium.sync()?;
            self.is_found = false;
            self.durable = slot.frontier.position;
        }
        Ok(())
    }

    /// Writes a slot, with the next revision. Does not sync it.
    pub(super) fn write(&mut self, medium: &dyn Medium, slot: Slot) -> io::Result<()> {
        self.settle(medium)?;
        self.revision = self.revision.saturating_add(1);
        let slot = Slot { revision: self.revision, ..slot };
        medium.write_at(self.next.offset(), &slot.encode(self.next, &*self.mac))?;
        self.newest = Some(slot);
        self.is_unsynced = true;
        Ok(())
    }

    /// Makes the slot that was written last durable.
    pub(super) fn sync(&mut self, medium: &dyn Medium) -> io::Result<()> {
        medium.sync()?;
        self.durable = self.frontier().position;
        if std::mem::take(&mut self.is_unsynced) {
            self.next = self.next.other();
        }
        Ok(())
    }

    /// Writes the slot that was synced last to the other place too. Does not sync: one of them is enough.
    ///
    /// At the end of a session the journal keeps no entry. If the only slot that knew the end of the log were damaged then, damage
    /// to that end would look like a store that ended earlier.
    pub(super) fn double(&mut self, medium: &dyn Medium) -> io::Result<()> {
        match self.newest {
            Some(slot) if !self.is_found => self.write(medium, slot),
            _ => Ok(()),
        }
    }
}
