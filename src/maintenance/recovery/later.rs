//! What other states of a history say about the entries of the one that a repair keeps.
//!
//! If the newest root is lost, the repair begins at an older one, whose history still has what was redacted or forgotten since. Its
//! entries stay with the tree that they belong to, but none keeps what a later state has taken away. Only that is taken from
//! the later state: an entry for a change that the tree does not have would give its files another past.

use std::collections::HashMap;

use crate::maintenance::bare_records::BareRecords;
use inmost_format::record::history::{Before, Version};
use inmost_format::record::node::Child;
use inmost_format::record::{Kind, Node};

/// The states of a history that are, or may be, later than the one that is kept. Of an earlier one nothing is taken: what it lacks,
/// the kept one lacks too.
pub(super) struct Later(Vec<State>);

struct State {
    /// The number of its last entry.
    last: u64,
    /// Whether all of its entries can be read.
    is_whole: bool,
    entries: HashMap<u64, Version>,
}

/// What the later states say about an entry.
pub(super) enum Verdict {
    /// Nothing was taken away.
    Kept,
    /// The entry is gone.
    Gone,
    /// The text that it holds is gone.
    WithoutText,
}

impl Later {
    /// Reads the other heads of this history that are left.
    pub(super) fn find(records: &BareRecords, named: &Child) -> Self {
        // The newest comes first, where the files say so.
        let heads = records.versions(Kind::History, named.id, Some(named.tag));
        let Some(own) = heads.iter().position(|head| head.tag == named.tag) else {
            return Self(Vec::new());
        };
        let last = heads.get(own).map_or(0, |own| last_of(&own.node));
        let mut states = Vec::new();
        for (place, head) in heads.iter().enumerate() {
            let Node::History(history) = &head.node else { continue };
            if place == own || !(place < own || last_of(&head.node) >= last) {
                continue;
            }
            let entries = records.history(&Child { id: named.id, tag: head.tag });
            let is_whole = u64::try_from(entries.len()).ok() == Some(history.count());
            let last = entries.last().map_or(0, |entry| entry.number);
            let entries = entries.into_iter().map(|entry| (entry.number, entry)).collect();
            states.push(State { last, is_whole, entries });
        }
        Self(states)
    }

    /// What became of an entry. Takes over that it was redacted.
    pub(super) fn judge(&self, entry: &mut Version) -> Verdict {
        let mut verdict = Verdict::Kept;
        for state in &self.0 {
            match state.entries.get(&entry.number) {
                Some(later) => {
                    if later.redacted > 0 && entry.redacted == 0 {
                        entry.redacted = later.redacted;
                        entry.path = later.path.clone();
                        entry.old_path = later.old_path.clone();
                        (entry.bytes, entry.lines) = (later.bytes, later.lines);
                    }
                    if !has_same_text(entry, later) {
                        verdict = Verdict::WithoutText;
                    }
                }
                None if state.is_whole && entry.number <= state.last => return Verdict::Gone,
                None => {}
            }
        }
        verdict
    }
}

/// The number of the newest entry in a head, or 0.
fn last_of(node: &Node) -> u64 {
    let Node::History(history) = node else { return 0 };
    history.newest.0.last().map_or(0, |entry| entry.number)
}

/// Whether another state of an entry still has the text that it holds. What a later change brought back is in no tree that is
/// older than this change.
fn has_same_text(entry: &Version, other: &Version) -> bool {
    match (&entry.before, &other.before) {
        (Before::Nothing | Before::Rest(_) | Before::Restored(_), _) | (_, Before::Restored(_)) => {
            true
        }
        (Before::Head(one), Before::Head(two)) => one.tag == two.tag,
        // The later state of a folder, and of a file that is removed in steps, has less.
        (Before::Object(one), Before::Object(two)) => one.tag == two.tag || other.held > entry.held,
        // An entry took over the file in one of the states.
        (Before::Head(old), Before::Object(whole)) | (Before::Object(whole), Before::Head(old)) => {
            whole.tag == old.tag
        }
        (Before::Head(_) | Before::Object(_), Before::Nothing | Before::Rest(_)) => false,
    }
}
