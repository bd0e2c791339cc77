//! What later states of a history say about the one that a repair keeps.
//!
//! If the newest root is lost, the repair begins at an older one, whose history still has what was forgotten since. Its
//! entries stay with the tree that they belong to, but none keeps what the latest state has taken away. Only that is taken from
//! the latest state: an entry for a change that the tree does not have would give its files another past.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use crate::maintenance::bare_records::BareRecords;
use inmost_format::record::history::{Before, Version, Versions};
use inmost_format::record::node::Root;
use inmost_format::record::{ObjectId, RecordError};

/// The latest state of a history, if it is later than the root.
#[derive(Default)]
pub(in crate::maintenance) struct Later {
    /// Whether there is one.
    is_there: bool,
    entries: HashMap<u64, Left>,
    /// The numbers of entries that cannot be read.
    unknown: Vec<Range<u64>>,
    /// Objects that were forgotten, also those that the history of the root names.
    forgotten: HashSet<ObjectId>,
}

/// What is left of an entry.
struct Left {
    before: Before,
    held: u64,
}

/// What the later state says about an entry.
pub(super) enum Verdict {
    /// Nothing was taken away, or only a part of a folder.
    Kept,
    /// The entry is gone.
    Gone,
    /// The text that it holds is gone, or may be.
    WithoutText,
}

impl Later {
    /// Reads the latest head of a history that is left, of whatever object: if the history was switched off and on again, or began
    /// anew after damage, nothing of an earlier one is kept.
    pub(in crate::maintenance) fn find(records: &BareRecords, root: Option<&Root>) -> Self {
        let mut later = Self::default();
        let Some(root) = root else { return later };
        for version in records.history(&root.history) {
            later.forgotten.extend(version.forgotten.iter().copied());
        }
        let latest = records.latest_history().filter(|(_, head)| head.commit > root.commit);
        if let Some((object, latest)) = latest {
            later.is_there = true;
            // The visitor never fails.
            let _ = records.visit_history::<RecordError>(object, &latest, &mut |part| {
                match part {
                    Ok(versions) => later.add(versions),
                    Err((numbers, _)) => later.unknown.push(numbers),
                }
                Ok(())
            });
        }
        later
    }

    /// Whether there is a later state.
    pub(super) fn is_there(&self) -> bool {
        self.is_there
    }

    /// The objects that were forgotten.
    pub(super) fn forgotten(&self) -> impl Iterator<Item = ObjectId> {
        self.forgotten.iter().copied()
    }

    /// Whether an object was forgotten.
    pub(super) fn has_forgotten(&self, object: ObjectId) -> bool {
        self.forgotten.contains(&object)
    }

    /// Whether the folder that this entry holds came back later.
    pub(super) fn has_restored(&self, number: u64) -> bool {
        self.entries.get(&number).is_some_and(|left| matches!(left.before, Before::Restored(_)))
    }

    fn add(&mut self, versions: &Versions) {
        for version in &versions.0 {
            let left = Left { before: version.before.clone(), held: version.held };
            self.entries.insert(version.number, left);
            self.forgotten.extend(version.forgotten.iter().copied());
        }
    }

    /// What became of an entry. Takes over what is left of a folder.
    pub(super) fn judge(&self, entry: &mut Version) -> Verdict {
        if !self.is_there {
            return Verdict::Kept;
        }
        let Some(left) = self.entries.get(&entry.number) else {
            // Where it cannot be read what became of a text, it may have been forgotten.
            let is_unknown = self.unknown.iter().any(|lost| lost.contains(&entry.number));
            return if is_unknown { Verdict::WithoutText } else { Verdict::Gone };
        };
        match (&entry.before, &left.before) {
            (Before::Object(one), Before::Object(two)) if one.id == two.id => {
                (entry.before, entry.held) = (left.before.clone(), left.held);
                Verdict::Kept
            }
            (one, two) if has_same_text(one, two) => Verdict::Kept,
            _ => Verdict::WithoutText,
        }
    }
}

/// Whether a later state of an entry still has the text that it holds. What a later change brought back is in no tree that is
/// older than this change.
fn has_same_text(before: &Before, later: &Before) -> bool {
    match (before, later) {
        (Before::Nothing | Before::Restored(_), _) | (_, Before::Restored(_)) => true,
        (Before::Head(one), Before::Head(two)) => one.tag == two.tag,
        (Before::Head(_) | Before::Object(_), _) => false,
    }
}
