//! The writer queue: calls run in order, a group of them forms one batch, and each group costs one sync.
//!
//! A call runs under the queue's mutex against the committed state and its group's overlay. If it succeeds, its changes
//! join the group and the call waits. One of the waiting threads leads: it closes the group, seals it, applies it and
//! syncs, while later calls already run for the next group. The next group is applied only after this one is synced, so
//! the engine never holds more than one unsynced batch.

use std::sync::MutexGuard;
use std::time::Instant;

use super::error::StoreError;
use super::generation::{NextGeneration, write_headers};
use super::handle::{Session, State, lock, read, write};
use super::overlay::Overlay;
use super::queue::Queue;
use super::reap;
use super::txn::Txn;
use inmost_format::record::ObjectId;
use inmost_format::record::node::Root;
use inmost_storage::Engine;
use inmost_storage::limits::{BATCH_RECORDS, BATCH_RECORDS_MAX};

impl Session {
    /// Runs one call and makes its changes durable.
    ///
    /// `work` may run more than once. If its changes do not fit the current group, they are dropped, the group is
    /// committed, and the call runs again on the state after it. On an error nothing has changed.
    pub(crate) fn write<T, E: From<StoreError>>(
        &self,
        mut work: impl FnMut(&mut Txn<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let _call = self.shared.idle.begin();
        loop {
            let mut queue = lock(&self.shared.queue);
            let number = queue.number;
            let (value, changes) = self.run(&queue.group, &mut work)?;
            if changes.is_empty() {
                return Ok(value);
            }
            let records = queue.group.records_with(&changes);
            let commit_delay = &self.shared.commit_delay;
            if records <= CALLS_RECORDS || (queue.group.is_empty() && records <= BATCH_RECORDS_MAX)
            {
                queue.group.merge(changes).map_err(StoreError::from)?;
                commit_delay.enqueue();
                drop(queue);
                self.wait(number)?;
                if lock(&self.shared.progress).take_refusal(number) {
                    return Err(StoreError::DiskFull.into());
                }
                return Ok(value);
            }
            if queue.group.is_empty() {
                return Err(StoreError::TooLarge.into());
            }
            commit_delay.mark_full();
            drop((queue, changes));
            self.wait(number)?;
        }
    }

    /// Runs work that needs several durable steps in a row, with no other writer between them. Readers go on and see
    /// each step, so an unfinished change belongs in the system folder until the last step.
    pub(crate) fn exclusive<T, E: From<StoreError>>(
        &self,
        work: impl FnOnce(&mut Exclusive<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let _call = self.shared.idle.begin();
        let _leader = self.lead();
        let mut exclusive = Exclusive { session: self, queue: lock(&self.shared.queue) };
        exclusive.flush()?;
        let result = work(&mut exclusive);
        exclusive.queue.staged = None;
        result
    }

    fn run<T, E: From<StoreError>>(
        &self,
        group: &Overlay,
        work: &mut impl FnMut(&mut Txn<'_>) -> Result<T, E>,
    ) -> Result<(T, Overlay), E> {
        let state = read(&self.shared.state);
        let mut txn = Txn::new(state.open()?, group);
        let value = work(&mut txn)?;
        Ok((value, txn.into_overlay()))
    }

    /// Waits until the group of this number is durable or refused. Commits it if no other thread is leading.
    fn wait(&self, number: u64) -> Result<(), StoreError> {
        let mut progress = lock(&self.shared.progress);
        loop {
            if progress.durable > number {
                return Ok(());
            }
            if !progress.leading {
                progress.leading = true;
                drop(progress);
                let leader = Leader::of(self);
                self.shared.commit_delay.wait();
                self.commit()?;
                drop(leader);
                progress = lock(&self.shared.progress);
                continue;
            }
            // A failed commit ends this wait too: the next leader finds the session halted.
            progress = self
                .shared
                .finished
                .wait(progress)
                .unwrap_or_else(std::sync::PoisonError::into_inner);
        }
    }

    fn lead(&self) -> Leader<'_> {
        let mut progress = lock(&self.shared.progress);
        while progress.leading {
            progress = self
                .shared
                .finished
                .wait(progress)
                .unwrap_or_else(std::sync::PoisonError::into_inner);
        }
        progress.leading = true;
        Leader::of(self)
    }

    /// Commits the group that has formed. Only the leader may call this.
    fn commit(&self) -> Result<(), StoreError> {
        let mut queue = lock(&self.shared.queue);
        let start = Instant::now();
        let calls = self.shared.commit_delay.close();
        let applied = self.apply(&mut queue);
        let number = queue.number;
        drop(queue);
        if matches!(applied, Err(StoreError::DiskFull)) {
            self.refuse(number, calls);
            return Ok(());
        }
        applied?;
        self.sync()?;
        self.shared.commit_delay.record(calls, start.elapsed());
        self.publish(number);
        Ok(())
    }

    /// Closes, seals and applies the group. If the disk has no room for it, nothing has changed. Any other error halts the
    /// session.
    fn apply(&self, queue: &mut Queue) -> Result<(), StoreError> {
        let mut group = std::mem::take(&mut queue.group);
        queue.number = queue.number.saturating_add(1);
        let applied = (|| {
            let sealed = {
                let state = read(&self.shared.state);
                let open = state.open()?;
                if group.is_empty() {
                    return Ok(());
                }
                reap::reap_into(open, &mut group, queue.staged)?;
                open.seal(group)?
            };
            write(&self.shared.state).open_mut()?.apply(sealed)
        })();
        applied.map_err(|error| match error {
            StoreError::DiskFull => error,
            error => self.halt(error),
        })
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

    /// Ends the group before this number, for which the disk has no room: its calls fail, each with this reason. Nothing
    /// has changed, so the session goes on.
    fn refuse(&self, number: u64, calls: usize) {
        if calls > 0 {
            lock(&self.shared.progress).refused.insert(number.saturating_sub(1), calls);
        }
        self.publish(number);
    }

    /// Wakes the threads that wait for a group before this number.
    fn publish(&self, number: u64) {
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
struct Leader<'a> {
    session: &'a Session,
    /// A destructor may make this call while its thread is already unwinding.
    was_panicking: bool,
}

impl<'a> Leader<'a> {
    fn of(session: &'a Session) -> Self {
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

/// Exclusive write access, for several durable steps.
pub(crate) struct Exclusive<'a> {
    session: &'a Session,
    queue: MutexGuard<'a, Queue>,
}

impl Exclusive<'_> {
    /// Runs `work` and makes its changes durable as one step.
    pub(crate) fn commit<T, E: From<StoreError>>(
        &mut self,
        mut work: impl FnMut(&mut Txn<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
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

    /// Makes one durable step of reaping, if there is anything to reap.
    pub(crate) fn reap(&mut self) -> Result<(), StoreError> {
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

    /// Keeps an object in the system folder from being reaped until this writer is done.
    pub(crate) fn stage(&mut self, object: ObjectId) {
        self.queue.staged = Some(object);
    }

    fn flush(&mut self) -> Result<(), StoreError> {
        // No call waits for a group without changes, and everything before it is synced.
        if self.queue.group.is_empty() {
            return Ok(());
        }
        let calls = self.session.shared.commit_delay.close();
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

/// Records of a batch that calls may use, the root included; the rest is reserved for reaping.
const CALLS_RECORDS: usize = BATCH_RECORDS - reap::RESERVED;

#[cfg(test)]
mod tests;
