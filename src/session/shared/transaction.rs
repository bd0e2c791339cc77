//! Calls inside a transaction of the engine: reads of one snapshot, and changes while the root is locked.
//!
//! Both end the bad luck of a call that others overtake again and again. Other threads of the session wait meanwhile.

use std::ops::{Deref, DerefMut};

use super::CATCHES;
use super::adopt::Caught;
use super::store_group::Stored;
use crate::session::commit::handle::Session;
use crate::session::error::StoreError;
use crate::session::open::Open;
use crate::session::sync::write;
use crate::session::transaction::overlay::Overlay;
use inmost_format::record::ObjectId;
use inmost_storage::limits::BATCH_RECORDS_MAX;
use inmost_storage::{Access, Engine, StorageError};

/// The state with a transaction in place of its engine.
pub(super) struct Within<'a> {
    open: &'a mut Open,
    outside: Option<Box<dyn Engine>>,
}

impl<'a> Within<'a> {
    pub(super) fn begin(open: &'a mut Open, access: Access) -> Result<Self, StoreError> {
        let view = open.shared_engine()?.begin(access, &open.root_address())?;
        let outside = Some(std::mem::replace(&mut open.engine, view));
        Ok(Self { open, outside })
    }

    /// The state with the engine that it has.
    pub(super) fn without_transaction(open: &'a mut Open) -> Self {
        Self { open, outside: None }
    }

    /// Takes over the state that the transaction sees. `Moving` if it has another header: then that has to be taken over
    /// outside, and this transaction is of no use.
    pub(super) fn catch_up(&mut self) -> Result<Caught, StoreError> {
        let seen = self.open.seen();
        let Some(delta) = self.open.pull()? else { return Ok(Caught::Up) };
        self.open.catch_up_same_header(delta, &seen)
    }
}

impl Deref for Within<'_> {
    type Target = Open;

    fn deref(&self) -> &Open {
        self.open
    }
}

impl DerefMut for Within<'_> {
    fn deref_mut(&mut self) -> &mut Open {
        self.open
    }
}

impl Drop for Within<'_> {
    fn drop(&mut self) {
        if let Some(outside) = self.outside.take() {
            std::mem::replace(&mut self.open.engine, outside).discard();
        }
    }
}

impl Session {
    /// Runs a call that only reads on one snapshot, in which nothing changes.
    pub(in crate::session) fn read_snapshot<T, E: From<StoreError>>(
        &self,
        work: &mut impl FnMut(&Open) -> Result<T, E>,
    ) -> Result<T, E> {
        for _ in 0..CATCHES {
            {
                let mut state = write(&self.shared.state);
                let mut within = Within::begin(state.open_mut()?, Access::Snapshot)?;
                if within.catch_up()? == Caught::Up {
                    return work(&within);
                }
            }
            self.refresh()?;
        }
        Err(StoreError::Unavailable(MOVING.to_owned()).into())
    }

    /// Plans changes and stores them while no other host can change the store.
    pub(super) fn store_locked<T, E: From<StoreError>>(
        &self,
        staged: Option<ObjectId>,
        plan: &mut impl FnMut(&Open) -> Result<(T, Overlay), E>,
    ) -> Result<T, E> {
        for _ in 0..CATCHES {
            let mut state = write(&self.shared.state);
            let mut within = Within::begin(state.open_mut()?, Access::Locked)?;
            if within.catch_up()? == Caught::Moving {
                drop(within);
                drop(state);
                self.refresh()?;
                continue;
            }
            let (value, mut group) = plan(&within)?;
            if group.is_empty() {
                return Ok(value);
            }
            within.keep_house(&mut group, staged)?;
            if group.records_with(&Overlay::default()) > BATCH_RECORDS_MAX {
                return Err(StoreError::TooLarge.into());
            }
            let sealed = within.seal(group)?;
            let version = within.version();
            match within.shared_engine().and_then(|engine| engine.commit(&sealed.batch)) {
                Ok(()) => {
                    within.take_over(sealed);
                    within.remember();
                    return Ok(value);
                }
                // The lock was lost, or the server lies about it.
                Err(StorageError::Conflict) => {
                    drop(within);
                    drop(state);
                    if matches!(self.look_again(&sealed, version)?, Stored::Done(_)) {
                        return Ok(value);
                    }
                }
                Err(StorageError::Unknown(_)) => {
                    drop(within);
                    drop(state);
                    if matches!(self.find_out(sealed, version)?, Stored::Done(_)) {
                        return Ok(value);
                    }
                }
                Err(error) => return Err(StoreError::from(error).into()),
            }
        }
        Err(StoreError::Unavailable(MOVING.to_owned()).into())
    }
}

pub(super) const MOVING: &str =
    "header and records of the store do not belong together, or keep changing";
