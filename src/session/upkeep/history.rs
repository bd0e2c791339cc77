//! The history of a store: how a change enters it, and the settings.
//!
//! A change that leaves a version behind appends an entry in the same commit. The entry takes over what the change took
//! out of use. With history off a change leaves no entry, and what it takes out of use is removed.

use inmost_format::crypto::rng;
use inmost_format::record::history::{Before, Channel, History, Operation, Retired};
use inmost_format::record::node::{Child, Entry, FileInfo, Name, Root, What};
use inmost_format::record::tree::{Place, Way};
use inmost_format::record::{
    NodeSink, NodeSource, ObjectId, RecordError, RecordId, load_folder, load_history,
};

pub(crate) use inmost_format::record::history::{OldHead, Version};

use super::reap;
use crate::session::clock::{hides_what_is_over, is_over_below, now, seen_at};
use crate::session::history_settings::HistorySettings;
use crate::session::transaction::Txn;

/// A change as it enters the history. The transaction knows the rest.
pub(crate) struct Change<'a> {
    pub(crate) operation: Operation,
    /// The canonical path after the change; for a deletion, the path before it.
    pub(crate) path: &'a str,
    /// The path before a rename; else empty.
    pub(crate) old_path: &'a str,
    /// The file after the change, or the deleted file. `None` for a folder.
    pub(crate) file: Option<FileInfo>,
    /// The number of the file's previous change, or 0.
    pub(crate) previous: u64,
    pub(crate) before: Before,
    pub(crate) retired: Vec<Retired>,
}

impl Txn<'_> {
    /// Entries of the history below this age count as absent.
    pub(crate) fn versions_from(&self) -> Result<u64, RecordError> {
        Ok(expired_before(self, &self.root()?))
    }

    /// Whether changes leave versions behind.
    pub(crate) fn keeps_versions(&self) -> Result<bool, RecordError> {
        Ok(self.root()?.keep > 0)
    }

    /// Appends an entry to the history, whose number is that of this call.
    pub(crate) fn record(&mut self, change: Change<'_>) -> Result<(), RecordError> {
        let held = held(self, &change.before, &change.retired)?;
        let channel = match (change.operation, self.caller().channel()) {
            (Operation::Imported, _) => Channel::Import,
            (Operation::Expired, _) => Channel::Expiry,
            (_, channel) => channel,
        };
        let mut version = Version::nothing(self.number()?, now());
        version.operation = change.operation;
        version.channel = channel;
        version.actor = Name::new(self.caller().actor());
        version.file = change.file.map_or(0, |info| info.number);
        version.previous = change.previous;
        version.path = Name::new(change.path);
        version.old_path = Name::new(change.old_path);
        version.bytes = change.file.map_or(0, |info| info.bytes);
        version.lines = change.file.map_or(0, |info| info.lines);
        version.before = change.before;
        version.retired = change.retired;
        version.held = held;
        self.append(version)
    }

    /// Notes that objects were forgotten, so that a repair does not bring them back.
    pub(crate) fn note_forgotten(&mut self, forgotten: Vec<ObjectId>) -> Result<(), RecordError> {
        let mut version = Version::nothing(self.number()?, now());
        version.actor = Name::new(self.caller().actor());
        version.channel = self.caller().channel();
        version.forgotten = forgotten;
        self.append(version)
    }

    /// Appends an entry. A history that cannot be read is left, and a new one begins: damage to it must not keep anyone
    /// from writing.
    fn append(&mut self, mut version: Version) -> Result<(), RecordError> {
        let Root { history: old, keep, .. } = self.root()?;
        if !old.is_none() {
            match self.append_to(old, version.clone(), keep) {
                Err(RecordError::Damaged { .. }) => self.forget_changes(old.id),
                done => return done,
            }
        }
        let object = ObjectId(rng::array().map_err(|_| RecordError::Randomness)?);
        let mut history = History::empty();
        history.lost_before = if old.is_none() { 0 } else { version.number };
        see(&mut history, &mut version, keep);
        history.append(self, object, version)?;
        self.set_history(object, history)
    }

    fn append_to(
        &mut self,
        child: Child,
        mut version: Version,
        keep: u64,
    ) -> Result<(), RecordError> {
        let mut history = History::clone(&*load_history(self, child.id, &child.tag)?);
        see(&mut history, &mut version, keep);
        history.append(self, child.id, version)?;
        self.set_history(child.id, history)
    }

    /// The history, if there is one.
    pub(crate) fn history(&self) -> Result<Option<(ObjectId, History)>, RecordError> {
        let child = self.root()?.history;
        if child.is_none() {
            return Ok(None);
        }
        let history = load_history(self, child.id, &child.tag)?;
        Ok(Some((child.id, History::clone(&history))))
    }

    /// Sets the head of the history.
    pub(crate) fn set_history(
        &mut self,
        object: ObjectId,
        mut history: History,
    ) -> Result<(), RecordError> {
        let mut root = self.root()?;
        history.commit = root.commit.saturating_add(1);
        if root.history.id != object {
            root.history = Child { id: object, ..Child::NONE };
        }
        self.put(RecordId::ROOT, root.into());
        self.put(RecordId::history(object), history.into());
        Ok(())
    }

    /// Removes a history without entries.
    pub(super) fn end_history(&mut self, object: ObjectId) -> Result<(), RecordError> {
        let mut root = self.root()?;
        root.history = Child::NONE;
        self.put(RecordId::ROOT, root.into());
        self.remove(RecordId::history(object));
        Ok(())
    }

    /// Sets how long versions are kept.
    pub(crate) fn set_history_settings(
        &mut self,
        settings: HistorySettings,
    ) -> Result<(), RecordError> {
        let mut root = self.root()?;
        if HistorySettings::of(&root) != settings {
            // A rest that could not be removed because of damage: edits in place have changed what it holds.
            if root.keep == 0 {
                root.history = Child::NONE;
            }
            settings.set(&mut root);
            self.put(RecordId::ROOT, root.into());
        }
        Ok(())
    }
}

