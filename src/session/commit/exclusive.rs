//! Exclusive write access: several durable steps in a row, with no other writer between them.

use super::handle::Session;
use super::queue::Queue;
use crate::session::error::StoreError;
use crate::session::open::Open;
use crate::session::open::generation::{NextGeneration, Written, write_headers};
use crate::session::shared::{self, At, Confirmed, Pin, Stored, WriteGeneration};
use crate::session::sync::{MutexGuard, lock, read, write};
use crate::session::transaction::Txn;
use crate::session::transaction::overlay::{Overlay, VERSIONS_OF_GROUP};
use crate::session::upkeep::reap::{self, CALLS_RECORDS};
use crate::session::upkeep::{self, trim};
use inmost_format::record::{ObjectId, RecordError};
use inmost_storage::Engine;
use inmost_storage::limits::BATCH_RECORDS_MAX;

impl Session {
    /// Runs work that needs several durable steps in a row, with no other writer between them. Readers go on and see
    /// each step, so an unfinished change belongs in the system folder until the last step.
    pub(crate) fn exclusive<T, E: From<StoreError>>(
        &self,
        work: impl FnOnce(&mut Exclusive<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let _call = self.begin_call()?;
        let _leader = self.lead();
        let mut exclusive = Exclusive::new(self);
        exclusive.flush()?;
        let result = work(&mut exclusive);
        exclusive.queue.staged = None;
        result
    }

    /// As [`exclusive`](Self::exclusive), for work whose later steps rest on what earlier ones have read. If another host
    /// changes the store between two steps, the step is refused and the work begins again.
    pub(crate) fn undisturbed<T, E: From<StoreError>>(
        &self,
        mut work: impl FnMut(&mut Exclusive<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut attempts = 0;
        loop {
            let mut disturbed = false;
            let result = self.exclusive(|exclusive| {
                exclusive.pin.set(&self.inner.state)?;
                let result = work(exclusive);
                disturbed = exclusive.pin.is_disturbed();
                result
            });
            attempts += 1;
            if !disturbed || attempts == ATTEMPTS {
                return result;
            }
        }
    }

    /// Whether a step of reaping is worth its commit.
    pub(super) fn is_reaping_due(&self) -> Result<bool, StoreError> {
        Ok(reap::is_due(read(&self.inner.state).open()?)?)
    }
}

/// Exclusive write access, for several durable steps.
pub(crate) struct Exclusive<'a> {
    session: &'a Session,
    queue: MutexGuard<'a, Queue>,
    /// The state that the next step must find, if no other host may come in between.
    pin: Pin,
}

impl<'a> Exclusive<'a> {
    /// Takes the queue. The thread must be the leader.
    pub(crate) fn new(session: &'a Session) -> Self {
        Self { session, queue: lock(&session.inner.queue), pin: Pin::default() }
    }

