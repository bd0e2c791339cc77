//! The writer queue: calls run in order, a group of them forms one batch, and each group costs one sync.
//!
//! A call runs under the queue's mutex against the committed state and its group's overlay. If it succeeds, its changes
//! join the group and the call waits; the calls of a [`Series`](super::series::Series) wait together. One of the waiting
//! threads leads: the last expected one, or the first one once it has waited long enough. It closes the group, seals it,
//! applies it and syncs, while later calls already run for the next group. The next group is applied only after this one
//! is synced, so the engine never holds more than one unsynced batch.

use std::sync::{MutexGuard, PoisonError};
use std::time::Instant;

use super::error::StoreError;
use super::generation::{NextGeneration, write_headers};
use super::handle::{Session, Shared, State, lock, read, write};
use super::hosts::{Pin, Refusal};
use super::leader::Leader;
use super::ledger;
use super::overlay::Overlay;
use super::queue::{Progress, Queue};
use super::reap;
use super::sealed_group::SealedGroup;
use super::trim;
use super::txn::Txn;
use inmost_format::record::ObjectId;
use inmost_format::record::node::Root;
use inmost_storage::limits::BATCH_RECORDS_MAX;
use inmost_storage::{Engine, StorageError};

impl Session {
    /// Runs work that needs several durable steps in a row, with no other writer between them. Readers go on and see
    /// each step, so an unfinished change belongs in the system folder until the last step.
    pub(crate) fn exclusive<T, E: From<StoreError>>(
        &self,
        work: impl FnOnce(&mut Exclusive<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        self.check_process()?;
        let _call = self.shared.idle.begin();
        let _leader = self.lead();
        let mut exclusive = Exclusive::new(self);
        exclusive.flush()?;
        let result = work(&mut exclusive);
        exclusive.queue.staged = None;
        result
    }

    /// Runs a call on the state after a group, without changing anything.
    pub(super) fn run<T, E: From<StoreError>>(
        &self,
        group: &Overlay,
        work: &mut impl FnMut(&mut Txn<'_>) -> Result<T, E>,
    ) -> Result<(T, Overlay), E> {
        let state = read(&self.shared.state);
        let mut txn = Txn::new(state.open()?, group, &self.author);
        let value = work(&mut txn)?;
        Ok((value, txn.into_overlay()))
    }

    /// Waits until the group of this number is durable or refused. Commits it if no other thread leads or will lead.
    pub(super) fn wait(&self, number: u64) -> Result<(), StoreError> {
        let Shared { progress, commit_delay, finished, .. } = &*self.shared;
        let mut progress = lock(progress);
        loop {
            if progress.durable > number {
                return Ok(());
            }
            let complete = commit_delay.is_complete();
            if progress.leading || (progress.gathering && !complete) {
                // A failed commit ends this wait too: the next leader finds the session halted.
                progress = finished.wait(progress).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            if !complete {
                progress = self.gather(progress, number);
                if progress.leading || progress.durable > number {
                    continue;
                }
            }
            let leader = Leader::of(self, progress);
            self.commit()?;
            drop(leader);
            progress = lock(&self.shared.progress);
        }
    }

    /// Waits for the calls that are expected in the group of this number, until another thread leads or the time is
    /// over. Until then the others need no time limit of their own.
    fn gather<'a>(
        &self,
        mut progress: MutexGuard<'a, Progress>,
        number: u64,
    ) -> MutexGuard<'a, Progress> {
        progress.gathering = true;
        let limit = self.shared.commit_delay.limit();
        let alone = |progress: &mut Progress| !progress.leading && progress.durable <= number;
        let waited = self.shared.finished.wait_timeout_while(progress, limit, alone);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Waits until no other thread leads, and leads.
    pub(super) fn lead(&self) -> Leader<'_> {
        let mut progress = lock(&self.shared.progress);
        while progress.leading {
            progress = self.shared.finished.wait(progress).unwrap_or_else(PoisonError::into_inner);
        }
        Leader::of(self, progress)
    }

    /// Makes the next group wait for this many calls.
    #[cfg(test)]
    pub(crate) fn expect_calls(&self, calls: usize) {
        self.shared.commit_delay.expect(calls);
    }

    /// Commits the group that has formed. Only the leader may call this.
    fn commit(&self) -> Result<(), StoreError> {
        self.close()?.map_or(Ok(()), |closed| self.make_durable(&closed))
    }

    /// Closes the group that has formed, seals it and applies it. `None` if it needs no sync. Only the leader may call this.
    pub(super) fn close(&self) -> Result<Option<Closed>, StoreError> {
        let mut queue = lock(&self.shared.queue);
        let start = Instant::now();
        let calls = self.shared.commit_delay.close();
        if self.is_shared() {
            // After a panic of the last leader its group is gone, and its calls must not take the next one for theirs.
            read(&self.shared.state).open()?;
            self.commit_group(&mut queue, calls);
            self.shared.commit_delay.record(calls, start.elapsed());
            return Ok(None);
        }
        let applied = self.apply(&mut queue);
        let number = queue.number;
        drop(queue);
        if matches!(applied, Err(StoreError::DiskFull)) {
            self.refuse(number, calls);
            return Ok(None);
        }
        applied?;
        Ok(Some(Closed { number, calls, start }))
    }

    /// Syncs a closed group, for which other threads wait until the leadership ends. Only the leader may call this.
    pub(super) fn make_durable(&self, closed: &Closed) -> Result<(), StoreError> {
        self.sync()?;
        self.shared.commit_delay.record(closed.calls, closed.start.elapsed());
        // The end of the leadership wakes the callers, which comes next.
        lock(&self.shared.progress).durable = closed.number;
        Ok(())
    }

    /// Fails the calls of the group before this number, because the disk has no room for it. Nothing has changed, so the
    /// session goes on.
    fn refuse(&self, number: u64, calls: usize) {
        if calls > 0 {
            lock(&self.shared.progress)
                .refused
                .insert(number.saturating_sub(1), (Refusal::DiskFull, calls));
        }
        self.publish(number);
    }

    /// Closes, seals and applies the group. If the disk has no room for it, it is tried once more, with discarded records
    /// removed and the oldest texts of the history dropped in the same batch. If there is no room even so, nothing has
    /// changed. Any other error halts the session.
    fn apply(&self, queue: &mut Queue) -> Result<(), StoreError> {
        let mut group = std::mem::take(&mut queue.group);
        queue.number = queue.number.saturating_add(1);
        let applied = (|| {
            let (sealed, recorded) = {
                let state = read(&self.shared.state);
                let open = state.open()?;
                if group.is_empty() {
                    return Ok(());
                }
                let recorded = ledger::record_into(open, &mut group)?;
                reap::reap_into(open, &mut group, queue.staged)?;
                trim::trim_into(open, &mut group)?;
                (open.seal(group)?, recorded)
            };
            if let Some(refused) = self.apply_sealed(sealed)? {
                let sealed = {
                    let state = read(&self.shared.state);
                    let open = state.open()?;
                    // The refused batch has changed nothing, so an error here does not halt the session. If it lasts, the
                    // next call meets it.
                    let Ok(Some(group)) = trim::make_room(open, refused, queue.staged) else {
                        return Err(StoreError::DiskFull);
                    };
                    open.seal(group)?
                };
                if self.apply_sealed(sealed)?.is_some() {
                    return Err(StoreError::DiskFull);
                }
            }
            read(&self.shared.state).open()?.waiting.remove(&recorded);
            Ok(())
        })();
        applied.map_err(|error| match error {
            StoreError::DiskFull => error,
            error => self.halt(error),
        })
    }

    /// Applies a sealed group. Returns it, unsealed, if the disk has no room for it: then nothing has changed. Readers go on while this
    /// waits for room.
    fn apply_sealed(&self, sealed: SealedGroup) -> Result<Option<Overlay>, StoreError> {
        let prepared = read(&self.shared.state).open()?.engine().prepare(&sealed.batch);
        match prepared {
            Err(StorageError::Full) => Ok(Some(sealed.unsealed())),
            prepared => {
                prepared?;
                write(&self.shared.state).open_mut()?.apply(sealed)
            }
        }
    }

    /// Syncs the applied batch, without holding any lock that a reader needs.
    fn sync(&self) -> Result<(), StoreError> {
        let synced = {
            let state = read(&self.shared.state);
            state.open().and_then(|open| {
                open.engine().sync()?;
                open.remember();
                Ok(())
            })
        };
        synced.map_err(|error| self.halt(error))
    }

    /// Wakes the threads that wait for a group before this number.
    pub(super) fn publish(&self, number: u64) {
        lock(&self.shared.progress).durable = number;
        self.shared.finished.notify_all();
    }

    /// Halts the session after a failed commit, for reads too. The leading caller gets the reason.
    pub(super) fn halt(&self, error: StoreError) -> StoreError {
        let mut state = write(&self.shared.state);
        if matches!(*state, State::Open(_)) {
            *state = State::Halted;
        }
        error
    }
}

/// A group that is applied and not yet synced.
pub(super) struct Closed {
    /// The number of the group after it.
    number: u64,
    calls: usize,
    start: Instant,
}

/// Exclusive write access, for several durable steps.
pub(crate) struct Exclusive<'a> {
    session: &'a Session,
    queue: MutexGuard<'a, Queue>,
    /// The state that the next step must find, if no other host may come in between.
    pub(super) pin: Pin,
}

