//! The ledger of readings: when each file was last read, as far as the store records it.
//!
//! A reading waits in memory and is written along with the next commit, so reading alone never writes. A ledger that cannot be
//! read is left and a new one begins; then every file counts as used now, because nothing else is known. So does every file
//! when the clock has jumped.

use inmost_format::crypto::rng;
use inmost_format::record::ledger::{Ledger, Reading, Readings};
use inmost_format::record::node::{Child, FileInfo, Root};
use inmost_format::record::{
    Flaw, Kind, NodeSink, NodeSource, ObjectId, RecordError, RecordId, load_ledger,
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
use crate::session::transaction::author::Author;
use crate::session::transaction::overlay::Overlay;

impl Open {
    /// Notes that a file was read, if the store records that. The next commit writes it.
    pub(crate) fn note_reading(&self, file: u64) {
        // On a shared store the readings of other hosts would be missing.
        if self.root().reads_since == 0 || self.is_shared() {
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
        self.record_readings(files, LEAVES_OF_CALL)
    }

    fn record_readings(&mut self, files: &[u64], most: usize) -> Result<usize, RecordError> {
        let root = self.root()?;
        if root.reads_since == 0 || files.is_empty() {
            return Ok(files.len());
        }
        let day = now().max(root.last_used) / DAY;
        let readings: Vec<Reading> =
            files.iter().map(|file| Reading { file: *file, day }).collect();
        match self.note(root.ledger, &readings, most) {
            Err(RecordError::Damaged { .. }) if !root.ledger.is_none() => {
                self.begin_ledger_anew()?;
                self.note(Child::NONE, &readings, most)
            }
            done => done,
        }
    }

    fn note(
        &mut self,
        child: Child,
        readings: &[Reading],
        most: usize,
    ) -> Result<usize, RecordError> {
        let (object, mut ledger) = if child.is_none() {
            let object = ObjectId(rng::array().map_err(|_| RecordError::Randomness)?);
            (object, Ledger::empty())
        } else {
            (child.id, Ledger::clone(&*load_ledger(self, child.id, &child.tag)?))
        };
        let taken = ledger.note(self, object, readings, most)?;
        if taken.changed {
            self.set_ledger(object, ledger)?;
        }
        Ok(taken.readings)
    }

    /// Removes readings, as far as they are still the last ones of their files. `readings` are in order. Takes a bounded number
    /// of records, and returns how many are done.
    pub(crate) fn drop_readings(&mut self, readings: &[Reading]) -> Result<usize, RecordError> {
        let child = self.root()?.ledger;
        if child.is_none() {
            return Ok(readings.len());
        }
        let mut ledger = Ledger::clone(&*load_ledger(self, child.id, &child.tag)?);
        let taken = ledger.remove(self, child.id, readings, LEAVES_OF_CALL)?;
        if taken.changed {
            self.set_ledger(child.id, ledger)?;
        }
        Ok(taken.readings)
    }

    /// The day of the last reading of a file, as the ledger has it; `None` if the ledger does not name the file.
    pub(crate) fn day_of_reading(&self, file: u64) -> Result<Option<u64>, RecordError> {
        let child = self.root()?.ledger;
        if child.is_none() {
            return Ok(None);
        }
        load_ledger(self, child.id, &child.tag)?.day_of(self, child.id, file)
    }

    /// Whether a reading of this file waits to be written.
    pub(crate) fn is_waiting(&self, file: u64) -> bool {
        self.open().is_waiting(file)
    }

    /// Leaves the ledger, and makes every file count as used now.
    pub(crate) fn begin_ledger_anew(&mut self) -> Result<(), RecordError> {
        let mut root = self.root()?;
        if !root.ledger.is_none() {
            self.abandon(root.ledger.id);
            root.ledger = Child::NONE;
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

    /// Sets whether readings are recorded. With recording off, a step of removing the ledger comes first. Returns whether
    /// all steps are made.
    pub(crate) fn set_expiry_settings(
        &mut self,
        settings: ExpirySettings,
    ) -> Result<bool, RecordError> {
        let child = self.root()?.ledger;
        if !settings.is_recording() && !child.is_none() {
            match self.cut_ledger(child) {
                Ok(false) => return Ok(false),
                Ok(true) => {}
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
        Ok(true)
    }

    /// Removes some records of a ledger. Returns whether nothing is left of it.
    fn cut_ledger(&mut self, child: Child) -> Result<bool, RecordError> {
        let mut ledger = Ledger::clone(&*load_ledger(self, child.id, &child.tag)?);
        // A crash between two steps leaves a part, by which files would seem to be unused.
        self.restart_expiry()?;
        ledger.cut(self, child.id, LEAVES_CUT)?;
        if ledger.body.count() == 0 {
            self.remove(RecordId::ledger(child.id));
            return Ok(true);
        }
        self.set_ledger(child.id, ledger)?;
        Ok(false)
    }

    fn set_ledger(&mut self, object: ObjectId, ledger: Ledger) -> Result<(), RecordError> {
        let mut root = self.root()?;
        if root.ledger.id != object {
            root.ledger = Child { id: object, ..Child::NONE };
        }
        self.put(RecordId::ROOT, root.into());
        self.put(RecordId::ledger(object), ledger.into());
        Ok(())
    }
}

/// Adds waiting readings to a group that is about to be committed, as far as there is room. Returns those that can stop waiting
/// once the group is durable.
pub(crate) fn record_into(open: &Open, group: &mut Overlay) -> Result<Vec<u64>, RecordError> {
    let mut files: Vec<u64> = open.waiting.files().iter().copied().collect();
    let mut txn = Txn::new(open, group, &Author::default());
    let mut root = txn.root()?;
    if root.reads_since == 0 {
        return Ok(files);
    }
    follow_clock(&mut root);
    txn.put(RecordId::ROOT, root.clone().into());
    if !files.is_empty() {
        match txn.record_readings(&files, LEAVES_OF_COMMIT) {
            Ok(done) => files.truncate(done),
            // Damage to the ledger must not block a valid commit.
            Err(error) if error.is_unreadable() => files.clear(),
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
    let mut txn = Txn::new(open, group, &Author::default());
    txn.put(RecordId::ROOT, root.into());
    let changes = txn.into_overlay();
    group.merge(changes)?;
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

/// The readings of a ledger, in the order of their files.
///
/// # Errors
/// [`RecordError::Damaged`] also if they are out of order: then a search in the ledger would miss some.
pub(crate) fn readings(
    source: &impl NodeSource,
    child: &Child,
) -> Result<Vec<Reading>, RecordError> {
    let mut readings = Vec::new();
    if child.is_none() {
        return Ok(readings);
    }
    let ledger = load_ledger(source, child.id, &child.tag)?;
    ledger.body.visit::<RecordError>(source, child.id, 0, &mut |_, leaf: &Readings| {
        readings.extend(leaf.0.iter().copied());
        Ok(true)
    })?;
    if !readings.is_sorted_by(|left, right| left.file < right.file) {
        return Err(RecordError::Damaged { kind: Kind::LedgerLeaf, flaw: Flaw::Malformed });
    }
    Ok(readings)
}

/// The longest time between two commits that is taken for real.
const LONGEST_GAP: u64 = 30 * DAY;
/// Files whose readings wait at most; further ones are not recorded. A process that reads so many files before it changes one
/// reads everything.
const MOST_WAITING: usize = 1 << 16;
/// Leaves of the ledger that readings change in one commit: with what leads to them, at most 9 records.
const LEAVES_OF_COMMIT: usize = 2;
/// Leaves that a call of its own changes.
const LEAVES_OF_CALL: usize = 4;
/// Leaves that one step of removing a ledger removes.
const LEAVES_CUT: usize = 12;