    /// Runs `work` and makes its changes durable as one step. It runs again whenever another host was faster.
    pub(crate) fn commit<T, E: From<StoreError>>(
        &mut self,
        work: impl FnMut(&mut Txn<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        self.commit_within(TRIES, work)
    }

    /// As [`commit`](Self::commit). After so many tries, no other host can change the store.
    pub(super) fn commit_within<T, E: From<StoreError>>(
        &mut self,
        tries: usize,
        mut work: impl FnMut(&mut Txn<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let caller = self.session.caller.clone();
        self.commit_planned(tries, |open| {
            let group = Overlay::default();
            let mut txn = Txn::new(open, &group, &caller);
            let value = work(&mut txn)?;
            Ok((value, txn.into_overlay()))
        })
    }

    /// Runs several calls and makes their changes durable as one step, in which each has a number of its own. If one of them
    /// fails, nothing changes.
    pub(crate) fn commit_each<T, E: From<StoreError>>(
        &mut self,
        calls: usize,
        mut work: impl FnMut(usize, &mut Txn<'_>) -> Result<T, E>,
    ) -> Result<Vec<T>, E> {
        let caller = self.session.caller.clone();
        self.commit_planned(TRIES, |open| {
            let mut group = Overlay::default();
            let mut values = Vec::with_capacity(calls);
            for call in 0..calls {
                let mut txn = Txn::new(open, &group, &caller);
                values.push(work(call, &mut txn)?);
                let changes = txn.into_overlay();
                if !group.is_numbered_with(&changes) {
                    return Err(StoreError::TooLarge.into());
                }
                group.merge(changes).map_err(StoreError::from)?;
            }
            Ok((values, group))
        })
    }

    /// Runs as many of several calls as fit one commit, and makes their changes durable as one step. The error of a call changes
    /// nothing for the others.
    pub(super) fn commit_together<T, E: From<StoreError>>(
        &mut self,
        calls: usize,
        work: &mut impl FnMut(usize, &mut Txn<'_>) -> Result<Result<T, E>, StoreError>,
    ) -> Result<Vec<Result<T, E>>, StoreError> {
        let caller = self.session.caller.clone();
        // As many as have a number of their own, and no more if they change nothing: writers wait meanwhile.
        let calls = calls.min(usize::try_from(VERSIONS_OF_GROUP).unwrap_or(usize::MAX));
        let results = self.commit_planned(TRIES, |open| {
            let mut group = Overlay::default();
            let mut results = Vec::with_capacity(calls);
            for call in 0..calls {
                let mut txn = Txn::new(open, &group, &caller);
                let result = work(call, &mut txn)?;
                let changes = txn.into_overlay();
                if result.is_ok() && !changes.is_empty() {
                    if group.is_empty() && group.records_with(&changes) > BATCH_RECORDS_MAX {
                        results.push(Err(StoreError::TooLarge.into()));
                        continue;
                    }
                    if !group.is_empty() && !fits(open, &group, &changes)? {
                        break;
                    }
                    group.merge(changes)?;
                }
                results.push(result);
            }
            Ok::<_, StoreError>((results, group))
        })?;
        self.reap_if_due()?;
        Ok(results)
    }

    /// Plans changes and makes them durable as one step. `plan` runs again whenever another host was faster. After so many tries it
    /// runs while no other host can change the store.
    pub(crate) fn commit_planned<T, E: From<StoreError>>(
        &mut self,
        tries: usize,
        mut plan: impl FnMut(&Open) -> Result<(T, Overlay), E>,
    ) -> Result<T, E> {
        let (session, staged) = (self.session, self.queue.staged);
        let state = &session.inner.state;
        for _ in 0..tries {
            let (at, root, planned) = {
                let state = read(state);
                let open = state.open()?;
                (At::of(open), open.root_tag(), plan(open))
            };
            self.pin.check(root)?;
            let planned = match planned {
                Ok((value, group)) if !group.is_empty() => {
                    if group.records_with(&Overlay::default()) <= BATCH_RECORDS_MAX {
                        let stored = session.store_durably(group, at.version, staged)?;
                        if let Stored::Done { root, .. } = stored {
                            self.pin.advance(root);
                            return Ok(value);
                        }
                        shared::refresh(state)?;
                        continue;
                    }
                    Err(StoreError::TooLarge.into())
                }
                planned => planned.map(|(value, _)| value),
            };
            if let Confirmed::Newest = shared::confirm(state, at)? {
                return planned;
            }
        }
        self.pin.check(None)?;
        shared::store_locked(state, &mut |open| {
            let (value, mut group) = plan(open)?;
            if !group.is_empty() {
                upkeep::add_due(open, &mut group, staged)?;
            }
            Ok((value, group))
        })
    }

    pub(crate) fn session(&self) -> &'_ Session {
        self.session
    }

    /// Switches to another generation with the same content: writes the header that names it, and returns the engine of
    /// the old one.
    pub(crate) fn switch(
        &mut self,
        next: NextGeneration,
        written: Written,
    ) -> Result<Box<dyn Engine>, StoreError> {
        let session = self.session;
        // Once a write of copy A has begun, only a new unlock can tell which header is in effect.
        session
            .read_once(|open| {
                open.storage().check_files()?;
                write_headers(open.storage(), next.header())
            })
            .map_err(|error| session.halt(error))?;
        let mut state = write(&session.inner.state);
        Ok(state.open_mut()?.replace(next, written))
    }

    /// Writes a new generation and switches to it, on a store that several hosts use. Returns `false` without having done anything on
    /// another store.
    pub(crate) fn switch_between_hosts(
        &mut self,
        write_generation: WriteGeneration<'_>,
    ) -> Result<bool, StoreError> {
        shared::switch(&self.session.inner.state, write_generation)
    }

    /// Drops all versions whose time is over or for which there is no room, in durable steps.
    pub(crate) fn trim(&mut self) -> Result<(), StoreError> {
        while self.keep_house(|open, group| Ok(trim::trim_into(open, group)?))? {}
        Ok(())
    }

    /// Makes one durable step of reaping, if there is anything to reap.
    pub(crate) fn reap(&mut self) -> Result<(), StoreError> {
        let staged = self.queue.staged;
        self.keep_house(|open, group| Ok(reap::reap_into(open, group, staged)?)).map(drop)
    }

    /// Makes a step of reaping if anything waits for it. A full group leaves little room for reaping. Without this step, a long series of
    /// calls would discard records faster than they are reaped.
    fn reap_if_due(&mut self) -> Result<(), StoreError> {
        if self.session.is_reaping_due()? { self.reap() } else { Ok(()) }
    }

    /// Makes one durable step of what is due anyway. Returns whether there was anything to do.
    fn keep_house(
        &mut self,
        step: impl Fn(&Open, &mut Overlay) -> Result<(), StoreError>,
    ) -> Result<bool, StoreError> {
        self.commit_planned(TRIES, |open| {
            let mut group = Overlay::default();
            step(open, &mut group)?;
            Ok((!group.is_empty(), group))
        })
    }

    /// Keeps an object in the system folder from being reaped until this writer is done.
    pub(crate) fn stage(&mut self, object: ObjectId) {
        self.queue.staged = Some(object);
    }

    /// Stores the group that has formed. Its calls learn how that ended.
    pub(super) fn flush(&mut self) -> Result<(), StoreError> {
        // No call waits for a group without changes.
        if self.queue.group.is_empty() {
            return Ok(());
        }
        let number = self.queue.number;
        let closed = self.session.close_group(&mut self.queue)?;
        closed.map_or(Ok(()), |closed| self.session.make_durable(&closed))?;
        let is_full = lock(&self.session.inner.progress).is_refused_as_full(number);
        // This leadership goes on for long.
        self.session.inner.finished.notify_all();
        // What follows would find no room either.
        if is_full { Err(StoreError::DiskFull) } else { Ok(()) }
    }
}

/// Whether the changes of a call fit a group that is made on this state.
pub(super) fn fits(open: &Open, group: &Overlay, changes: &Overlay) -> Result<bool, RecordError> {
    let records = group.records_with(changes);
    if !group.is_numbered_with(changes) || records > open.engine().group_records() {
        return Ok(false);
    }
    // Without anything to reap, a group may have as many records as the engine takes at once.
    Ok(records <= CALLS_RECORDS || !(reap::is_due(open)? || trim::is_due(open)?))
}

/// Times that other hosts may overtake a call before it locks the root.
pub(crate) const TRIES: usize = 2;
/// Times that work in several steps begins.
const ATTEMPTS: usize = 8;
