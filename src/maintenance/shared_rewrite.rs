//! Rewrites of a store that other hosts use at the same time.

use super::rewrite::{Versions, Written, write_and_announce};
use crate::session::generation::NextGeneration;
use crate::session::{Exclusive, NewGeneration, StoreError, is_taken};
use inmost_format::header::Unlocked;
use inmost_storage::SharedStorage;

impl Exclusive<'_> {
    /// Writes a new generation and switches to it. Other hosts follow with their next call; after a rotation they are locked.
    pub(super) fn replace_shared_generation(
        &mut self,
        versions: Versions,
        progress: &mut dyn FnMut(u64),
        mut next: impl FnMut(&Unlocked, u64) -> Result<NextGeneration, StoreError>,
    ) -> Result<(), StoreError> {
        if self.session().read_once(|open| Ok::<_, StoreError>(open.keys().is_none()))? {
            return Ok(());
        }
        self.switch_shared(&mut |open| {
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
            let next = next(keys, number)?;
            let written = write_and_announce(open, &next, versions, progress);
            let Written { engine, root, root_value } = written.inspect_err(|error| {
                if !is_taken(error) {
                    let _ = storage.remove_generation(number);
                }
            })?;
            Ok(NewGeneration { engine, next, root, root_value })
        })
    }
}

/// Numbers of generations that a rewrite looks at for a free one.
const NUMBERS: usize = 1_000;
