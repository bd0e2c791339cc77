//! Writes a snapshot while sled has the log open.
//!
//! An opening replays what follows the newest snapshot, so a snapshot must follow now and then. What a snapshot covers is not
//! replayed later, so damage to it costs no more than the page that it hits. sled makes snapshots only when it opens a log, and
//! readers would have to wait for that. The same snapshot is made here from the last one and the messages behind it, which the
//! cursor has followed.

use std::fs;
use std::sync::PoisonError;

use super::SledEngine;
use super::repair;
use super::snapshot::covered;
use inmost_engines::files;
use inmost_storage::StorageError;

impl SledEngine {
    /// Writes a snapshot of the frontier. Returns `false` if the messages since the last one are not known; then nothing was written.
    pub(super) fn write_snapshot(&self) -> Result<bool, StorageError> {
        let _writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        self.poison.check()?;
        let mut progress = self.progress();
        let Some(uncovered) = progress.cursor.uncovered() else { return Ok(false) };
        if uncovered.is_empty() {
            return Ok(true);
        }
        if !progress.is_at_frontier() {
            return Ok(false);
        }
        let log_bytes = self.log.metadata()?.len();
        let (from, mut pages) =
            repair::newest_snapshot(&self.folder, log_bytes)?.unwrap_or_default();
        for noted in uncovered.iter().filter(|noted| noted.message.position >= from) {
            if pages.apply(noted.page, noted.change, noted.message, log_bytes).is_none() {
                return Ok(false);
            }
        }
        // sled uses a snapshot without checking what it covers.
        if !pages.table().proves(&progress.frontier) {
            return Ok(false);
        }
        let (end, segment) = (progress.frontier.position, progress.cursor.segment());
        let Some(body) = pages.encode(end, segment) else { return Ok(false) };
        let (name, bytes) = repair::snapshot_file(covered(end), &body);
        files::replace(&self.folder.join(&name), &bytes)?;
        progress.note_snapshot();
        for old in repair::snapshots(&self.folder)?.into_iter().filter(|old| *old != name) {
            fs::remove_file(self.folder.join(old))?;
        }
        Ok(true)
    }
}
