//! Snapshots: a new log that begins with all that its device knows, so that the objects before it can be removed.

use std::collections::{BTreeMap, BTreeSet};

use crate::chains::{Chains, Dot, LogId, Vector};
use crate::device::{Device, random};
use crate::error::SyncError;
use crate::object::{Changes, Circle, Peer, Snapshot, seal};
use crate::place::Place;
use crate::pool::{Pool, PooledFile};
use crate::rules::{Rule, holds};

impl Device {
    /// Whether its log has become long, or what it has published is to be forgotten.
    pub(crate) fn is_snapshot_due(&self) -> bool {
        self.number >= LONG || self.must_renew && holds(Rule::RenewForgotten)
    }

    /// Goes on in another circle, where nothing of this one is. What was not sent is in the snapshot.
    pub(crate) fn go_on_in(&mut self, circle: Circle, now: u64) -> Result<(), SyncError> {
        self.circle = circle;
        self.outbox.clear();
        let knows = !self.vector.is_empty() && holds(Rule::CarryOver);
        if knows { self.make_snapshot(now) } else { self.begin_log() }
    }

    /// Ends the logs of the devices of this name, as if it had written them itself: snapshots of others do not bring them back.
    pub(crate) fn end_logs_of(&mut self, label: &str) -> Result<(), SyncError> {
        let named = self.peers.iter().filter(|(_, peer)| peer.label == label);
        let logs: Vec<LogId> = named.map(|(log, _)| *log).collect();
        if logs.is_empty() {
            return Err(SyncError::UnknownDevice(label.to_owned()));
        }
        for log in logs {
            self.peers.remove(&log);
            self.own.insert(log);
        }
        Ok(())
    }

    /// Begins a new log with a snapshot. Nothing is saved yet.
    ///
    /// # Errors
    /// [`SyncError::ChangeTooLarge`] if all files are too large for one object. Then nothing has changed.
    pub(crate) fn make_snapshot(&mut self, now: u64) -> Result<(), SyncError> {
        let mut pool = Pool::default();
        let files = self.heads.iter().map(|(id, file)| PooledFile::of(*id, file, &mut pool));
        let snapshot = Snapshot {
            files: files.collect(),
            chains: self.chains.clone(),
            before: self.own.clone(),
            peers: self.peers.clone(),
            forgot: self.forgot.clone(),
        };
        let changes = Changes {
            label: self.label.clone(),
            lamport: self.lamport,
            time: now,
            seen: self.vector.clone(),
            pool,
            states: Vec::new(),
            snapshot: Some(snapshot),
        };
        let log = LogId(random()?);
        let sealed = seal(&self.circle, (log, 1, None), &changes)?;
        let dot = sealed.dot;
        self.outbox.push(sealed);
        self.unacknowledged.clear();
        self.must_renew = false;
        self.own.insert(log);
        (self.log, self.number, self.previous) = (log, 1, Some(dot.tag));
        self.snapshot = Some((dot, self.vector.clone()));
        self.chains.insert(dot, None);
        self.vector = self.chains.join([&self.vector, &Vector::from_iter([dot])]);
        Ok(())
    }

    /// Whether nobody is known to have read a snapshot that this device has read.
    pub(crate) fn is_silent(&self) -> bool {
        let is_read = |snapshot: &Dot| {
            let mut others = self.peers.iter().filter(|(log, _)| **log != snapshot.log);
            others.any(|(_, peer)| self.chains.covers(&peer.vector, snapshot))
        };
        !self.unacknowledged.iter().all(is_read)
    }

