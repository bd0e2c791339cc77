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

use std::time::Instant;

use self::handle::{Inner, Session};
use self::queue::{Progress, Queue, Refusal};
use crate::session::error::StoreError;
use crate::session::open::state::halt;
use crate::session::shared::{self, Applied, Stored};
use crate::session::sync::{MutexGuard, lock, read, wait, wait_while};
use crate::session::transaction::overlay::Overlay;
use crate::session::upkeep::{self, trim};
use inmost_format::record::ObjectId;

impl Session {
    /// Waits until the group of this number is durable or refused. Commits it if no other thread leads or will lead.
    fn wait(&self, number: u64) -> Result<(), StoreError> {
        let Inner { progress, commit_delay, finished, .. } = &*self.inner;
        let mut progress = lock(progress);
        loop {
            if progress.durable > number {
                return Ok(());
            }
            let complete = commit_delay.is_complete();
            if progress.leading || (progress.gathering && !complete) {
                // A failed commit ends this wait too: the next leader finds the session halted.
                progress = wait(finished, progress);
                continue;
            }
            if !complete {
                progress = self.gather(progress, number);
                if progress.leading || progress.durable > number {
                    continue;
                }
            }
            let leader = Leader::of(self, progress);
            self.commit(number)?;
            drop(leader);
            progress = lock(&self.inner.progress);
        }
    }

