//! The work that an unlock does for a process that crashed.

use super::error::StoreError;
use super::handle::{Session, write};
use super::open::Open;
use super::reap;
use inmost_format::record::HeaderId;

impl Session {
    /// Completes work that a crash interrupted.
    pub(in crate::session) fn settle(
        &self,
        header: Option<HeaderId>,
        skip: Option<u64>,
    ) -> Result<(), StoreError> {
        if header.is_some() || skip.is_some() {
            let bound = self.exclusive(|exclusive| {
                exclusive.commit(|txn| {
                    header.map_or(Ok(()), |header| txn.bind_header(header))?;
                    skip.map_or(Ok(()), |commit| txn.skip_commits(commit))?;
                    Ok::<(), StoreError>(())
                })
            });
            match (bound, header, skip) {
                // A full disk keeps nobody from reading. The next commit that has room names the header. Until then the store is
                // as it was before this unlock.
                (Err(StoreError::DiskFull), Some(header), None) => {
                    write(&self.shared.state).open_mut()?.bind_later(header);
                }
                (bound, ..) => bound?,
            }
        } else {
            // This writes a new anchor if it was missing. A current one is left alone, because the first write of a
            // session costs a sync.
            self.read_once(|open| {
                open.remember_if_new();
                Ok::<(), StoreError>(())
            })?;
        }
        if self.is_shared() {
            // Reaping goes along with later commits. Here it would cost round trips at every unlock of every host.
            return Ok(());
        }
        // On a full disk the remaining space is left to the application's own calls.
        let can_reap = |open: &Open| {
            Ok::<_, StoreError>(!open.storage().is_short_of_room() && reap::is_due(open)?)
        };
        if self.read(can_reap)? {
            self.exclusive(|exclusive| (0..REAP_ROUNDS).try_for_each(|_| exclusive.reap()))?;
        }
        Ok(())
    }
}

/// Durable steps of reaping that one unlock makes at most. Later commits do the rest.
const REAP_ROUNDS: usize = 16;
