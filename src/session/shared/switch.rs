//! The switch of a shared store to another generation.
//!
//! Header and root change in one batch, so no host ever finds a header whose root names another one.

use std::sync::Arc;

use super::catching_up::{CATCHES, Caught, MOVING, refresh};
use super::locked::Within;
use super::outcome::Retry;
use crate::session::error::StoreError;
use crate::session::open::Open;
use crate::session::open::generation::{NextGeneration, Written};
use crate::session::open::state::State;
use crate::session::sync::{RwLock, read, write};
use inmost_format::record::node::Root;
use inmost_storage::{
    Access, Batch, HeaderChange, HeaderCopy, LEASE_LOST, SharedBatch, SharedStorage, Storage,
    StorageError,
};

/// Writes a generation of a number, with the header that is to name it.
pub(crate) type WriteGeneration<'w> =
    &'w mut dyn FnMut(&Open, u64) -> Result<(NextGeneration, Written), StoreError>;

/// Writes a new generation with `write_generation`, which also gets a free number for it, and switches the store to it. Returns
/// `false` without having done anything if the store has no other hosts. If another host has changed the store by then,
/// everything begins again. The third time nobody can change it; that takes a second connection.
///
/// The first times need no snapshot: the switch succeeds only if the root is still the one that was copied, and what was
/// copied has the tags that lead down from it.
pub(crate) fn switch(
    state: &RwLock<State>,
    write_generation: WriteGeneration<'_>,
) -> Result<bool, StoreError> {
    {
        let state = read(state);
        let open = state.open()?;
        if open.storage().shared().is_none() {
            return Ok(false);
        }
        if open.keys().is_none() {
            return Ok(true);
        }
    }
    refresh(state)?;
    for attempt in 0..CATCHES {
        let mut opened = write(state);
        let (next, written, batch, applied) = {
            let open = opened.open_mut()?;
            let is_locked = attempt >= OPTIMISTIC && can_lock(open.storage());
            let mut within = if is_locked {
                Within::begin(open, Access::Locked)?
            } else {
                Within::without_transaction(open)
            };
            if within.catch_up()? == Caught::Moving {
                drop(within);
                drop(opened);
                refresh(state)?;
                continue;
            }
            let version = within.version();
            let (next, written) = match begin(&within, write_generation) {
                Ok(new) => new,
                Err(error) if is_taken(&error) || is_mismatch(&error) => {
                    drop(within);
                    drop(opened);
                    if refresh(state)? == version && !is_taken(&error) {
                        return Err(error);
                    }
                    continue;
                }
                Err(error) => return Err(error),
            };
            let batch = switching(&within, &next, &written.root)?;
            renew_lease(within.storage(), next.generation)?;
            let applied = is_locked.then(|| commit(&within, &batch));
            (next, written, batch, applied)
        };
        let open = opened.open_mut()?;
        let applied = applied.unwrap_or_else(|| commit(open, &batch));
        let is_switched = match applied {
            Ok(()) => true,
            Err(StorageError::Conflict) => false,
            Err(StorageError::Unknown(_)) => find_out(open, &batch)?,
            Err(error) => {
                let _ = open.storage().remove_generation(next.generation);
                return Err(error.into());
            }
        };
        if !is_switched {
            match open.storage().remove_generation(next.generation) {
                // Another host has taken the number since.
                Ok(()) | Err(StorageError::InUse(_)) => {}
                Err(error) => return Err(error.into()),
            }
            drop(opened);
            refresh(state)?;
            continue;
        }
        let old = open.keys().map(|keys| keys.header().generation());
        open.replace(next, written).discard();
        open.forget_sealed();
        open.remember();
        let (storage, retry) = (Arc::clone(&open.storage), Retry::new(open));
        drop(opened);
        old.map_or(Ok(()), |old| remove_old(&*storage, old, retry))?;
        return Ok(true);
    }
    let can_lock = can_lock(read(state).open()?.storage());
    Err(StoreError::Unavailable(if can_lock { MOVING } else { CHANGING }.to_owned()))
}

/// Writes a generation of a number that is free.
fn begin(
    open: &Open,
    write_generation: WriteGeneration<'_>,
) -> Result<(NextGeneration, Written), StoreError> {
    let keys = open.keys().ok_or(StoreError::InMemory)?;
    let storage = open.storage();
    storage.shared().map_or(Ok(()), SharedStorage::remove_leftovers)?;
    let old = keys.header().generation();
    // Not simply above the highest: the server could name one so high that no number is left.
    let taken = storage.generations()?;
    let is_free = |number: &u64| !taken.contains(number);
    // The next one is for the scratch generation.
    let mut numbers = (old.saturating_add(1)..u64::MAX).take(NUMBERS);
    let free = numbers.find(|number| is_free(number) && is_free(&(number + 1)));
    let number = free.ok_or(StoreError::TooLarge)?;
    write_generation(open, number).inspect_err(|error| {
        if !is_taken(error) {
            let _ = storage.remove_generation(number);
        }
    })
}

/// Numbers of generations that a rewrite looks at for a free one.
const NUMBERS: usize = 1_000;

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
fn switching(open: &Open, next: &NextGeneration, new: &Root) -> Result<SharedBatch, StoreError> {
    let header = open.keys().ok_or(StoreError::InMemory)?.header();
    let root = open.root_address();
    let expect = Some((root, Some(open.root_value.clone())));
    Ok(SharedBatch {
        records: Batch { expect, puts: Vec::new(), deletes: vec![root] },
        header: Some(HeaderChange {
            expect: header.bytes().to_vec(),
            next: next.header().to_vec(),
            generation: next.generation,
            revision: next.header_id().revision,
        }),
        revision: new.commit,
        trail: open.kept_trail(new),
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
fn is_taken(error: &StoreError) -> bool {
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
