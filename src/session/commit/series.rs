//! Calls: each runs in the group that is being formed, and waits until that is durable. The calls of a series wait
//! together.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, Scope};

use super::handle::Session;
use super::{Closed, Leader};
use crate::session::error::StoreError;
use crate::session::open::Open;
use crate::session::sync::{lock, read};
use crate::session::transaction::Txn;
use crate::session::transaction::overlay::Overlay;
use crate::session::upkeep::reap::{self, CALLS_RECORDS};
use crate::session::upkeep::trim;
use inmost_format::record::RecordError;
use inmost_storage::limits::BATCH_RECORDS_MAX;

impl Session {
    /// Runs one call and makes its changes durable.
    ///
    /// `work` may run more than once. If its changes do not fit the current group, they are dropped, the group is
    /// committed, and the call runs again on the state after it. On an error it has changed nothing, and what the error
    /// rests on is durable.
    pub(crate) fn write<T, E: From<StoreError>>(
        &self,
        work: impl FnMut(&mut Txn<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        self.series(|series| series.run(work))
    }

    /// Runs calls that share commits, and makes their changes durable. After an error, the changes of the calls before
    /// it are durable, unless the error is that of a commit.
    pub(crate) fn series<T, E: From<StoreError>>(
        &self,
        work: impl FnOnce(&mut Series<'_, '_>) -> Result<T, E>,
    ) -> Result<T, E> {
        self.series_with(None, work)
    }

    /// As [`series`](Self::series), for many calls: while a full group is being synced, the next ones run already.
    pub(crate) fn long_series<T, E: From<StoreError>>(
        &self,
        work: impl FnOnce(&mut Series<'_, '_>) -> Result<T, E>,
    ) -> Result<T, E> {
        thread::scope(|scope| self.series_with(Some(Background { scope, worker: None }), work))
    }

    fn series_with<'scope, 'env, T, E: From<StoreError>>(
        &'env self,
        background: Option<Background<'scope, 'env>>,
        work: impl FnOnce(&mut Series<'scope, 'env>) -> Result<T, E>,
    ) -> Result<T, E> {
        self.check_process()?;
        let _call = self.shared.idle.begin();
        let mut series = Series { session: self, joined: None, background };
        let value = work(&mut series);
        // Also after an error: it may rest on the group that the series has joined, and no other thread waits for that.
        series.settle()?;
        value
    }

    /// Whether the changes of a call fit the group.
    pub(crate) fn has_room(&self, group: &Overlay, changes: &Overlay) -> Result<bool, StoreError> {
        Ok(fits(read(&self.shared.state).open()?, group, changes)?)
    }
}

/// Whether the changes of a call fit a group that is made on this state.
pub(crate) fn fits(open: &Open, group: &Overlay, changes: &Overlay) -> Result<bool, RecordError> {
    let records = group.records_with(changes);
    if !group.is_numbered_with(changes) || records > open.engine().group_records() {
        return Ok(false);
    }
    // Without anything to reap, a group may have as many records as the engine takes at once.
    Ok(records <= CALLS_RECORDS || !(reap::is_due(open)? || trim::is_due(open)?))
}

/// Calls of one thread that do not wait for each other. They become durable in their order.
pub(crate) struct Series<'scope, 'env> {
    session: &'env Session,
    /// The group that the calls have joined since the series last waited.
    joined: Option<u64>,
    background: Option<Background<'scope, 'env>>,
}

/// Where a series of many calls leaves its syncs.
struct Background<'scope, 'env> {
    scope: &'scope Scope<'scope, 'env>,
    worker: Option<Worker<'env>>,
}

/// A thread that syncs one closed group after the other.
struct Worker<'env> {
    groups: Sender<(Leader<'env>, Closed)>,
    synced: Receiver<Result<(), StoreError>>,
    is_busy: bool,
}

impl<'env> Worker<'env> {
    /// `None` if the system has no thread left.
    fn start<'scope>(scope: &'scope Scope<'scope, 'env>, session: &'env Session) -> Option<Self> {
        let (groups, receiver) = channel::<(Leader<'env>, Closed)>();
        let (sender, synced) = channel();
        let work = move || {
            for (leader, closed) in receiver {
                let result = session.make_durable(&closed);
                drop(leader);
                if sender.send(result).is_err() {
                    break;
                }
            }
        };
        thread::Builder::new().spawn_scoped(scope, work).ok()?;
        Some(Self { groups, synced, is_busy: false })
    }

