//! Changes of the header of a shared store: keyslots, and the switch to another generation.
//!
//! Header and root change in one batch, so no host ever finds a header whose root names another one.

use std::sync::Arc;

use super::CATCHES;
use super::adopt::Caught;
use super::outcome::Retry;
use super::transaction::{MOVING, Within};
use crate::session::commit::exclusive::Exclusive;
use crate::session::error::StoreError;
use crate::session::open::Open;
use crate::session::open::generation::NextGeneration;
use crate::session::sync::{read, write};
use crate::session::transaction::Txn;
use crate::session::transaction::overlay::Overlay;
use inmost_format::header::{NextHeader, Unlocked};
use inmost_format::record::node::Root;
use inmost_storage::{
    Access, Batch, Engine, HeaderChange, HeaderCopy, LEASE_LOST, SharedBatch, Storage, StorageError,
};

/// A generation that is written and that no header names yet.
pub(crate) struct NewGeneration {
    pub(crate) engine: Box<dyn Engine>,
    pub(crate) next: NextGeneration,
    pub(crate) root: Root,
    pub(crate) root_value: Vec<u8>,
}

impl Exclusive<'_> {
    /// Makes the next header with `change` and switches to it. `change` runs again if another host has changed the header.
    pub(in crate::session) fn change_header_shared<T>(
        &mut self,
        change: &mut impl FnMut(&Unlocked) -> Result<(T, NextHeader), StoreError>,
    ) -> Result<T, StoreError> {
        let author = self.session().author.clone();
        let mut made = None;
        self.commit_planned(|open| {
            let header = open.keys().ok_or(StoreError::InMemory)?.header();
            // Deriving a key is expensive, and only another header makes it necessary again.
            let (from, value, next) = match made.take() {
                Some((from, value, next)) if from == header.id() => (from, value, next),
                _ => {
                    let (value, next) = change(open.keys().ok_or(StoreError::InMemory)?)?;
                    (header.id(), value, next)
                }
            };
            let group = Overlay::default();
            let mut txn = Txn::new(open, &group, &author);
            txn.bind_header(next.id())?;
            let mut changes = txn.into_overlay();
            changes.header = Some(HeaderChange {
                expect: header.bytes().to_vec(),
                next: next.bytes().to_vec(),
                generation: header.generation(),
                revision: next.id().revision,
            });
            made = Some((from, value, next));
            Ok::<_, StoreError>(((), changes))
        })?;
        let (from, value, next) = made.ok_or(StoreError::InMemory)?;
        let mut state = write(&self.session().shared.state);
        let open = state.open_mut()?;
        // Another thread may have caught up with this header, or with a later one.
        if open.keys().is_some_and(|keys| keys.header().id() == from) {
            open.adopt_header(next);
        }
        Ok(value)
    }

    /// Writes a new generation with `write`, and switches the store to it. If another host has changed the store by then,
    /// everything begins again. The third time nobody can change it; that takes a second connection.
    ///
    /// The first times need no snapshot: the switch succeeds only if the root is still the one that was copied, and what was
    /// copied has the tags that lead down from it.
    pub(crate) fn switch_shared(
        &mut self,
        write_generation: &mut dyn FnMut(&Open) -> Result<NewGeneration, StoreError>,
    ) -> Result<(), StoreError> {
        let session = self.session().clone();
        session.refresh()?;
        for attempt in 0..CATCHES {
            let mut state = write(&session.shared.state);
            let (new, batch, applied) = {
                let open = state.open_mut()?;
                let is_locked = attempt >= OPTIMISTIC && can_lock(open.storage());
                let mut within = if is_locked {
                    Within::begin(open, Access::Locked)?
                } else {
                    Within::without_transaction(open)
                };
                if within.catch_up()? == Caught::Moving {
                    drop(within);
                    drop(state);
                    session.refresh()?;
                    continue;
                }
                let version = within.version();
                let new = match write_generation(&within) {
                    Ok(new) => new,
                    Err(error) if is_taken(&error) || is_mismatch(&error) => {
                        drop(within);
                        drop(state);
                        if session.refresh()? == version && !is_taken(&error) {
                            return Err(error);
                        }
                        continue;
                    }
                    Err(error) => return Err(error),
                };
                let batch = switching(&within, &new)?;
                renew_lease(within.storage(), new.next.generation)?;
                let applied = is_locked.then(|| commit(&within, &batch));
                (new, batch, applied)
            };
            let open = state.open_mut()?;
            let applied = applied.unwrap_or_else(|| commit(open, &batch));
            let is_switched = match applied {
                Ok(()) => true,
                Err(StorageError::Conflict) => false,
                Err(StorageError::Unknown(_)) => find_out(open, &batch)?,
                Err(error) => {
                    let _ = open.storage().remove_generation(new.next.generation);
                    return Err(error.into());
                }
            };
            if !is_switched {
                match open.storage().remove_generation(new.next.generation) {
                    // Another host has taken the number since.
                    Ok(()) | Err(StorageError::InUse(_)) => {}
                    Err(error) => return Err(error.into()),
                }
                drop(state);
                session.refresh()?;
                continue;
            }
            let old = open.keys().map(|keys| keys.header().generation());
            let NewGeneration { engine, next, root, root_value } = new;
            open.replace(engine, next, root, root_value).discard();
            open.forget_sealed();
            open.remember();
            let (storage, retry) = (Arc::clone(&open.storage), Retry::new(open));
            drop(state);
            return old.map_or(Ok(()), |old| remove_old(&*storage, old, retry));
        }
        let can_lock = can_lock(read(&session.shared.state).open()?.storage());
        Err(StoreError::Unavailable(if can_lock { MOVING } else { CHANGING }.to_owned()))
    }
}

