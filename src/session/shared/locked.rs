//! Calls inside a transaction of the engine: reads of one snapshot, and changes while the root is locked.
//!
//! Both end the bad luck of a call that others overtake again and again. Other threads of the session wait meanwhile.

use std::ops::{Deref, DerefMut};

use super::catching_up::{CATCHES, Caught, MOVING, refresh};
use super::outcome::{Stored, find_out, look_again};
use crate::session::error::StoreError;
use crate::session::open::Open;
use crate::session::open::state::State;
use crate::session::sync::{RwLock, read, write};
use crate::session::transaction::overlay::Overlay;
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
        self.open.catch_up_here()
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

/// Runs a call that only reads, on a state that is not older than the call.
pub(crate) fn read_newest<T, E: From<StoreError>>(
    state: &RwLock<State>,
    work: &mut impl FnMut(&Open) -> Result<T, E>,
) -> Result<T, E> {
    refresh(state)?;
    let mismatches = |open: &Open| open.pulled.as_ref().map_or(0, |pulled| pulled.mismatches());
    for _ in 0..READS {
        let (version, result, is_whole) = {
            let state = read(state);
            let open = state.open()?;
            let before = mismatches(open);
            let result = work(open);
            (open.version(), result, mismatches(open) == before)
        };
        if is_whole || refresh(state)? == version {
            return result;
        }
    }
    read_snapshot(state, work)
}

/// Runs a call that only reads on one snapshot, in which nothing changes.
pub(crate) fn read_snapshot<T, E: From<StoreError>>(
    state: &RwLock<State>,
    work: &mut impl FnMut(&Open) -> Result<T, E>,
) -> Result<T, E> {
    for _ in 0..CATCHES {
        {
            let state = read(state);
            let open = state.open()?;
            // No other host changes a local store, and no thread does while this one reads.
            if open.engine().shared().is_none() {
                return work(open);
            }
        }
        {
            let mut state = write(state);
            let mut within = Within::begin(state.open_mut()?, Access::Snapshot)?;
            if within.catch_up()? == Caught::Up {
                return work(&within);
            }
        }
        refresh(state)?;
    }
    Err(StoreError::Unavailable(MOVING.to_owned()).into())
}

/// Plans changes, with what is due besides, and stores them while no other host can change the store.
pub(crate) fn store_locked<T, E: From<StoreError>>(
    state: &RwLock<State>,
    plan: &mut impl FnMut(&Open) -> Result<(T, Overlay), E>,
) -> Result<T, E> {
    for _ in 0..CATCHES {
        let mut opened = write(state);
        let mut within = Within::begin(opened.open_mut()?, Access::Locked)?;
        if within.catch_up()? == Caught::Moving {
            drop(within);
            drop(opened);
            refresh(state)?;
            continue;
        }
        let (value, group) = plan(&within)?;
        if group.is_empty() {
            return Ok(value);
        }
        if group.records_with(&Overlay::default()) > BATCH_RECORDS_MAX {
            return Err(StoreError::TooLarge.into());
        }
        let sealed = within.seal(group)?;
        let version = within.version();
        let committed = within.shared_engine().and_then(|engine| engine.commit(&sealed.batch));
        let stored = match committed {
            Ok(()) => {
                within.take_over(sealed);
                within.remember();
                return Ok(value);
            }
            // The lock was lost, or the server lies about it.
            Err(StorageError::Conflict) => {
                drop(within);
                drop(opened);
                look_again(state, &sealed)?
            }
            Err(StorageError::Unknown(_)) => {
                drop(within);
                drop(opened);
                find_out(state, sealed, version)?
            }
            Err(error) => return Err(StoreError::from(error).into()),
        };
        if matches!(stored, Stored::Done { .. }) {
            return Ok(value);
        }
    }
    Err(StoreError::Unavailable(MOVING.to_owned()).into())
}

/// Attempts of a read on a state that may change meanwhile. A writer that changes what it reads again and again makes it use a
/// snapshot.
const READS: usize = 3;
