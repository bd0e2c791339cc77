//! Finds out whether a batch was stored when its reply was lost.
//!
//! To look is not enough: the server may commit the batch after the look. So the same batch is submitted again. If the server
//! takes it, it is stored. If another root is there, neither the first nor the second copy can come any more, because both expect
//! the root before, which never comes back. Then the present root decides. If it is the batch's root, or has that root on its trail,
//! the batch was stored. If its trail reaches back far enough without it, the batch was not stored. After many commits, the trails
//! that the server keeps decide.

use std::time::{Duration, Instant};

use super::adopt::kept_trails;
use super::store_group::Stored;
use crate::session::commit::handle::Session;
use crate::session::error::StoreError;
use crate::session::open::Open;
use crate::session::sync::read;
use crate::session::transaction::sealing::SealedGroup;
use inmost_storage::StorageError;

impl Session {
    /// Finds out what became of a batch.
    ///
    /// # Errors
    /// [`StoreError::CommitUnknown`] if that cannot be found out in time.
    pub(super) fn find_out(&self, group: SealedGroup, version: u64) -> Result<Stored, StoreError> {
        let unknown = |_| StoreError::CommitUnknown;
        let mut retry = Retry::new(read(&self.shared.state).open().map_err(unknown)?);
        loop {
            let again = {
                let state = read(&self.shared.state);
                state.open().map_err(unknown)?.shared_engine()?.commit(&group.batch)
            };
            match again {
                Ok(()) => return Ok(self.install(group, version)),
                Err(StorageError::Conflict) => break,
                Err(StorageError::Unknown(_) | StorageError::Unavailable(_)) => retry.pause()?,
                Err(_) => return Err(StoreError::CommitUnknown),
            }
        }
        loop {
            match self.refresh() {
                Ok(_) => break,
                Err(StoreError::Unavailable(_)) => retry.pause()?,
                // A store that went back, or that has other keys, tells nothing about the batch.
                Err(_) => return Err(StoreError::CommitUnknown),
            }
        }
        let state = read(&self.shared.state);
        state.open().and_then(|open| open.judge(&group)).map_err(|_| StoreError::CommitUnknown)
    }
}

impl Open {
    /// Whether a batch that can come no more is part of this state.
    pub(super) fn judge(&self, group: &SealedGroup) -> Result<Stored, StoreError> {
        let tag = group.tag().ok_or(StoreError::CommitUnknown)?;
        let ahead = self.root.commit.checked_sub(group.root.commit);
        let ahead = ahead.ok_or(StoreError::CommitUnknown)?;
        if self.root_value == group.root_value || self.root.trail.contains(&tag) {
            Ok(Stored::Done(Some(tag)))
        } else if self.root.trail.reaches(ahead) {
            Ok(Stored::Overtaken)
        } else {
            let before = group.root.commit.saturating_sub(1);
            let kept = kept_trails(self.engine(), before, self.root.commit)?;
            let comes_after = |tag| self.root.trail.comes_after(&tag, &kept, self.sealer.store());
            // A proof for the root that the batch expected names every root after it.
            if comes_after(tag) {
                Ok(Stored::Done(Some(tag)))
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
        let outcome_timeout = open.hosts.as_ref().map(|hosts| hosts.outcome_timeout());
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
