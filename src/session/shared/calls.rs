//! Calls that change a store that other hosts change too.
//!
//! A call runs on the state that this session knows. If it changes something, it joins the group that is being formed, as on a
//! local store, and the group's batch costs one round trip. If the batch was overtaken, each call of the group runs again. A
//! result without changes, such as a refusal, counts only if the state is still the newest one.

use std::cell::Cell;

use super::store_group::{Refusal, Stored};
use crate::session::commit::exclusive::Exclusive;
use crate::session::commit::handle::Session;
use crate::session::error::StoreError;
use crate::session::open::Open;
use crate::session::sync::{lock, read};
use crate::session::transaction::Txn;
use crate::session::transaction::overlay::Overlay;
use crate::session::upkeep::reap;
use inmost_format::record::{Tag, sealed};
use inmost_storage::limits::BATCH_RECORDS_MAX;

/// How one run of a call ended.
enum Ran<T, E> {
    /// Its changes are in the group of this number.
    Joined(u64, T),
    /// Its changes do not fit this group, or its result without changes rests on this group's changes.
    Behind(u64),
    /// It changes nothing on this state.
    Unchanged(At, Result<T, E>),
    /// It only looks at the state that the session knows.
    Looked(Result<T, E>),
}

/// A state that a call has run on.
#[derive(Clone, Copy, PartialEq, Eq)]
struct At {
    version: u64,
    /// Commits of other hosts that the session had taken over by then.
    adopted: u64,
}

impl At {
    fn of(open: &Open) -> Self {
        let adopted = open.hosts.as_ref().map_or(0, |hosts| hosts.adopted);
        Self { version: open.version(), adopted }
    }
}