    fn sync(&mut self, leader: Leader<'env>, closed: Closed) -> Result<(), StoreError> {
        self.is_busy = true;
        // Without its thread, a panic has halted the session.
        self.groups.send((leader, closed)).map_err(|_| StoreError::Halted)
    }

    /// Waits for the last sync.
    fn finish(&mut self) -> Result<(), StoreError> {
        let is_busy = std::mem::take(&mut self.is_busy);
        if is_busy { self.synced.recv().unwrap_or(Err(StoreError::Halted)) } else { Ok(()) }
    }
}

impl<'env> Series<'_, 'env> {
    /// Runs one call and adds its changes to the current group. If they do not fit, the group is committed first.
    ///
    /// `work` may run more than once, as in [`Session::write`]. On an error this call has changed nothing.
    pub(crate) fn run<T, E: From<StoreError>>(
        &mut self,
        mut work: impl FnMut(&mut Txn<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let session = self.session;
        if session.is_shared() {
            return session.write_shared(&mut work);
        }
        loop {
            let mut queue = lock(&session.shared.queue);
            if self.joined.is_some_and(|joined| joined != queue.number) {
                // Another thread has closed the group. It can still be refused, and then no later call may succeed.
                drop(queue);
                self.settle()?;
                continue;
            }
            let ran = session.run(&queue.group, &mut work);
            let (value, changes) = match ran {
                Ok((value, changes)) if !changes.is_empty() => (value, changes),
                unchanged => {
                    if !queue.group.is_empty() {
                        // The result or the error may rest on what the group changes.
                        self.join(queue.number);
                    }
                    return unchanged.map(|(value, _)| value);
                }
            };
            let records = queue.group.records_with(&changes);
            if session.has_room(&queue.group, &changes)?
                || (queue.group.is_empty() && records <= BATCH_RECORDS_MAX)
            {
                queue.group.merge(changes).map_err(StoreError::from)?;
                self.join(queue.number);
                return Ok(value);
            }
            if queue.group.is_empty() {
                return Err(StoreError::TooLarge.into());
            }
            session.shared.commit_delay.mark_full();
            let full = queue.number;
            drop((queue, changes));
            if self.joined.is_none() {
                session.wait(full)?;
                continue;
            }
            self.close(full)?;
            // A full group leaves little room for reaping. Without this step, a long series would discard records faster
            // than they are reaped.
            let is_due = reap::is_due(read(&session.shared.state).open()?);
            if is_due.map_err(StoreError::from)? {
                session.exclusive(|exclusive| {
                    exclusive.reap()?;
                    Ok::<_, StoreError>(())
                })?;
            }
        }
    }

    /// Closes the full group of this number. A series of many calls leaves its sync to another thread, and does not wait for it.
    fn close(&mut self, full: u64) -> Result<(), StoreError> {
        if self.worker().is_none() {
            return self.settle();
        }
        let session = self.session;
        // Not before the group before it is durable.
        let leader = session.lead();
        self.finish_sync()?;
        let is_open = lock(&session.shared.queue).number == full;
        let closed = if is_open { session.close()? } else { None };
        if let (Some(closed), Some(worker)) = (closed, self.worker()) {
            worker.sync(leader, closed)?;
            self.joined = None;
            return Ok(());
        }
        // It was refused, or another thread has closed it.
        drop(leader);
        self.settle()
    }

    fn worker(&mut self) -> Option<&mut Worker<'env>> {
        let background = self.background.as_mut()?;
        if background.worker.is_none() {
            background.worker = Worker::start(background.scope, self.session);
        }
        background.worker.as_mut()
    }

    /// Waits for the sync that another thread makes.
    fn finish_sync(&mut self) -> Result<(), StoreError> {
        let worker = self.background.as_mut().and_then(|it| it.worker.as_mut());
        worker.map_or(Ok(()), Worker::finish)
    }

    /// Makes the series a caller of the current group, once for all of its calls.
    fn join(&mut self, number: u64) {
        if self.joined.is_none() {
            self.session.shared.commit_delay.enqueue();
            self.joined = Some(number);
        }
    }

    /// Waits until the calls so far are durable.
    fn settle(&mut self) -> Result<(), StoreError> {
        self.finish_sync()?;
        let Some(number) = self.joined.take() else { return Ok(()) };
        self.session.wait(number)?;
        let refusal = lock(&self.session.shared.progress).take_refusal(number);
        // Only a shared store refuses for another reason than a full disk, and there no series waits for a group.
        if refusal.is_some() { Err(StoreError::DiskFull) } else { Ok(()) }
    }
}
