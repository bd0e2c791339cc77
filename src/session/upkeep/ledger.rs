//! The ledger of readings: when each file was last read, as far as the store records it.
//!
//! It is one file that no folder names: the root leads to it. A reading waits in memory and is written along with the next
//! commit, so reading alone never writes. A ledger that cannot be read is left and a new one begins; then every file counts as
//! used now, because nothing else is known. So does every file when the clock has jumped.

use std::sync::Arc;

use inmost_format::crypto::rng;
use inmost_format::record::node::{Child, Entry, File, FileInfo, Name, Root, What};
use inmost_format::record::readings::{self, Change, Reading, Readings};
use inmost_format::record::tree::{Body, Owner};
use inmost_format::record::{
    NodeSink, NodeSource, ObjectId, RecordError, RecordId, load_file, rope,
};
use inmost_storage::limits::BATCH_RECORDS;

use super::reap;
use super::reap::CALLS_RECORDS;
use super::trim;
use crate::session::clock::now;
pub(crate) use crate::session::expiry_settings::DAY;
use crate::session::expiry_settings::ExpirySettings;
use crate::session::open::Open;
use crate::session::transaction::Txn;
use crate::session::transaction::caller::Caller;
use crate::session::transaction::overlay::Overlay;

impl Open {
    /// Notes that a file was read, if the store records that. The next commit writes it.
    pub(crate) fn note_reading(&self, file: u64) {
        if !self.records_readings() {
            return;
        }
        let mut waiting = self.waiting.files();
        if waiting.len() < MOST_WAITING {
            waiting.insert(file);
        }
    }

    /// Whether a reading of this file waits to be written.
    pub(crate) fn is_waiting(&self, file: u64) -> bool {
        self.waiting.files().contains(&file)
    }
}