impl<'a> Exclusive<'a> {
    /// Takes the queue. The thread must be the leader.
    fn new(session: &'a Session) -> Self {
        Self { session, queue: lock(&session.shared.queue), pin: Pin::default() }
    }

    /// Runs `work` and makes its changes durable as one step.
    pub(crate) fn commit<T, E: From<StoreError>>(
        &mut self,
        mut work: impl FnMut(&mut Txn<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        if self.session.is_shared() {
            return self.commit_shared(&mut work);
        }
        let (value, changes) = self.session.run(&self.queue.group, &mut work)?;
        if changes.is_empty() {
            return Ok(value);
        }
        if self.queue.group.records_with(&changes) > BATCH_RECORDS_MAX {
            return Err(StoreError::TooLarge.into());
        }
        self.queue.group.merge(changes).map_err(StoreError::from)?;
        self.flush()?;
        Ok(value)
    }

    /// Runs several calls and makes their changes durable as one step, in which each has a number of its own. If one of them
    /// fails, nothing changes.
    pub(crate) fn commit_each<T, E: From<StoreError>>(
        &mut self,
        calls: usize,
        mut work: impl FnMut(usize, &mut Txn<'_>) -> Result<T, E>,
    ) -> Result<Vec<T>, E> {
        if self.session.is_shared() {
            return self.commit_each_shared(calls, &mut work);
        }
        let mut values = Vec::with_capacity(calls);
        let added = (0..calls).try_for_each(|call| {
            let mut work = |txn: &mut Txn<'_>| work(call, txn);
            let (value, changes) = self.session.run(&self.queue.group, &mut work)?;
            let group = &mut self.queue.group;
            if group.records_with(&changes) > BATCH_RECORDS_MAX || !group.is_numbered_with(&changes)
            {
                return Err(StoreError::TooLarge.into());
            }
            group.merge(changes).map_err(StoreError::from)?;
            values.push(value);
            Ok(())
        });
        if let Err(error) = added {
            self.queue.group = Overlay::default();
            return Err(error);
        }
        self.flush()?;
        Ok(values)
    }

    pub(crate) fn session(&self) -> &'_ Session {
        self.session
    }

    /// Switches to another generation with the same content: writes the header that names it, and returns the engine of
    /// the old one.
    pub(crate) fn switch(
        &mut self,
        engine: Box<dyn Engine>,
        next: NextGeneration,
        root: Root,
        root_value: Vec<u8>,
    ) -> Result<Box<dyn Engine>, StoreError> {
        let session = self.session;
        // Once a write of copy A has begun, only a new unlock can tell which header is in effect.
        session
            .read(|open| write_headers(open.storage(), next.header()))
            .map_err(|error| session.halt(error))?;
        let mut state = write(&session.shared.state);
        Ok(state.open_mut()?.replace(engine, next, root, root_value))
    }

    /// Drops all versions whose time is over or for which there is no room, in durable steps.
    pub(crate) fn trim(&mut self) -> Result<(), StoreError> {
        if self.session.is_shared() {
            return self.keep_house_until_done(|open, group| Ok(trim::trim_into(open, group)?));
        }
        loop {
            let mut group = Overlay::default();
            self.session
                .read(|open| trim::trim_into(open, &mut group).map_err(StoreError::from))?;
            if group.is_empty() {
                return Ok(());
            }
            self.queue.group.merge(group)?;
            self.flush()?;
        }
    }

    /// Makes one durable step of reaping, if there is anything to reap.
    pub(crate) fn reap(&mut self) -> Result<(), StoreError> {
        if self.session.is_shared() {
            return self.reap_shared();
        }
        let mut group = Overlay::default();
        self.session.read(|open| {
            reap::reap_into(open, &mut group, self.queue.staged).map_err(StoreError::from)
        })?;
        if group.is_empty() {
            return Ok(());
        }
        self.queue.group.merge(group)?;
        self.flush()
    }

    /// The object that is not to be reaped.
    pub(super) fn staged(&self) -> Option<ObjectId> {
        self.queue.staged
    }

    /// Keeps an object in the system folder from being reaped until this writer is done.
    pub(crate) fn stage(&mut self, object: ObjectId) {
        self.queue.staged = Some(object);
    }

    fn flush(&mut self) -> Result<(), StoreError> {
        // No call waits for a group without changes.
        if self.queue.group.is_empty() {
            return Ok(());
        }
        let calls = self.session.shared.commit_delay.close();
        if self.session.is_shared() {
            self.session.commit_group(&mut self.queue, calls);
            return Ok(());
        }
        let applied = self.session.apply(&mut self.queue);
        if matches!(applied, Err(StoreError::DiskFull)) {
            // The group may hold calls of other threads, which wait for it.
            self.session.refuse(self.queue.number, calls);
        }
        applied?;
        self.session.sync()?;
        self.session.publish(self.queue.number);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
