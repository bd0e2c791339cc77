//! Calls: each runs in the group that is being formed, and waits until that is durable. The calls of a series wait
//! together.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, Scope};

use super::exclusive::{TRIES, fits};
use super::handle::Session;
use super::queue::Refusal;
use super::{Closed, Leader};
use crate::session::error::StoreError;
use crate::session::shared::{self, At, Confirmed};
use crate::session::sync::{lock, read};
use crate::session::transaction::Txn;
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
        let _call = self.begin_call()?;
        let mut series = Series { session: self, joined: None, rests_on: None, background };
        let value = work(&mut series);
        // Also after an error: it may rest on the group that the series has joined, and no other thread waits for that.
        series.settle_all()?;
        value
    }

    /// Runs calls in their order, and makes the changes of as many of them durable together as fit one commit. Returns the
    /// result of each, of at least one. They run again if another host was faster.
    ///
    /// # Errors
    /// An error of the store, as `work` returns it outside, ends the run: on a store that several hosts share, nothing has changed
    /// then. The error of a call, inside, changes nothing for the others.
    pub(crate) fn run_together<T, E: From<StoreError>>(
        &self,
        calls: usize,
        mut work: impl FnMut(usize, &mut Txn<'_>) -> Result<Result<T, E>, StoreError>,
    ) -> Result<Vec<Result<T, E>>, StoreError> {
        if shared::can_be_overtaken(&self.inner.state) {
            // A call that does not wait for its group could not run again.
            return self.exclusive(|exclusive| exclusive.commit_together(calls, &mut work));
        }
        self.long_series(|series| {
            let run = |call| {
                let ran = series.run(|txn| match work(call, txn) {
                    Ok(result) => result.map_err(Failed::Call),
                    Err(error) => Err(Failed::Store(error)),
                });
                match ran {
                    Ok(value) => Ok(Ok(value)),
                    Err(Failed::Call(error)) => Ok(Err(error)),
                    Err(Failed::Store(StoreError::TooLarge)) => {
                        Ok(Err(StoreError::TooLarge.into()))
                    }
                    Err(Failed::Store(error)) => Err(error),
                }
            };
            (0..calls).map(run).collect()
        })
    }
}

/// What ended one of several calls.
enum Failed<E> {
    /// Its own error.
    Call(E),
    /// An error of the store, which concerns all of them.
    Store(StoreError),
}