impl Txn<'_> {
    /// Records that files are used now, though the time of their last change does not say so. `files` are in order. Takes a
    /// bounded number of records, and returns how many of the files are done.
    pub(crate) fn record_use(&mut self, files: &[u64]) -> Result<usize, RecordError> {
        self.record_readings(files, PLACES_OF_CALL)
    }

    /// Counts a change of a file as a reading if the clock is behind: the time of the change would let the file expire early.
    pub(crate) fn note_change(&self, file: u64) -> Result<(), RecordError> {
        if now() < self.root()?.last_used {
            self.open().note_reading(file);
        }
        Ok(())
    }

    fn record_readings(&mut self, files: &[u64], most: usize) -> Result<usize, RecordError> {
        let root = self.root()?;
        if root.reads_since == 0 || files.is_empty() {
            return Ok(files.len());
        }
        let day = now().max(root.last_used) / DAY;
        let readings: Vec<Reading> =
            files.iter().map(|file| Reading { file: *file, day }).collect();
        match self.change_ledger(root.readings, &readings, most, Change::Note) {
            Err(RecordError::Damaged { .. }) if !root.readings.is_none() => {
                self.begin_ledger_anew()?;
                self.change_ledger(Child::NONE, &readings, most, Change::Note)
            }
            done => done,
        }
    }

    /// Changes readings in a ledger, or in a new one. Returns how many are done.
    fn change_ledger(
        &mut self,
        child: Child,
        readings: &[Reading],
        most: usize,
        change: Change,
    ) -> Result<usize, RecordError> {
        let (object, mut file) = if child.is_none() {
            (new_object()?, empty_ledger())
        } else {
            (child.id, File::clone(&*load_ledger(self, &child)?))
        };
        let mut owner = Owner { sink: self, object, next_index: &mut file.next_index };
        let taken = readings::change(&mut owner, &mut file.body, readings, most, change)?;
        if taken.changed {
            let mut root = self.root()?;
            if root.readings.id != object {
                root.readings = Child { id: object, ..Child::NONE };
            }
            self.put(RecordId::ROOT, root.into());
            self.put(RecordId::file(object, HEAD), file.into());
        }
        Ok(taken.readings)
    }

    /// Removes readings, as far as they are still the last ones of their files. `readings` are in order. Takes a bounded number
    /// of records, and returns how many are done.
    pub(crate) fn drop_readings(&mut self, readings: &[Reading]) -> Result<usize, RecordError> {
        let child = self.root()?.readings;
        if child.is_none() {
            return Ok(readings.len());
        }
        self.change_ledger(child, readings, PLACES_OF_CALL, Change::Remove)
    }

    /// The day of the last reading of a file, as the ledger has it; `None` if the ledger does not name the file.
    pub(crate) fn day_of_reading(&self, file: u64) -> Result<Option<u64>, RecordError> {
        let child = self.root()?.readings;
        if child.is_none() {
            return Ok(None);
        }
        let ledger = load_ledger(self, &child)?;
        readings::day_of(self, child.id, &ledger.body, file)
    }

    /// Whether a reading of this file waits to be written.
    pub(crate) fn is_waiting(&self, file: u64) -> bool {
        self.open().is_waiting(file)
    }

    /// Leaves the ledger, and makes every file count as used now.
    pub(crate) fn begin_ledger_anew(&mut self) -> Result<(), RecordError> {
        let mut root = self.root()?;
        if !root.readings.is_none() {
            self.abandon(root.readings.id);
            root.readings = Child::NONE;
        }
        use_everything(&mut root);
        self.put(RecordId::ROOT, root.into());
        Ok(())
    }

    /// Makes every file count as used now, if the store records readings.
    pub(crate) fn restart_expiry(&mut self) -> Result<(), RecordError> {
        let mut root = self.root()?;
        if root.reads_since > 0 {
            restart_expiry(&mut root);
            self.put(RecordId::ROOT, root.into());
        }
        Ok(())
    }

    /// Notes that files have expired at an unlock.
    pub(crate) fn note_expiry(&mut self) -> Result<(), RecordError> {
        let mut root = self.root()?;
        root.last_expiry = now();
        self.put(RecordId::ROOT, root.into());
        Ok(())
    }

    fn remove_ledger(&mut self, child: &Child) -> Result<(), RecordError> {
        let bytes = load_ledger(self, child)?.body.count().bytes;
        let what = What::File(FileInfo { bytes, ..FileInfo::of_times(0, 0) });
        reap::remove(self, Entry::new(Name::new(""), child.id, child.tag, what))
    }

    /// Sets whether readings are recorded. With recording off, the ledger is removed like a deleted file.
    pub(crate) fn set_expiry_settings(
        &mut self,
        settings: ExpirySettings,
    ) -> Result<(), RecordError> {
        let child = self.root()?.readings;
        if !settings.is_recording() && !child.is_none() {
            match self.remove_ledger(&child) {
                Ok(()) => {}
                // What cannot be read stays behind until a rewrite.
                Err(RecordError::Damaged { .. }) => self.abandon(child.id),
                Err(error) => return Err(error),
            }
        }
        let mut root = self.root()?;
        if ExpirySettings::of(&root) != settings {
            settings.set(&mut root);
            self.put(RecordId::ROOT, root.into());
        }
        Ok(())
    }
}

/// Adds waiting readings to a group that is about to be committed, as far as there is room. Returns those that can stop waiting
/// once the group is durable.
pub(crate) fn record_into(open: &Open, group: &mut Overlay) -> Result<Vec<u64>, RecordError> {
    let mut files: Vec<u64> = open.waiting.files().iter().copied().collect();
    let mut txn = Txn::new(open, group, &Caller::default());
    let mut root = txn.root()?;
    if root.reads_since == 0 {
        return Ok(files);
    }
    follow_clock(&mut root);
    txn.put(RecordId::ROOT, root.clone().into());
    if !files.is_empty() {
        match txn.record_readings(&files, PLACES_OF_COMMIT) {
            Ok(done) => files.truncate(done),
            // Damage to the ledger must not block a valid commit, and neither must what it has changed by then.
            Err(error) if error.is_unreadable() => {
                drop(txn);
                group.nodes.insert(RecordId::ROOT, Some(root.into()));
                return Ok(Vec::new());
            }
            Err(error) => return Err(error),
        }
    }
    let changes = txn.into_overlay();
    // As many records as calls may use: otherwise nothing would be reaped while readings wait.
    let is_due = !files.is_empty() && (reap::is_due(open)? || trim::is_due(open)?);
    let most = if is_due { CALLS_RECORDS } else { BATCH_RECORDS };
    if group.records_with(&changes) <= most {
        group.merge(changes)?;
        return Ok(files);
    }
    group.nodes.insert(RecordId::ROOT, Some(root.into()));
    Ok(Vec::new())
}

