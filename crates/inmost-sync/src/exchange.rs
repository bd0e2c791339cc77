//! Exchanging objects with a place.

use std::collections::BTreeSet;

use crate::chains::{Dot, Tag};
use crate::device::{Device, Peer};
use crate::error::SyncError;
use crate::object::{Changes, open};
use crate::place::Place;

/// What was exchanged.
#[derive(Default)]
pub(crate) struct Exchanged {
    pub(crate) read: usize,
    /// Objects that are listed and cannot be read yet: an earlier one is missing, or they are not whole.
    pub(crate) waiting: usize,
}

impl Device {
    /// Puts the objects of the outbox that the place does not list. The same bytes are put until they are listed.
    pub(crate) fn flush(
        &mut self,
        place: &impl Place,
        listed: &BTreeSet<Dot>,
    ) -> Result<usize, SyncError> {
        let mut put = 0;
        for sealed in self.outbox.iter().filter(|sealed| !listed.contains(&sealed.dot)) {
            place.put(&sealed.dot, &sealed.bytes).map_err(SyncError::Place)?;
            put += 1;
        }
        Ok(put)
    }

    /// Drops objects from the outbox that are listed and that the other devices have read. Of those that some have not, the newest are
    /// kept: a place may lose what it has listed.
    pub(crate) fn settle(&mut self, listed: &BTreeSet<Dot>) {
        let rest = self.outbox.len().saturating_sub(KEPT);
        let mut at = 0;
        let (chains, peers) = (&self.chains, &self.peers);
        self.outbox.retain(|sealed| {
            at += 1;
            let has_read = |peer: &Peer| chains.covers(&peer.vector, &sealed.dot);
            let is_read = !peers.is_empty() && peers.values().all(has_read);
            !listed.contains(&sealed.dot) || !(is_read || at <= rest)
        });
    }

    /// Reads what can be read: an object after its predecessor and all that its device had read. An object that is missing or damaged
    /// is waited for; it never counts as a deletion.
    pub(crate) fn pull(
        &mut self,
        place: &impl Place,
        listed: &BTreeSet<Dot>,
        progress: &mut dyn FnMut(usize),
    ) -> Result<Exchanged, SyncError> {
        let mut exchanged = Exchanged::default();
        let mut todo: Vec<Dot> =
            listed.iter().filter(|dot| !self.chains.contains(dot)).copied().collect();
        // Lamport times are sealed, but numbers are a fair guess at the order.
        todo.sort_by_key(|dot| dot.number);
        let mut opened: Vec<(Dot, Option<Tag>, Changes)> = Vec::new();
        let mut is_foreign = false;
        loop {
            let before = exchanged.read;
            for dot in std::mem::take(&mut todo) {
                match self.fetch(place, &dot)? {
                    Some((previous, changes)) => opened.push((dot, previous, changes)),
                    None => todo.push(dot),
                }
            }
            for (dot, previous, changes) in std::mem::take(&mut opened) {
                if !self.chains.is_within(&changes.seen, &self.vector) {
                    opened.push((dot, previous, changes));
                    continue;
                }
                is_foreign |= self.own.contains(&dot.log);
                self.learn(dot, previous, changes);
                exchanged.read += 1;
                progress(exchanged.read);
            }
            if exchanged.read == before {
                break;
            }
        }
        exchanged.waiting = todo.len() + opened.len();
        if is_foreign {
            // Another copy of this device writes to its log, or its store was put back.
            self.begin_log()?;
        }
        Ok(exchanged)
    }

    /// Opens an object if its predecessor was read.
    fn fetch(
        &self,
        place: &impl Place,
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
        let Some(bytes) = place.get(dot).map_err(SyncError::Place)? else { return Ok(None) };
        let opened = |tag: Option<Tag>| Some((tag, open(&self.circle, dot, tag, &bytes)?));
        Ok(previous.into_iter().find_map(opened))
    }
}

/// Objects that are kept for a place that may lose them.
const KEPT: usize = 256;
