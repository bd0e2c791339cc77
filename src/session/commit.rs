//! The writer queue: calls run in order, a group of them forms one batch, and each group costs one sync.
//!
//! A call runs under the queue's mutex against the committed state and its group's overlay. If it succeeds, its changes
//! join the group and the call waits; the calls of a [`Series`](self::series::Series) wait together. One of the waiting
//! threads leads: the last expected one, or the first one once it has waited long enough. It closes the group, seals it,
//! applies it and syncs, while later calls already run for the next group. The next group is applied only after this one
//! is synced, so the engine never holds more than one unsynced batch.

mod delay;
pub(crate) mod exclusive;
pub(crate) mod handle;
pub(crate) mod queue;
pub(crate) mod series;

use std::sync::{MutexGuard, PoisonError};
use std::time::Instant;

use self::handle::{Session, Shared};
use self::queue::{Progress, Queue};
use crate::session::error::StoreError;
use crate::session::open::state::State;
use crate::session::shared::Refusal;
use crate::session::sync::{lock, read, write};
use crate::session::transaction::Txn;
use crate::session::transaction::overlay::Overlay;
use crate::session::upkeep::ledger;
use crate::session::upkeep::reap;
use crate::session::upkeep::trim;
use inmost_storage::StorageError;

impl Session {
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

    /// The calls that have joined the open group.
    #[cfg(test)]
    pub(crate) fn joined_calls(&self) -> usize {
        self.shared.commit_delay.joined()
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
    pub(super) fn refuse(&self, number: u64, calls: usize) {
        if calls > 0 {
            lock(&self.shared.progress)
                .refused
                .insert(number.saturating_sub(1), (Refusal::DiskFull, calls));
        }
        self.publish(number);
    }

    /// Closes, seals and applies the group. If the disk has no room for it, it is tried again: without the readings that wait, so
    /// that they keep no change out, and then with discarded records removed and the oldest texts of the history dropped in the
    /// same batch. If there is no room even so, nothing has changed. Any other error halts the session.
    pub(super) fn apply(&self, queue: &mut Queue) -> Result<(), StoreError> {
        let mut group = std::mem::take(&mut queue.group);
        queue.number = queue.number.saturating_add(1);
        let applied = (|| {
            if group.is_empty() {
                read(&self.shared.state).open()?;
                return Ok(());
            }
            let (recorded, without_readings) = {
                let state = read(&self.shared.state);
                let open = state.open()?;
                let without_readings = (!open.waiting.is_empty()).then(|| group.clone());
                let recorded = ledger::record_into(open, &mut group)?;
                reap::reap_into(open, &mut group, queue.staged)?;
                trim::trim_into(open, &mut group)?;
                (recorded, without_readings)
            };
            let Some(mut refused) = self.seal_and_apply(group)? else {
                read(&self.shared.state).open()?.waiting.remove(&recorded);
                return Ok(());
            };
            if let Some(group) = without_readings {
                let Some(again) = self.seal_and_apply(group)? else { return Ok(()) };
                refused = again;
            }
            let with_room = {
                let state = read(&self.shared.state);
                // The refused batch has changed nothing, so an error here does not halt the session. If it lasts, the
                // next call meets it.
                trim::make_room(state.open()?, refused, queue.staged).unwrap_or_default()
            };
            match with_room.map_or(Ok(None), |group| self.seal_and_apply(group).map(Some))? {
                Some(None) => Ok(()),
                None | Some(Some(_)) => Err(StoreError::DiskFull),
            }
        })();
        applied.map_err(|error| match error {
            StoreError::DiskFull => error,
            error => self.halt(error),
        })
    }

    /// Seals and applies a group. Returns it if the disk has no room for it: then nothing has changed. Readers go on while this
    /// waits for room.
    fn seal_and_apply(&self, group: Overlay) -> Result<Option<Overlay>, StoreError> {
        let sealed = read(&self.shared.state).open()?.seal(group)?;
        let prepared = read(&self.shared.state).open()?.engine().prepare(&sealed.batch.records);
        match prepared {
            Err(StorageError::Full) => Ok(Some(sealed.unsealed())),
            prepared => {
                prepared?;
                write(&self.shared.state).open_mut()?.apply(sealed)
            }
        }
    }

    /// Syncs the applied batch, without holding any lock that a reader needs.
    pub(super) fn sync(&self) -> Result<(), StoreError> {
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

/// Leadership of a commit; released on drop, also after a panic.
pub(super) struct Leader<'a> {
    session: &'a Session,
    /// A destructor may make this call while its thread is already unwinding.
    was_panicking: bool,
}

impl<'a> Leader<'a> {
    /// Takes the leadership, which must be free.
    pub(crate) fn of(session: &'a Session, mut progress: MutexGuard<'_, Progress>) -> Self {
        progress.leading = true;
        progress.gathering = false;
        Self { session, was_panicking: std::thread::panicking() }
    }
}

impl Drop for Leader<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() && !self.was_panicking {
            // A panic while leading is a bug. The group is lost, so its waiting callers must not see it as durable.
            self.session.halt(StoreError::Halted);
        }
        lock(&self.session.shared.progress).leading = false;
        self.session.shared.finished.notify_all();
    }
}

/// A group that is applied and not yet synced.
pub(super) struct Closed {
    /// The number of the group after it.
    number: u64,
    calls: usize,
    start: Instant,
}

#[cfg(test)]
mod tests;
