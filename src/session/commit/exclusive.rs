//! Exclusive write access: several durable steps in a row, with no other writer between them.

use std::sync::MutexGuard;

use super::handle::Session;
use super::queue::Queue;
use crate::session::error::StoreError;
use crate::session::open::generation::{NextGeneration, write_headers};
use crate::session::shared::Pin;
use crate::session::sync::{lock, write};
use crate::session::transaction::Txn;
use crate::session::transaction::overlay::Overlay;
use crate::session::upkeep::reap;
use crate::session::upkeep::trim;
use inmost_format::record::ObjectId;
use inmost_format::record::node::Root;
use inmost_storage::Engine;
use inmost_storage::limits::BATCH_RECORDS_MAX;

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
}

/// Exclusive write access, for several durable steps.
pub(crate) struct Exclusive<'a> {
    session: &'a Session,
    queue: MutexGuard<'a, Queue>,
    /// The state that the next step must find, if no other host may come in between.
    pub(crate) pin: Pin,
}

impl<'a> Exclusive<'a> {
    /// Takes the queue. The thread must be the leader.
    pub(crate) fn new(session: &'a Session) -> Self {
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
    pub(crate) fn staged(&self) -> Option<ObjectId> {
        self.queue.staged
    }

    /// Keeps an object in the system folder from being reaped until this writer is done.
    pub(crate) fn stage(&mut self, object: ObjectId) {
        self.queue.staged = Some(object);
    }

    pub(super) fn flush(&mut self) -> Result<(), StoreError> {
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
