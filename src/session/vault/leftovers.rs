//! What an unlock does for a process that crashed: generations that the header does not name are removed if a rewrite left them
//! behind, and kept under another name otherwise. An interrupted change of the header is completed.

use crate::session::commit::handle::Session;
use crate::session::error::StoreError;
use crate::session::open::Open;
use crate::session::upkeep::reap;
use inmost_format::header::Header;
use inmost_format::record::HeaderId;
use inmost_storage::{HeaderCopy, Leftover, Storage, StorageError};

/// Makes both copies of the header equal to the one in effect, then leaves only the generation that it names. `found` are
/// the parsed copies, as they were found.
pub(crate) fn keep_only(
    storage: &dyn Storage,
    header: &Header,
    found: &[(HeaderCopy, Header)],
) -> Result<(), StoreError> {
    for place in [HeaderCopy::A, HeaderCopy::B] {
        if found.iter().any(|(copy, kept)| *copy == place && kept.bytes() == header.bytes()) {
            continue;
        }
        match storage.write_header(place, header.bytes()) {
            // A folder in place of the copy holds no keyslot that needs renewal, and its origin is unknown. Reads work
            // without this copy; a change of a keyslot will fail because of it.
            Err(StorageError::UntrustedFile(_)) => {}
            renewed => renewed?,
        }
    }
    let copies: Vec<&Header> = found.iter().map(|(_, header)| header).collect();
    clear(storage, header, &copies)
}

/// Leaves no generation but the one that the header in effect names. `copies` are the parsed copies of the header, as they
/// were found.
///
/// Both copies on disk must be the header in effect by now. Otherwise a crash would leave a header whose generation is
/// gone. The note of the rewrite goes last, so a crash at any point repeats the rest.
pub(crate) fn clear(
    storage: &dyn Storage,
    header: &Header,
    copies: &[&Header],
) -> Result<(), StoreError> {
    let rewriting = storage.rewriting()?;
    let named = header.generation();
    for generation in storage.generations()?.into_iter().filter(|found| *found != named) {
        let leftover = rewriting.as_ref().map(|it| it.leftover(named, generation));
        match leftover.unwrap_or(Leftover::Unknown) {
            Leftover::Remove => storage.remove_generation(generation)?,
            Leftover::Keep(header) => storage.set_aside(generation, Some(header))?,
            Leftover::Unknown => {
                // A header that was found and names it has the only key of its records.
                let own = copies.iter().find(|copy| copy.generation() == generation);
                storage.set_aside(generation, own.map(|copy| copy.bytes().as_slice()))?;
            }
        }
    }
    if rewriting.is_some() {
        storage.finish_rewrite()?;
    }
    Ok(())
}

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
                    self.adjust(|open| open.bind_later(header))?;
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
        // On a full disk the remaining space is left to the application's own calls. On a server this would cost round trips at every
        // unlock of every host, so there it goes along with later commits.
        let can_reap = |open: &Open| {
            let has_room = !open.storage().is_short_of_room();
            Ok::<_, StoreError>(has_room && !open.is_remote() && reap::is_due(open)?)
        };
        if self.read_once(can_reap)? {
            self.exclusive(|exclusive| (0..REAP_ROUNDS).try_for_each(|_| exclusive.reap()))?;
        }
        Ok(())
    }
}

/// Durable steps of reaping that one unlock makes at most. Later commits do the rest.
const REAP_ROUNDS: usize = 16;