/// Removes the generation from before a switch. Another host may be doing that already: then it waits until nothing is left.
fn remove_old(storage: &dyn Storage, old: u64, mut retry: Retry) -> Result<(), StoreError> {
    loop {
        match storage.remove_generation(old) {
            Ok(()) => return Ok(()),
            Err(StorageError::InUse(_)) if retry.pause().is_ok() => {}
            Err(error) => {
                return Err(StoreError::OldRecordsRemain(StoreError::from(error).to_string()));
            }
        }
    }
}

fn commit(open: &Open, batch: &SharedBatch) -> Result<(), StorageError> {
    open.shared_engine()?.commit(batch)
}

/// Whether a transaction leaves a connection for a rewrite.
fn can_lock(storage: &dyn Storage) -> bool {
    storage.shared().is_some_and(|it| it.most_connections() > 1)
}

/// The batch that ends a generation: without its root no host can commit to it any more.
fn switching(open: &Open, new: &NewGeneration) -> Result<SharedBatch, StoreError> {
    let header = open.keys().ok_or(StoreError::InMemory)?.header();
    let root = open.root_address();
    let expect = Some((root, Some(open.root_value.clone())));
    Ok(SharedBatch {
        records: Batch { expect, puts: Vec::new(), deletes: vec![root] },
        header: Some(HeaderChange {
            expect: header.bytes().to_vec(),
            next: new.next.header().to_vec(),
            generation: new.next.generation,
            revision: new.next.header_id().revision,
        }),
        revision: new.root.commit,
        trail: open.kept_trail(&new.root),
    })
}

/// Whether the store has switched, after the reply was lost. The old root never comes back, so once the batch is refused,
/// the header tells, unless yet another one is there.
fn find_out(open: &Open, batch: &SharedBatch) -> Result<bool, StoreError> {
    let mut retry = Retry::new(open);
    loop {
        let found = match commit(open, batch) {
            Ok(()) => return Ok(true),
            Err(StorageError::Conflict) => open.storage().read_header(HeaderCopy::A),
            Err(error) => Err(error),
        };
        match found {
            Ok(header) => {
                let is = |known: fn(&HeaderChange) -> &Vec<u8>| {
                    header.is_some() && header.as_ref() == batch.header.as_ref().map(known)
                };
                return match (is(|change| &change.next), is(|change| &change.expect)) {
                    (true, _) => Ok(true),
                    (_, true) => Ok(false),
                    // Another host has changed the header: before this one, or after it.
                    _ => Err(StoreError::CommitUnknown),
                };
            }
            Err(StorageError::Unknown(_) | StorageError::Unavailable(_)) => retry.pause()?,
            Err(_) => return Err(StoreError::CommitUnknown),
        }
    }
}

/// Whether another host that rewrites the store has taken the number of the new generation first.
pub(crate) fn is_taken(error: &StoreError) -> bool {
    matches!(error, StoreError::Io(error) if error.kind() == std::io::ErrorKind::AlreadyExists)
}

/// Whether a record was not the one that its reference means: it was damaged, or another host has changed it.
fn is_mismatch(error: &StoreError) -> bool {
    matches!(error, StoreError::Tampered { .. })
}

/// Renews the lease on a generation that is being written. In a place that is not shared it does nothing.
///
/// # Errors
/// [`StoreError::Unavailable`] if another host removed the generation.
pub(crate) fn renew_lease(storage: &dyn Storage, generation: u64) -> Result<(), StoreError> {
    storage.shared().map_or(Ok(()), |it| it.renew_lease(generation)).map_err(|error| match error {
        StorageError::Missing => StoreError::Unavailable(LEASE_LOST.to_owned()),
        error => error.into(),
    })
}

const CHANGING: &str = "other hosts keep changing the store; with a second connection a rewrite can keep them from it, so allow one more";
/// Attempts to write a generation while other hosts may change the store.
const OPTIMISTIC: usize = 2;