/// Moves the time of the last commit on. Where the clock has jumped, or nobody used the store for long, every file counts as
/// used now.
fn follow_clock(root: &mut Root) {
    let unused_for = if root.unused_for > 0 { root.unused_for } else { u64::MAX };
    if is_clock_plausible(root, unused_for) {
        root.last_used = root.last_used.max(now());
    } else {
        use_everything(root);
    }
}

/// Makes every file count as used now, if the store records readings.
pub(crate) fn restart_expiry(root: &mut Root) {
    if root.reads_since > 0 {
        use_everything(root);
    }
}

fn use_everything(root: &mut Root) {
    // 0 means off.
    let now = now().max(1);
    (root.reads_since, root.last_used) = (now, now);
}

/// Whether the clock can be trusted to tell how long files were unused: it shows about the time of the last commit. If it is
/// far ahead, it may be wrong, or nobody has used the store at all.
pub(crate) fn is_clock_plausible(root: &Root, unused_for: u64) -> bool {
    now().abs_diff(root.last_used) <= unused_for.clamp(DAY, LONGEST_GAP)
}

/// When a file was last used, in milliseconds since 1970, if the day of its last reading is this one. A time in the future is
/// that of a clock that was wrong, and does not count.
pub(crate) fn last_use(root: &Root, info: &FileInfo, day: Option<u64>) -> u64 {
    let latest = now().max(root.last_used).saturating_add(DAY);
    let counts = |time: &u64| *time <= latest;
    // A reading counts until the end of its day.
    let read = day.map(|day| day.saturating_add(1).saturating_mul(DAY)).filter(counts);
    let changed = Some(info.modified).filter(counts);
    root.reads_since.max(read.unwrap_or_default()).max(changed.unwrap_or_default())
}

/// The file of a ledger.
pub(crate) fn load_ledger(
    source: &impl NodeSource,
    child: &Child,
) -> Result<Arc<File>, RecordError> {
    load_file(source, RecordId::file(child.id, HEAD), &child.tag)
}

/// The readings of a ledger, in the order of their files.
///
/// # Errors
/// [`RecordError::Damaged`] also if they are out of order: then a search in the ledger would miss some.
pub(crate) fn readings(source: &impl NodeSource, child: &Child) -> Result<Readings, RecordError> {
    if child.is_none() {
        return Ok(Readings::default());
    }
    Readings::load(source, child.id, &load_ledger(source, child)?.body)
}

/// A ledger of these readings in new records. Returns the name of its head, and the head.
pub(crate) fn new_ledger(
    sink: &mut impl NodeSink,
    readings: &Readings,
) -> Result<(RecordId, File), RecordError> {
    let (object, mut file) = (new_object()?, empty_ledger());
    let mut owner = Owner { sink, object, next_index: &mut file.next_index };
    rope::splice(&mut owner, &mut file.body, 0..0, &readings.to_text())?;
    Ok((RecordId::file(object, HEAD), file))
}

fn new_object() -> Result<ObjectId, RecordError> {
    Ok(ObjectId(rng::array().map_err(|_| RecordError::Randomness)?))
}

/// A file without readings. It is partial, so that no recovery takes it for a file of the tree.
fn empty_ledger() -> File {
    File { next_index: 0, is_partial: true, body: Body::empty() }
}

/// The longest time between two commits that is taken for real.
const LONGEST_GAP: u64 = 30 * DAY;
/// Files whose readings wait at most; further ones are not recorded. A process that reads so many files before it changes one
/// reads everything.
const MOST_WAITING: usize = 1 << 16;
/// Places of the ledger that readings change in one commit: with what leads to them, at most 12 records.
const PLACES_OF_COMMIT: usize = 2;
/// Places that a call of its own changes.
const PLACES_OF_CALL: usize = 4;
/// The index of the head: that of a file which keeps no versions.
const HEAD: u64 = 0;
