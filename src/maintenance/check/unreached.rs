//! The records that no reference leads to.

use super::Check;
use crate::session::StoreError;
use inmost_storage::{Address, Engine, StorageError};

impl<P: FnMut(u64)> Check<'_, P> {
    /// Authenticates the records that the walk did not reach.
    pub(super) fn records(&mut self, engine: &dyn Engine) -> Result<(), StoreError> {
        let mut after = None;
        let mut unreadable = 0_u64;
        loop {
            let page = match engine.scan(after.as_ref(), PAGE) {
                Err(error) if is_damage(&error) => {
                    unreadable += 1;
                    after = next_prefix(after);
                    if after.is_none() {
                        break;
                    }
                    continue;
                }
                page => page?,
            };
            let Some((last, _)) = page.last() else { break };
            after = Some(*last);
            for (address, value) in page {
                self.step();
                self.report.records = self.report.records.saturating_add(1);
                if self.reached.contains_key(&address) {
                    continue;
                }
                match self.sealer.open_any(&address, &value) {
                    Ok(_) => self.report.orphans = self.report.orphans.saturating_add(1),
                    Err(flaw) => {
                        self.report.add(&[], "an orphaned record", flaw.describe());
                    }
                }
            }
        }
        // The walk has named what it reached there.
        if unreadable > 0 {
            self.report.add(&[], "a part of the engine's files", "cannot be read");
        }
        Ok(())
    }
}

/// Whether an error is that of a part of the files: a bad block of the disk, or bytes that the engine does not understand.
pub(super) fn is_damage(error: &StorageError) -> bool {
    matches!(error, StorageError::Corrupt(_) | StorageError::Io(_))
}

/// The first address after `after` whose first byte is larger. Addresses are evenly distributed, so a step to it skips few
/// records.
fn next_prefix(after: Option<Address>) -> Option<Address> {
    let mut bytes = [0; 32];
    let (first, _) = bytes.split_first_mut()?;
    *first = match after {
        None => 1,
        Some(Address([byte, ..])) => byte.checked_add(1)?,
    };
    Some(Address(bytes))
}

/// Records read in one page.
const PAGE: usize = 64;
