//! Submits the batch of a group, and finds out whether it was stored when the reply was lost.
//!
//! To look is not enough: the server may commit the batch after the look. So the same batch is submitted again. If the server
//! takes it, it is stored. If another root is there, neither the first nor the second copy can come any more, because both expect
//! the root before, which never comes back. Then the present root decides. If it is the batch's root, or has that root on its trail,
//! the batch was stored. If its trail reaches back far enough without it, the batch was not stored. After many commits, the trails
//! that the server keeps decide.

use std::time::{Duration, Instant};

use super::catching_up::{kept_trails, refresh};
use crate::session::error::StoreError;
use crate::session::open::Open;
use crate::session::open::generation::write_headers;
use crate::session::open::state::{State, halt};
use crate::session::sync::{RwLock, read, write};
use crate::session::transaction::overlay::Overlay;
use crate::session::transaction::sealing::SealedGroup;
use inmost_format::record::Tag;
use inmost_storage::StorageError;

/// What became of changes that were submitted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stored {
    /// They are part of the store, with the root of this tag. A local engine has still to sync them.
    Done { root: Option<Tag>, is_synced: bool },
    /// They are not there and never will be: another host has changed the store first.
    Overtaken,
}

impl Stored {
    fn durably(root: Option<Tag>) -> Self {
        Self::Done { root, is_synced: true }
    }
}

/// What an engine did with a batch.
pub(crate) enum Applied {
    Stored(Stored),
    /// Nothing, because the disk has no room for it. The group, as it was before it was sealed.
    Full(Overlay),
}

/// Submits a group that was made on this version of the state. Readers see it from here on. A local engine applies it or fails; it
/// is never overtaken.
///
/// # Errors
/// [`StoreError::CommitUnknown`] if it cannot be found out whether a server has stored it. After another error a server has not, but
/// for the case of [`look_again`].
/// After an error of a local engine nothing is known.
pub(crate) fn apply(
    state: &RwLock<State>,
    sealed: SealedGroup,
    version: u64,
) -> Result<Applied, StoreError> {
    let committed = {
        let state = read(state);
        let engine = state.open()?.engine();
        match engine.shared() {
            Some(engine) => Some(engine.commit(&sealed.batch)),
            // Readers go on while this waits for room.
            None => match engine.prepare(&sealed.batch.records) {
                Err(StorageError::Full) => return Ok(Applied::Full(sealed.unsealed())),
                prepared => {
                    prepared?;
                    None
                }
            },
        }
    };
    let stored = match committed {
        None => return apply_here(state, sealed),
        Some(Ok(())) => install(state, sealed, version)?,
        Some(Err(StorageError::Full)) => return Ok(Applied::Full(sealed.unsealed())),
        Some(Err(StorageError::Conflict)) => look_again(state, &sealed)?,
        Some(Err(StorageError::Unknown(_))) => find_out(state, sealed, version)?,
        Some(Err(error)) => return Err(error.into()),
    };
    Ok(Applied::Stored(stored))
}

/// Applies a group that a local engine has room for. A header that comes with it is written first. A crash in between leaves a
/// header that follows the one which the root names, and the next unlock completes the change.
fn apply_here(state: &RwLock<State>, sealed: SealedGroup) -> Result<Applied, StoreError> {
    if let Some(change) = &sealed.batch.header {
        let written = write_headers(read(state).open()?.storage(), &change.next);
        // Once a write of copy A has begun, only a new unlock can tell which header is in effect.
        written.inspect_err(|error| halt(state, error))?;
    }
    let root = sealed.tag();
    Ok(match write(state).open_mut()?.apply(sealed)? {
        None => Applied::Stored(Stored::Done { root, is_synced: false }),
        Some(group) => Applied::Full(group),
    })
}

/// Finds out what became of a batch.
///
/// # Errors
/// [`StoreError::CommitUnknown`] if that cannot be found out in time.
pub(super) fn find_out(
    state: &RwLock<State>,
    group: SealedGroup,
    version: u64,
) -> Result<Stored, StoreError> {
    let unknown = |_| StoreError::CommitUnknown;
    let mut retry = Retry::new(read(state).open().map_err(unknown)?);
    loop {
        let again = {
            let state = read(state);
            state.open().map_err(unknown)?.shared_engine()?.commit(&group.batch)
        };
        match again {
            Ok(()) => return install(state, group, version),
            Err(StorageError::Conflict) => break,
            Err(StorageError::Unknown(_) | StorageError::Unavailable(_)) => retry.pause()?,
            Err(_) => return Err(StoreError::CommitUnknown),
        }
    }
    // A store that went back, or that has other keys, tells nothing about the batch.
    look(state, &group, retry).map_err(unknown)
}