/// Removes what an entry holds from the store: its records at once, a long file or a folder by reaping.
pub(crate) fn release(
    txn: &mut Txn<'_>,
    before: Before,
    retired: &[Retired],
) -> Result<(), RecordError> {
    match before {
        Before::Nothing | Before::Restored(_) => {}
        Before::Head(old) => {
            txn.remove(old.id());
            for record in retired {
                txn.remove(record.id(old.object));
            }
        }
        Before::Object(entry) => reap::remove(txn, *entry)?,
    }
    Ok(())
}

/// Bytes that only this entry keeps in the store, by the number of records.
fn held(
    source: &impl NodeSource,
    before: &Before,
    retired: &[Retired],
) -> Result<u64, RecordError> {
    Ok(match before {
        Before::Nothing | Before::Restored(_) => 0,
        Before::Head(old) => {
            let pieces = u64::try_from(retired.len()).unwrap_or(u64::MAX);
            old.bytes.min(pieces.saturating_add(1).saturating_mul(RECORD))
        }
        Before::Object(entry) => match entry.what {
            What::File(info) => info.bytes,
            What::Folder => load_folder(source, entry.id, &entry.tag)?.totals.bytes,
        },
    })
}

/// Lets a history see the time of a change.
fn see(history: &mut History, version: &mut Version, keep: u64) {
    history.seen = seen_at(history.seen, version.time, keep);
    version.age = history.seen.age;
    version.late = history.seen.latest.saturating_sub(version.time);
}

/// Returns the age of the history below which a text must have ended to be dropped, or to count as absent.
pub(crate) fn expired_before(source: &impl NodeSource, root: &Root) -> u64 {
    if root.keep == 0 {
        return u64::MAX;
    }
    if root.history.is_none() || !hides_what_is_over() {
        return 0;
    }
    // Without the head, nothing of the history can be read or dropped.
    load_history(source, root.history.id, &root.history.tag)
        .map_or(0, |history| is_over_below(&seen_at(history.seen, now(), root.keep), root.keep))
}

/// The number of the first entry whose time is not over; the highest one without such an entry, or if it cannot be found.
pub(crate) fn kept_from(source: &impl NodeSource, root: &Root) -> u64 {
    let (child, mut from) = (root.history, u64::MAX);
    if child.is_none() || root.keep == 0 {
        return from;
    }
    let Ok(history) = load_history(source, child.id, &child.tag) else { return from };
    let before = expired_before(source, root);
    // Damage only ends the search early.
    let _ = history.visit_places::<RecordError>(source, child.id, Way::Forward(0), &mut |place| {
        if let Place::Leaf(_, leaf) = place {
            let kept = leaf.0.iter().find(|version| version.age >= before);
            from = kept.map_or(from, |version| version.number);
        }
        Ok(from == u64::MAX)
    });
    from
}

/// An entry as the history holds it: its path says where the object was.
pub(crate) fn nameless(entry: &Entry) -> Before {
    let mut entry = entry.clone();
    entry.name = Name::new("");
    Before::Object(Box::new(entry))
}

/// Bytes of a record below a file, as counted against the room for earlier texts.
const RECORD: u64 = 4_096;