impl<E> From<StoreError> for Failed<E> {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// Calls of one thread that do not wait for each other. They become durable in their order.
pub(crate) struct Series<'scope, 'env> {
    session: &'env Session,
    /// The group that the calls have joined since the series last waited.
    joined: Option<u64>,
    /// The last closed group when a call ran. If the call changes nothing, what it returns may rest on that group.
    rests_on: Option<u64>,
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

/// How one run of a call ended.
enum Ran<T, E> {
    /// Its changes are in the open group, or its result rests on changes in it.
    Joined(Result<T, E>),
    /// The group of this number takes it no more.
    Behind(u64),
    /// It changes nothing on this state.
    Unchanged(At, Result<T, E>),
    /// It only looks at the state that the session knows.
    Looked(Result<T, E>),
    /// It did not run, because another thread has closed the group of this series.
    Closed,
}

impl<'env> Series<'_, 'env> {
    /// Runs one call and adds its changes to the current group. If they do not fit, the group is committed first. If another host was
    /// faster, the call runs again.
    ///
    /// `work` may run more than once, as in [`Session::write`]. On an error this call has changed nothing.
    pub(crate) fn run<T, E: From<StoreError>>(
        &mut self,
        mut work: impl FnMut(&mut Txn<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let session = self.session;
        let state = &session.inner.state;
        // What may have to run again cannot return before it is known to be stored.
        let must_wait = shared::can_be_overtaken(state);
        let (mut overtaken, mut behind) = (0, 0);
        while overtaken < TRIES && behind < WAITS {
            match self.run_once(&mut work)? {
                Ran::Joined(result) => {
                    if !must_wait || self.settle()? {
                        return result;
                    }
                    overtaken += 1;
                }
                Ran::Unchanged(at, result) => match shared::confirm(state, at)? {
                    Confirmed::Newest => return result,
                    Confirmed::PassedHere => behind += 1,
                    Confirmed::Overtaken => overtaken += 1,
                },
                Ran::Behind(number) => {
                    self.pass(number)?;
                    behind += 1;
                }
                Ran::Looked(result) => return result,
                Ran::Closed => {
                    self.settle_all()?;
                }
            }
        }
        self.settle_all()?;
        let tries = if overtaken < TRIES { TRIES } else { 0 };
        session.exclusive(|exclusive| exclusive.commit_within(tries, work))
    }

    fn run_once<T, E: From<StoreError>>(
        &mut self,
        work: &mut impl FnMut(&mut Txn<'_>) -> Result<T, E>,
    ) -> Result<Ran<T, E>, E> {
        let session = self.session;
        let mut queue = lock(&session.inner.queue);
        let number = queue.number;
        if self.joined.is_some_and(|joined| joined != number) {
            // It can still be refused, and then no later call may succeed.
            return Ok(Ran::Closed);
        }
        let (at, ran) = {
            let state = read(&session.inner.state);
            let open = state.open()?;
            self.rests_on = number.checked_sub(1);
            // Under one guard: a reader may adopt another host's commit at any time, and changes of two states in one group
            // would undo it.
            if !queue.group.is_empty() && queue.base != open.version() {
                // The state has moved on under the group. Its leader will notice that too.
                return Ok(Ran::Behind(number));
            }
            let mut txn = Txn::new(open, &queue.group, &session.caller);
            let value = work(&mut txn);
            if txn.is_look() {
                return Ok(Ran::Looked(value));
            }
            (At::of(open), value.map(|value| (value, txn.into_overlay())))
        };
        let is_first = queue.group.is_empty();
        match ran {
            Ok((value, changes)) if !changes.is_empty() => {
                let is_too_large = queue.group.records_with(&changes) > BATCH_RECORDS_MAX;
                if is_first && is_too_large {
                    return Ok(Ran::Unchanged(at, Err(StoreError::TooLarge.into())));
                }
                let state = read(&session.inner.state);
                let fits = is_first
                    || fits(state.open()?, &queue.group, &changes).map_err(StoreError::from)?;
                drop(state);
                if !fits {
                    return Ok(Ran::Behind(number));
                }
                queue.base = at.version;
                queue.group.merge(changes).map_err(StoreError::from)?;
                self.join(number);
                Ok(Ran::Joined(Ok(value)))
            }
            // The result or the error may rest on what the group changes.
            ran if !is_first => {
                self.join(number);
                Ok(Ran::Joined(ran.map(|(value, _)| value)))
            }
            ran => Ok(Ran::Unchanged(at, ran.map(|(value, _)| value))),
        }
    }

    /// Waits until the group of this number is stored, so that the next one takes calls.
    fn pass(&mut self, number: u64) -> Result<(), StoreError> {
        let session = self.session;
        session.inner.commit_delay.mark_full();
        if self.joined.is_none() {
            return session.wait(number);
        }
        self.close(number)?;
        // A full group leaves little room for reaping. Without this step, a long series would discard records faster
        // than they are reaped.
        if session.is_reaping_due()? {
            session.exclusive(|exclusive| {
                exclusive.reap()?;
                Ok::<_, StoreError>(())
            })?;
        }
        Ok(())
    }

    /// Closes the full group of this number. A series of many calls leaves its sync to another thread, and does not wait for it.
    fn close(&mut self, full: u64) -> Result<(), StoreError> {
        if self.worker().is_none() {
            return self.settle_all();
        }
        let session = self.session;
        // Not before the group before it is durable.
        let leader = session.lead();
        self.finish_sync()?;
        let is_open = lock(&session.inner.queue).number == full;
        let closed = if is_open { session.close(full)? } else { None };
        if let (Some(closed), Some(worker)) = (closed, self.worker()) {
            worker.sync(leader, closed)?;
            self.joined = None;
            return Ok(());
        }
        // It was refused, or another thread has closed it.
        drop(leader);
        self.settle_all()
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
            self.session.inner.commit_delay.enqueue();
            self.joined = Some(number);
        }
    }

    /// Waits until the calls so far are durable. Returns whether they are; if not, another host was faster.
    fn settle(&mut self) -> Result<bool, StoreError> {
        self.finish_sync()?;
        let rests_on = self.rests_on.take();
        let Some(number) = self.joined.take() else {
            rests_on.map_or(Ok(()), |closed| self.session.wait(closed))?;
            return Ok(true);
        };
        self.session.wait(number)?;
        let refusal = lock(&self.session.inner.progress).take_refusal(number);
        match refusal {
            None => Ok(true),
            Some(Refusal::Overtaken) => Ok(false),
            Some(Refusal::Failed(error)) => Err(error),
        }
    }

    /// As [`settle`](Self::settle), for calls that have returned already. Those cannot have been overtaken.
    fn settle_all(&mut self) -> Result<(), StoreError> {
        if self.settle()? { Ok(()) } else { Err(StoreError::Halted) }
    }
}

/// Times that a call may wait for the groups of other threads before it goes alone.
const WAITS: usize = 256;