    /// Waits for the calls that are expected in the group of this number, until another thread leads or the time is
    /// over. Until then the others need no time limit of their own.
    fn gather<'a>(
        &'a self,
        mut progress: MutexGuard<'a, Progress>,
        number: u64,
    ) -> MutexGuard<'a, Progress> {
        progress.gathering = true;
        let limit = self.inner.commit_delay.limit();
        let alone = |progress: &mut Progress| !progress.leading && progress.durable <= number;
        wait_while(&self.inner.finished, &self.inner.progress, progress, limit, alone)
    }

    /// Waits until no other thread leads, and leads.
    fn lead(&self) -> Leader<'_> {
        let mut progress = lock(&self.inner.progress);
        while progress.leading {
            progress = wait(&self.inner.finished, progress);
        }
        Leader::of(self, progress)
    }

    /// Makes the next group wait for this many calls.
    #[cfg(test)]
    pub(crate) fn expect_calls(&self, calls: usize) {
        self.inner.commit_delay.expect(calls);
    }

    /// The calls that have joined the open group.
    #[cfg(test)]
    pub(crate) fn joined_calls(&self) -> usize {
        self.inner.commit_delay.joined()
    }

    /// Commits the group of this number. Only the leader may call this.
    fn commit(&self, number: u64) -> Result<(), StoreError> {
        self.close(number)?.map_or(Ok(()), |closed| self.make_durable(&closed))
    }

    /// Closes the group of this number, seals it and applies it. `None` if it needs no sync. Only the leader may call this.
    fn close(&self, number: u64) -> Result<Option<Closed>, StoreError> {
        let mut queue = lock(&self.inner.queue);
        // After a failure or a panic of the last leader its group is gone, and its calls must not take the next one for theirs.
        match read(&self.inner.state).open() {
            // That halted the session, and then it was locked. The changes may be stored.
            Err(StoreError::Locked) if queue.number > number => return Err(StoreError::Halted),
            open => {
                open?;
            }
        }
        self.close_group(&mut queue)
    }

    /// Seals and applies the group in the queue. Its calls learn of it if it was overtaken or refused; then nothing has changed, and
    /// the session goes on. After another failure it halts.
    fn close_group(&self, queue: &mut Queue) -> Result<Option<Closed>, StoreError> {
        let start = Instant::now();
        let calls = self.inner.commit_delay.close();
        let group = std::mem::take(&mut queue.group);
        let last = queue.number;
        queue.number = last.saturating_add(1);
        let closed = Closed { number: queue.number, calls, start };
        if group.is_empty() {
            self.finish(&closed);
            return Ok(None);
        }
        let refusal = match self.store(group, queue.base, queue.staged) {
            Ok(Stored::Done { is_synced: false, .. }) => return Ok(Some(closed)),
            Ok(Stored::Done { is_synced: true, .. }) => None,
            Ok(Stored::Overtaken) => Some(Refusal::Overtaken),
            Err(error) if shared::outlives(&self.inner.state, &error) => Some(Refusal::of(error)),
            Err(error) => return Err(self.halt(error)),
        };
        if let (Some(refusal), true) = (refusal, calls > 0) {
            lock(&self.inner.progress).refused.insert(last, (refusal, calls));
        }
        self.finish(&closed);
        Ok(None)
    }

    /// Syncs a closed group, for which other threads wait. Only the leader may call this.
    fn make_durable(&self, closed: &Closed) -> Result<(), StoreError> {
        self.sync()?;
        self.finish(closed);
        Ok(())
    }

    /// Notes that the calls of a closed group know their outcome. They wake up when the leadership ends.
    fn finish(&self, closed: &Closed) {
        self.inner.commit_delay.record(closed.calls, closed.start.elapsed());
        lock(&self.inner.progress).durable = closed.number;
    }

    /// Stores changes that were made on this version of the state, with what is due besides.
    ///
    /// If the disk has no room for them, it is tried again: without the readings that wait, so that they keep no change out, and then
    /// with discarded records removed and the oldest texts of the history dropped in the same batch.
    ///
    /// # Errors
    /// [`StoreError::DiskFull`] if there is no room even so; then nothing has changed. Those of [`shared::apply`].
    fn store(
        &self,
        mut group: Overlay,
        version: u64,
        staged: Option<ObjectId>,
    ) -> Result<Stored, StoreError> {
        let state = &self.inner.state;
        let has_header = group.header.is_some();
        let mut without_readings = None;
        let recorded = shared::on_version(state, version, |open| {
            without_readings = (!open.waiting.is_empty()).then(|| group.clone());
            upkeep::add_due(open, &mut group, staged)
        })?;
        let Some(recorded) = recorded else { return Ok(Stored::Overtaken) };
        let mut refused = match self.seal_and_apply(group, version)? {
            Applied::Full(group) => group,
            Applied::Stored(stored) => {
                if let (Stored::Done { .. }, Ok(open)) = (stored, read(state).open()) {
                    open.waiting.remove(&recorded);
                }
                return Ok(stored);
            }
        };
        if let Some(group) = without_readings {
            refused = match self.seal_and_apply(group, version)? {
                Applied::Full(group) => group,
                Applied::Stored(stored) => return Ok(stored),
            };
        }
        let with_room = {
            let state = read(state);
            // The refused batch has changed nothing, so an error here does not halt the session. If it lasts, the next
            // call meets it.
            trim::make_room(state.open()?, refused, staged).unwrap_or_default()
        };
        match with_room.map(|group| self.seal_and_apply(group, version)).transpose()? {
            Some(Applied::Stored(stored)) => Ok(stored),
            None | Some(Applied::Full(_)) => {
                if has_header {
                    // It may be written already. Only a new unlock can tell which header is in effect.
                    halt(state, &StoreError::DiskFull);
                }
                Err(StoreError::DiskFull)
            }
        }
    }

    fn seal_and_apply(&self, group: Overlay, version: u64) -> Result<Applied, StoreError> {
        let state = &self.inner.state;
        match shared::on_version(state, version, |open| open.seal(group))? {
            Some(sealed) => shared::apply(state, sealed, version),
            None => Ok(Applied::Stored(Stored::Overtaken)),
        }
    }

    /// Stores changes and makes them durable. Only the leader may call this.
    fn store_durably(
        &self,
        group: Overlay,
        version: u64,
        staged: Option<ObjectId>,
    ) -> Result<Stored, StoreError> {
        let stored = self.store(group, version, staged).map_err(|error| {
            let outlives = shared::outlives(&self.inner.state, &error);
            if outlives { error } else { self.halt(error) }
        })?;
        if let Stored::Done { is_synced: false, .. } = stored {
            self.sync()?;
        }
        Ok(stored)
    }

    /// Syncs what a local engine has applied, without holding any lock that a reader needs.
    fn sync(&self) -> Result<(), StoreError> {
        let synced = {
            let state = read(&self.inner.state);
            state.open().and_then(|open| {
                open.engine().sync()?;
                open.remember();
                Ok(())
            })
        };
        synced.map_err(|error| match error {
            // The session was locked after the changes were applied, so they may be stored.
            StoreError::Locked => StoreError::Halted,
            error => self.halt(error),
        })
    }

    /// Halts the session after a failed commit, for reads too. The leading caller gets the reason.
    fn halt(&self, error: StoreError) -> StoreError {
        halt(&self.inner.state, &error);
        error
    }
}

/// Leadership of a commit; released on drop, also after a panic.
struct Leader<'a> {
    session: &'a Session,
    /// A destructor may make this call while its thread is already unwinding.
    was_panicking: bool,
}

impl<'a> Leader<'a> {
    /// Takes the leadership, which must be free.
    fn of(session: &'a Session, mut progress: MutexGuard<'_, Progress>) -> Self {
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
        lock(&self.session.inner.progress).leading = false;
        self.session.inner.finished.notify_all();
    }
}

/// A group that takes no more calls.
struct Closed {
    /// The number of the group after it.
    number: u64,
    calls: usize,
    start: Instant,
}

#[cfg(test)]
mod tests;