impl Session {
    /// Runs one call and makes its changes durable.
    pub(in crate::session) fn write_shared<T, E: From<StoreError>>(
        &self,
        work: &mut impl FnMut(&mut Txn<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let (mut overtaken, mut behind) = (0, 0);
        while overtaken < TRIES && behind < WAITS {
            match self.run_in_group(work)? {
                Ran::Joined(number, value) => {
                    self.wait(number)?;
                    match self.take_refusal(number).map(Refusal::error) {
                        None => return Ok(value),
                        Some(Some(error)) => return Err(error.into()),
                        Some(None) => overtaken += 1,
                    }
                }
                Ran::Behind(number) => {
                    self.wait(number)?;
                    self.take_refusal(number);
                    behind += 1;
                }
                Ran::Unchanged(at, result) => {
                    if self.refresh()? == at.version {
                        return result;
                    }
                    let now = At::of(read(&self.shared.state).open()?);
                    if now.adopted == at.adopted {
                        // Another thread of this session has committed.
                        behind += 1;
                    } else {
                        overtaken += 1;
                    }
                }
                Ran::Looked(result) => return result,
            }
        }
        self.exclusive(|exclusive| exclusive.commit_locked(work))
    }

    fn take_refusal(&self, number: u64) -> Option<Refusal> {
        lock(&self.shared.progress).take_refusal(number)
    }

    fn run_in_group<T, E: From<StoreError>>(
        &self,
        work: &mut impl FnMut(&mut Txn<'_>) -> Result<T, E>,
    ) -> Result<Ran<T, E>, E> {
        let mut queue = lock(&self.shared.queue);
        let (at, ran) = {
            let state = read(&self.shared.state);
            let open = state.open()?;
            // Under one guard: a reader may adopt another host's commit at any time, and changes of two states in one group
            // would undo it.
            if !queue.group.is_empty() && queue.base != open.version() {
                // The state has moved on under the group. Its leader will notice that too.
                self.shared.commit_delay.enqueue();
                return Ok(Ran::Behind(queue.number));
            }
            let mut txn = Txn::new(open, &queue.group, &self.author);
            let value = work(&mut txn);
            if txn.is_look() {
                return Ok(Ran::Looked(value));
            }
            (At::of(open), value.map(|value| (value, txn.into_overlay())))
        };
        let number = queue.number;
        match ran {
            Ok((value, changes)) if !changes.is_empty() => {
                let records = queue.group.records_with(&changes);
                let is_alone = queue.group.is_empty();
                if is_alone && records > BATCH_RECORDS_MAX {
                    return Ok(Ran::Unchanged(at, Err(StoreError::TooLarge.into())));
                }
                if is_alone || self.has_room(&queue.group, &changes)? {
                    queue.base = at.version;
                    queue.group.merge(changes).map_err(StoreError::from)?;
                    self.shared.commit_delay.enqueue();
                    return Ok(Ran::Joined(number, value));
                }
                self.shared.commit_delay.enqueue();
                self.shared.commit_delay.mark_full();
                Ok(Ran::Behind(number))
            }
            _ if !queue.group.is_empty() => {
                self.shared.commit_delay.enqueue();
                Ok(Ran::Behind(number))
            }
            ran => Ok(Ran::Unchanged(at, ran.map(|(value, _)| value))),
        }
    }
}

impl Exclusive<'_> {
    /// Plans changes and makes them durable as one step. `plan` runs again whenever another host was faster.
    pub(in crate::session) fn commit_planned<T, E: From<StoreError>>(
        &self,
        mut plan: impl FnMut(&Open) -> Result<(T, Overlay), E>,
    ) -> Result<T, E> {
        let session = self.session();
        for _ in 0..TRIES {
            let (version, root, planned) = {
                let state = read(&session.shared.state);
                let open = state.open()?;
                (open.version(), sealed::tag_of(&open.root_value), plan(open))
            };
            self.pin.check(root)?;
            match planned {
                Ok((value, group)) if !group.is_empty() => {
                    if group.records_with(&Overlay::default()) > BATCH_RECORDS_MAX {
                        if session.refresh()? == version {
                            return Err(StoreError::TooLarge.into());
                        }
                        continue;
                    }
                    if let Stored::Done(root) = session.store(group, version, self.staged())? {
                        self.pin.advance(root);
                        return Ok(value);
                    }
                    session.refresh()?;
                }
                planned => {
                    if session.refresh()? == version {
                        return planned.map(|(value, _)| value);
                    }
                }
            }
        }
        self.pin.check(None)?;
        session.store_locked(self.staged(), &mut plan)
    }

    /// As [`commit`](Exclusive::commit) on a shared store.
    pub(in crate::session) fn commit_shared<T, E: From<StoreError>>(
        &self,
        work: &mut impl FnMut(&mut Txn<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        self.commit_planned(self.planned(work))
    }

    fn commit_locked<T, E: From<StoreError>>(
        &self,
        work: &mut impl FnMut(&mut Txn<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        self.session().store_locked(self.staged(), &mut self.planned(work))
    }

    fn planned<T, E: From<StoreError>>(
        &self,
        work: &mut impl FnMut(&mut Txn<'_>) -> Result<T, E>,
    ) -> impl FnMut(&Open) -> Result<(T, Overlay), E> {
        let author = self.session().author.clone();
        move |open| {
            let group = Overlay::default();
            let mut txn = Txn::new(open, &group, &author);
            let value = work(&mut txn)?;
            Ok((value, txn.into_overlay()))
        }
    }

    /// Makes durable steps until there is nothing left to do.
    pub(in crate::session) fn keep_house_until_done(
        &self,
        step: impl Fn(&Open, &mut Overlay) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        while self.keep_house(&step)? {}
        Ok(())
    }

    /// As [`reap`](Exclusive::reap) on a shared store.
    pub(in crate::session) fn reap_shared(&self) -> Result<(), StoreError> {
        let staged = self.staged();
        self.keep_house(|open, group| Ok(reap::reap_into(open, group, staged)?)).map(drop)
    }

    /// Makes one durable step of what is due anyway. Returns whether there was anything to do.
    fn keep_house(
        &self,
        step: impl Fn(&Open, &mut Overlay) -> Result<(), StoreError>,
    ) -> Result<bool, StoreError> {
        self.commit_planned(|open| {
            let mut group = Overlay::default();
            step(open, &mut group)?;
            Ok((!group.is_empty(), group))
        })
    }

    /// As [`commit_each`](Exclusive::commit_each) on a shared store.
    pub(in crate::session) fn commit_each_shared<T, E: From<StoreError>>(
        &self,
        calls: usize,
        work: &mut impl FnMut(usize, &mut Txn<'_>) -> Result<T, E>,
    ) -> Result<Vec<T>, E> {
        let author = self.session().author.clone();
        self.commit_planned(|open| {
            let mut group = Overlay::default();
            let mut values = Vec::with_capacity(calls);
            for call in 0..calls {
                let mut txn = Txn::new(open, &group, &author);
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
}

impl Session {
    /// As [`exclusive`](Self::exclusive), for work whose later steps rest on what earlier ones have read. If another host
    /// changes the store between two steps, the step is refused and the work begins again.
    pub(crate) fn undisturbed<T, E: From<StoreError>>(
        &self,
        mut work: impl FnMut(&mut Exclusive<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        if !self.is_shared() {
            return self.exclusive(work);
        }
        let mut attempts = 0;
        loop {
            let mut disturbed = false;
            let result = self.exclusive(|exclusive| {
                self.refresh()?;
                let root = sealed::tag_of(&read(&self.shared.state).open()?.root_value);
                exclusive.pin.state.set(root);
                let result = work(exclusive);
                disturbed = exclusive.pin.is_disturbed.get();
                result
            });
            attempts += 1;
            if !disturbed || attempts == ATTEMPTS {
                return result;
            }
        }
    }
}

/// The root that a step must find, and whether a step has found another one.
#[derive(Default)]
pub(crate) struct Pin {
    state: Cell<Option<Tag>>,
    is_disturbed: Cell<bool>,
}

impl Pin {
    /// # Errors
    /// [`StoreError::Unavailable`] if another root is pinned.
    fn check(&self, found: Option<Tag>) -> Result<(), StoreError> {
        if self.state.get().is_none() || self.state.get() == found {
            return Ok(());
        }
        self.is_disturbed.set(true);
        Err(StoreError::Unavailable("other hosts keep changing the store".to_owned()))
    }

    /// Expects the root of this session's own step from now on.
    fn advance(&self, root: Option<Tag>) {
        if self.state.get().is_some() {
            self.state.set(root);
        }
    }
}

/// Times that work in several steps begins.
const ATTEMPTS: usize = 8;
/// Times that other hosts may overtake a call before it locks the root.
const TRIES: usize = 2;
/// Times that a call may wait for the group of other threads of its session before it goes alone.
const WAITS: usize = 256;
