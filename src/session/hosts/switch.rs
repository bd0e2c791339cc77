//! Changes of the header of a shared store: keyslots, and the switch to another generation.
//!
//! Header and root change in one batch, so no host ever finds a header whose root names another one.

use super::super::commit::Exclusive;
use super::super::error::StoreError;
use super::super::generation::NextGeneration;
use super::super::handle::write;
use super::super::open::Open;
use super::super::overlay::Overlay;
use super::super::txn::Txn;
use super::CATCHES;
use super::adopt::Caught;
use super::outcome::Retry;
use super::transaction::{MOVING, Within};
use inmost_format::header::{NextHeader, Unlocked};
use inmost_format::record::node::Root;
use inmost_storage::{Access, Batch, Engine, HeaderChange, HeaderCopy, StorageError};

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

    /// Writes a new generation with `write`, from a state that does not change meanwhile, and switches the store to it. If
    /// another host has changed the store by then, everything begins again; the third time nobody can change it.
    pub(crate) fn switch_shared(
        &mut self,
        write_generation: &mut dyn FnMut(&Open) -> Result<NewGeneration, StoreError>,
    ) -> Result<(), StoreError> {
        let session = self.session().clone();
        session.refresh()?;
        for attempt in 0..CATCHES {
            let access = if attempt < OPTIMISTIC { Access::Snapshot } else { Access::Locked };
            let mut state = write(&session.shared.state);
            let (new, batch, applied) = {
                let mut within = Within::begin(state.open_mut()?, access)?;
                if within.catch_up()? == Caught::Moving {
                    drop(within);
                    drop(state);
                    session.refresh()?;
                    continue;
                }
                let new = match write_generation(&within) {
                    Ok(new) => new,
                    Err(error) if is_taken(&error) => {
                        drop(within);
                        drop(state);
                        session.refresh()?;
                        continue;
                    }
                    Err(error) => return Err(error),
                };
                let batch = switching(&within, &new)?;
                within.storage().renew_lease(new.next.generation).map_err(lost)?;
                let applied = (access == Access::Locked).then(|| within.engine().apply(&batch));
                (new, batch, applied)
            };
            let open = state.open_mut()?;
            let applied = applied.unwrap_or_else(|| open.engine().apply(&batch));
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
                open.storage().remove_generation(new.next.generation)?;
                drop(state);
                session.refresh()?;
                continue;
            }
            let old = open.keys().map(|keys| keys.header().generation());
            let NewGeneration { engine, next, root, root_value } = new;
            open.replace(engine, next, root, root_value).discard();
            open.forget_sealed();
            open.remember();
            let removed = old.map_or(Ok(()), |old| open.storage().remove_generation(old));
            return removed.map_err(|error| {
                StoreError::OldRecordsRemain(StoreError::from(error).to_string())
            });
        }
        Err(StoreError::Unavailable(MOVING.to_owned()))
    }
}

/// The batch that ends a generation: without its root no host can commit to it any more.
fn switching(open: &Open, new: &NewGeneration) -> Result<Batch, StoreError> {
    let header = open.keys().ok_or(StoreError::InMemory)?.header();
    let root = open.root_address();
    Ok(Batch {
        expect: Some((root, Some(open.root_value.clone()))),
        puts: Vec::new(),
        deletes: vec![root],
        header: Some(HeaderChange {
            expect: header.bytes().to_vec(),
            next: new.next.header().to_vec(),
            generation: new.next.generation,
            revision: new.next.header_id().revision,
        }),
        revision: new.root.commit,
    })
}

/// Whether the store has switched, after the reply was lost. The old root never comes back, so once the batch is refused,
/// the header tells.
fn find_out(open: &Open, batch: &Batch) -> Result<bool, StoreError> {
    let mut retry = Retry::new(open);
    loop {
        let found = match open.engine().apply(batch) {
            Ok(()) => return Ok(true),
            Err(StorageError::Conflict) => open.storage().read_header(HeaderCopy::A),
            Err(error) => Err(error),
        };
        match found {
            Ok(header) => {
                return Ok(header.as_ref() == batch.header.as_ref().map(|change| &change.next));
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

fn lost(error: StorageError) -> StoreError {
    match error {
        StorageError::Missing => StoreError::Unavailable(
            "the new records stood still for a minute, so another host removed them".to_owned(),
        ),
        error => error.into(),
    }
}

/// Attempts to write a generation while other hosts may change the store.
const OPTIMISTIC: usize = 2;