/// What became of a batch that the engine has refused because of another root. A server that applies a batch and calls it refused,
/// or a proxy that sends it twice, must not make its calls run twice.
///
/// # Errors
/// [`StoreError::CommitUnknown`] if the server has no other root, does not show it in time, or no trail leads to the batch.
/// An error of the newest state, such as [`StoreError::Locked`] or [`StoreError::RolledBack`]: only a batch that was sent twice, or
/// to a lying server, is stored then.
pub(super) fn look_again(
    state: &RwLock<State>,
    sealed: &SealedGroup,
) -> Result<Stored, StoreError> {
    let retry = Retry::new(read(state).open()?);
    look(state, sealed, retry)
}

/// Learns the newest state, and what became of a batch that can come no more.
fn look(
    state: &RwLock<State>,
    group: &SealedGroup,
    mut retry: Retry,
) -> Result<Stored, StoreError> {
    loop {
        let found = refresh(state).and_then(|_| read(state).open()?.judge(group));
        match found {
            Err(StoreError::Unavailable(_)) => retry.pause()?,
            found => return found,
        }
    }
}

/// Takes over a batch that the engine has applied, unless another thread has caught up with it, or with more, already.
///
/// # Errors
/// [`StoreError::CommitUnknown`] if what the other thread has caught up with does not follow the batch, as when the server shows it
/// another store than the one that it put the batch into; or if that cannot be found out in time.
fn install(state: &RwLock<State>, sealed: SealedGroup, version: u64) -> Result<Stored, StoreError> {
    let root = sealed.tag();
    let (mut stored, retry) = {
        let mut state = write(state);
        // A reader may have met a rotation, or a call have locked the session, since. The batch is stored all the same.
        let Ok(open) = state.open_mut() else { return Ok(Stored::durably(root)) };
        if open.version() == version {
            open.take_over(sealed);
            open.remember();
            return Ok(Stored::durably(root));
        }
        open.remember();
        (open.judge(&sealed), Retry::new(open))
    };
    if let Err(StoreError::Unavailable(_)) = stored {
        stored = look(state, &sealed, retry);
    }
    match stored {
        Ok(stored @ Stored::Done { .. }) => Ok(stored),
        _ => Err(StoreError::CommitUnknown),
    }
}

impl Open {
    /// Whether a batch that can come no more is part of this state.
    fn judge(&self, group: &SealedGroup) -> Result<Stored, StoreError> {
        let tag = group.tag().ok_or(StoreError::CommitUnknown)?;
        let ahead = self.root.commit.checked_sub(group.root.commit);
        let ahead = ahead.ok_or(StoreError::CommitUnknown)?;
        if self.root_value == group.root_value || self.root.trail.contains(&tag) {
            Ok(Stored::durably(Some(tag)))
        } else if self.root.trail.reaches(ahead) {
            Ok(Stored::Overtaken)
        } else {
            let before = group.root.commit.saturating_sub(1);
            let kept = kept_trails(self.engine(), before, self.root.commit)?;
            let comes_after = |tag| self.root.trail.comes_after(&tag, &kept, self.sealer.store());
            // A proof for the root that the batch expected names every root after it.
            if comes_after(tag) {
                Ok(Stored::durably(Some(tag)))
            } else if group.expected_tag().is_some_and(comes_after) {
                Ok(Stored::Overtaken)
            } else {
                Err(StoreError::CommitUnknown)
            }
        }
    }
}

/// A bounded number of attempts within a bounded time.
pub(super) struct Retry {
    begin: Instant,
    outcome_timeout: Duration,
    /// The next pause.
    pause: Duration,
    left: u32,
}

impl Retry {
    pub(super) fn new(open: &Open) -> Self {
        let outcome_timeout = open.pulled.as_ref().map(|it| it.outcome_timeout);
        let outcome_timeout = outcome_timeout.unwrap_or_default();
        Self { begin: Instant::now(), outcome_timeout, pause: FIRST_PAUSE, left: ATTEMPTS }
    }

    /// Lets some time pass before the next attempt.
    ///
    /// # Errors
    /// [`StoreError::CommitUnknown`] if there is to be no other attempt.
    pub(super) fn pause(&mut self) -> Result<(), StoreError> {
        self.left = self.left.saturating_sub(1);
        let is_late =
            !self.outcome_timeout.is_zero() && self.begin.elapsed() >= self.outcome_timeout;
        if self.left == 0 || is_late {
            return Err(StoreError::CommitUnknown);
        }
        // A lost connection is often back at once, and the trail of recent commits does not reach back for long.
        let pause = self.pause.min(self.outcome_timeout / SHARE);
        std::thread::sleep(pause);
        self.pause = pause.saturating_mul(2);
        Ok(())
    }
}

/// Attempts to reach the server, within the time that a session waits for it.
const ATTEMPTS: u32 = 32;
const FIRST_PAUSE: Duration = Duration::from_millis(2);
/// No pause is longer than this part of that time.
const SHARE: u32 = 16;