    /// Removes the objects of its earlier logs that are in its snapshot, once another device has read that. Returns those that it
    /// removed.
    pub(crate) fn collect(
        &mut self,
        place: &dyn Place,
        listed: &BTreeSet<Dot>,
    ) -> Result<BTreeSet<Dot>, SyncError> {
        let mut removed = BTreeSet::new();
        let Some((snapshot, covered)) = &self.snapshot else { return Ok(removed) };
        if !listed.contains(snapshot) {
            return Ok(removed);
        }
        let is_in_snapshot = |dot: &Dot| {
            self.own.contains(&dot.log)
                && dot.log != snapshot.log
                && (self.chains.covers(covered, dot) || !holds(Rule::CollectCovered))
        };
        let mut peers = self.peers.values();
        // Alone, it removes only what was forgotten.
        let is_safe = peers.any(|peer| self.chains.covers(&peer.vector, snapshot))
            || self.peers.is_empty()
                && !self.forgot.is_empty()
                && self.whole(place, &BTreeSet::from([*snapshot])).contains(snapshot);
        if is_safe {
            for dot in listed.iter().filter(|dot| is_in_snapshot(dot)) {
                place.remove(dot).map_err(SyncError::PlaceUnavailable)?;
                removed.insert(*dot);
            }
        }
        // A copy of this device may have removed them: putting them again would never end.
        let mut outbox = std::mem::take(&mut self.outbox);
        outbox.retain(|sealed| !is_in_snapshot(&sealed.dot));
        self.outbox = outbox;
        Ok(removed)
    }

    /// Takes in a snapshot. Of the heads that only one side has, those stay that the other side has not replaced.
    pub(crate) fn learn_snapshot(&mut self, dot: Dot, changes: &Changes, snapshot: Snapshot) {
        let Snapshot { chains, files, before, peers, forgot } = snapshot;
        self.chains.absorb(&chains);
        let mut is_news = !self.chains.is_within(&forgot, &self.forgot);
        self.forgot = self.chains.join([&self.forgot, &forgot]);
        let mut theirs: BTreeMap<_, _> = files
            .into_iter()
            .filter_map(|file| Some((file.id, file.heads(&changes.pool)?)))
            .collect();
        let ids: BTreeSet<_> = self.heads.keys().chain(theirs.keys()).copied().collect();
        for id in ids {
            let file = self.heads.entry(id).or_default();
            let theirs = theirs.remove(&id).unwrap_or_default();
            let seen = (&self.vector, &changes.seen);
            unite(&self.chains, &mut file.texts, theirs.texts, seen, |head| &head.dot);
            unite(&self.chains, &mut file.paths, theirs.paths, seen, |head| &head.dot);
            if !self.chains.is_within(&theirs.forgotten, &file.forgotten) {
                file.forgotten = self.chains.join([&file.forgotten, &theirs.forgotten]);
                self.remembered.insert(id);
                is_news = true;
            }
            if holds(Rule::DropForgotten) {
                file.drop_forgotten(&self.chains);
            }
        }
        // One that has published nothing has nothing to renew.
        self.must_renew |= is_news && (self.number > 0 || self.own.len() > 1);
        self.vector = self.chains.join([&self.vector, &changes.seen]);
        for log in &before {
            self.peers.remove(log);
        }
        // The snapshot stands for them.
        self.outbox.retain(|sealed| !self.chains.covers(&changes.seen, &sealed.dot));
        if !self.own.contains(&dot.log) {
            let (label, vector) = (changes.label.clone(), changes.seen.clone());
            self.unacknowledged.insert(dot);
            self.peers.insert(dot.log, Peer { label, time: changes.time, vector, before });
        }
        for (log, peer) in peers {
            let has_ended = self.peers.values().any(|other| other.before.contains(&log));
            if !has_ended && !self.own.contains(&log) {
                self.peers.entry(log).or_insert(peer);
            }
        }
    }
}

/// Unites the heads of two devices that have seen what the vectors cover.
fn unite<H>(
    chains: &Chains,
    ours: &mut Vec<H>,
    theirs: Vec<H>,
    (our_vector, their_vector): (&Vector, &Vector),
    dot: impl Fn(&H) -> &Dot,
) {
    let known: BTreeSet<Dot> = theirs.iter().map(|head| *dot(head)).collect();
    let held: BTreeSet<Dot> = ours.iter().map(|head| *dot(head)).collect();
    if holds(Rule::DropReplaced) {
        ours.retain(|head| known.contains(dot(head)) || !chains.covers(their_vector, dot(head)));
    }
    let is_new = |head: &H| {
        !held.contains(dot(head))
            && (!chains.covers(our_vector, dot(head)) || !holds(Rule::TakeNewOnly))
    };
    ours.extend(theirs.into_iter().filter(is_new));
}

/// The objects of a log after which a new one begins.
const LONG: u64 = if cfg!(test) { 4 } else { 256 };
