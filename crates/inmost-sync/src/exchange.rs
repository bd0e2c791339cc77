//! Exchanging objects with a place.

use std::collections::{BTreeSet, VecDeque};

use crate::chains::{Dot, Tag};
use crate::device::Device;
use crate::error::SyncError;
use crate::object::{Changes, Sealed, open};
use crate::place::Place;
use crate::rules::{Rule, holds};

/// What was exchanged.
#[derive(Default)]
pub(crate) struct Exchanged {
    pub(crate) read: usize,
    /// Objects that are listed and cannot be read yet: an earlier one is missing, or they are not whole.
    pub(crate) waiting: usize,
}

impl Device {
    /// The objects of the outbox that the place has: those that it lists, if all other devices have read them or it has their bytes. A
    /// sync program may leave one that is cut, and nobody else can repair it.
    pub(crate) fn whole(&self, place: &dyn Place, listed: &BTreeSet<Dot>) -> BTreeSet<Dot> {
        let is_whole = |sealed: &&Sealed| {
            listed.contains(&sealed.dot)
                && (!holds(Rule::CompareBytes)
                    || self.is_read(&sealed.dot)
                    || place.has(&sealed.dot, &sealed.bytes).unwrap_or(false))
        };
        self.outbox.iter().filter(is_whole).map(|sealed| sealed.dot).collect()
    }

    /// Whether all other devices have read an object.
    fn is_read(&self, dot: &Dot) -> bool {
        let mut peers = self.peers.values();
        !self.peers.is_empty() && peers.all(|peer| self.chains.covers(&peer.vector, dot))
    }

    /// Puts the objects of the outbox that the place does not have. The same bytes are put until it has them.
    pub(crate) fn flush(
        &self,
        place: &dyn Place,
        whole: &BTreeSet<Dot>,
    ) -> Result<usize, SyncError> {
        let mut put = 0;
        for sealed in self.outbox.iter().filter(|sealed| !whole.contains(&sealed.dot)) {
            place.put(&sealed.dot, &sealed.bytes).map_err(SyncError::PlaceUnavailable)?;
            put += 1;
        }
        Ok(put)
    }

    /// Drops objects from the outbox that the place has and that the other devices have read. Of those that some have not, the newest are
    /// kept: a place may lose what it has listed.
    pub(crate) fn settle(&mut self, whole: &BTreeSet<Dot>) {
        let kept = if holds(Rule::KeepUntilRead) { KEPT } else { 0 };
        let rest = self.outbox.len().saturating_sub(kept);
        let mut at = 0;
        let mut outbox = std::mem::take(&mut self.outbox);
        outbox.retain(|sealed| {
            at += 1;
            !whole.contains(&sealed.dot) || !(self.is_read(&sealed.dot) || at <= rest)
        });
        self.outbox = outbox;
    }

    /// Reads what can be read: an object after its predecessor and all that its device had read. An object that is missing or damaged
    /// is waited for; it never counts as a deletion.
    pub(crate) fn pull(
        &mut self,
        place: &dyn Place,
        listed: &BTreeSet<Dot>,
        progress: &mut dyn FnMut(usize),
    ) -> Result<Exchanged, SyncError> {
        let mut exchanged = Exchanged::default();
        // An object is tried again when a predecessor was read, and only then: opening takes time, also of junk.
        let mut todo: VecDeque<Dot> = listed.iter().copied().collect();
        let mut opened: Vec<(Dot, Option<Tag>, Changes)> = Vec::new();
        let mut is_foreign = false;
        while let Some(dot) = todo.pop_front() {
            if self.chains.contains(&dot) {
                continue;
            }
            let Some((previous, changes)) = self.fetch(place, &dot)? else { continue };
            opened.push((dot, previous, changes));
            // Others may have waited for it.
            while let Some(at) = opened.iter().position(|(.., changes)| self.is_ready(changes)) {
                let (dot, previous, changes) = opened.swap_remove(at);
                if self.chains.contains(&dot) {
                    continue;
                }
                is_foreign |= self.own.contains(&dot.log);
                if let Some(snapshot) = &changes.snapshot {
                    is_foreign |= snapshot.before.contains(&self.log);
                    // What it has gone on from may not be there any more. First objects were tried.
                    todo.extend(listed.iter().filter(|dot| dot.number > 1));
                }
                self.learn(dot, previous, changes);
                exchanged.read += 1;
                progress(exchanged.read);
                let number = dot.number.saturating_add(1);
                let next = |tag| Dot { number, tag: Tag([tag; 16]), ..dot };
                todo.extend(listed.range(next(0)..=next(u8::MAX)));
            }
        }
        exchanged.waiting = listed.iter().filter(|dot| !self.chains.contains(dot)).count();
        if is_foreign {
            // Another copy of this device writes to its log, or its store was put back.
            self.begin_log()?;
        }
        Ok(exchanged)
    }

    /// Whether all was read that its device had read, and its states replace nothing else: what they replace must not depend on the
    /// order of reading.
    pub(crate) fn is_ready(&self, changes: &Changes) -> bool {
        changes.snapshot.is_some()
            || !holds(Rule::ReadInOrder)
            || self.chains.is_within(&changes.seen, &self.vector)
                && changes.vectors().all(|vector| self.chains.is_within(vector, &changes.seen))
    }

    /// Opens an object if its predecessor was read. One that cannot be read is waited for, and keeps nothing else from being read.
    fn fetch(
        &self,
        place: &dyn Place,
        dot: &Dot,
    ) -> Result<Option<(Option<Tag>, Changes)>, SyncError> {
        let before = dot.number.saturating_sub(1);
        let mut previous: Vec<Option<Tag>> = self.chains.tags(dot.log, before).map(Some).collect();
        if dot.number == 1 {
            previous.push(None);
        }
        if previous.is_empty() {
            return Ok(None);
        }
        let Some(bytes) = place.get(dot).map_err(SyncError::PlaceUnavailable)? else {
            return Ok(None);
        };
        let opened = |tag: Option<Tag>| Some((tag, open(&self.circle, dot, tag, &bytes)?));
        Ok(previous.into_iter().find_map(opened))
    }
}

/// Objects that are kept for a place that may lose them.
const KEPT: usize = 256;
