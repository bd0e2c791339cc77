//! Fills a new generation with records in the order of their addresses.
//!
//! sled splits a leaf into two when it has 17 records, writes both anew, and goes on in the second; it also writes a leaf anew
//! after ten changes. A leaf that grew record by record was then written four times, and a log of which a quarter is in effect
//! keeps that length. Here the leaves grow with empty values first. Those that are complete have nine records and get their
//! values after that, so each value is written once, but for the last few of a call.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use super::SledEngine;
use super::cursor::NEXT_RECORDS;
use inmost_engines::files;
use inmost_storage::{Address, StorageError};

impl SledEngine {
    /// Adds records behind all others. They are not durable before the next sync.
    pub(super) fn fill_in_order(&self, records: &[(Address, Vec<u8>)]) -> Result<(), StorageError> {
        let _writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        self.poison.check()?;
        self.unsynced.store(true, Ordering::SeqCst);
        let filled = self.poison.on_error(
            self.insert(records, |_| &[]).and_then(|()| self.insert(records, |value| value)),
        );
        filled.inspect_err(|_| files::forget_cached_in(&self.folder))
    }

    fn insert(
        &self,
        records: &[(Address, Vec<u8>)],
        value_of: impl Fn(&[u8]) -> &[u8],
    ) -> Result<(), StorageError> {
        for piece in records.chunks(NEXT_RECORDS) {
            self.handle.call(|db| {
                piece.iter().try_for_each(|(it, value)| db.insert(it.0, value_of(value)).map(drop))
            })?;
            if self.follow_if_due(piece.len())? {
                self.sync_log()?;
            }
        }
        Ok(())
    }
}
