//! Tells whole texts from the steps in which a long text was written.
//!
//! A long text is written in steps, under an entry of the system folder that has the size of the whole text, and its head
//! is sealed with each step. Only then does a list of names have the file. So an older head that no list has ever named may
//! be a step: a text that never was.

use std::collections::{HashMap, HashSet};

use super::Reference;
use crate::maintenance::bare_records::{BareRecords, Version};
use inmost_format::record::node::{File, What};
use inmost_format::record::tree::Body;
use inmost_format::record::{Node, ObjectId, Tag};

/// What the lists of all versions say about the heads of files.
pub(super) struct Listings {
    /// The tags of the heads that lists of names have.
    named: HashSet<[u8; 16]>,
    /// The sizes of the whole texts that were written in steps.
    staged: HashMap<ObjectId, u64>,
}

impl Listings {
    pub(super) fn of(records: &BareRecords) -> Self {
        let mut listings = Self { named: HashSet::new(), staged: HashMap::new() };
        for Version { id, node, .. } in records.lists() {
            for entry in node.entries() {
                match entry.what {
                    What::File(info) if id.object == ObjectId::SYSTEM => {
                        let bytes = listings.staged.entry(entry.id).or_default();
                        *bytes = info.bytes.max(*bytes);
                    }
                    What::File(_) => drop(listings.named.insert(entry.tag.0)),
                    What::Folder => {}
                }
            }
        }
        listings
    }

    /// Whether this version of a file is a whole text, and no step. `versions` are all versions of the file.
    pub(super) fn is_whole(
        &self,
        version: &Version,
        versions: &[Version],
        reference: Reference,
    ) -> bool {
        let Some(head) = head_of(version) else { return false };
        // A step is longer than any text in one record.
        if matches!(head.body, Body::Inline(_)) || self.has(&version.tag) {
            return true;
        }
        let is_before = |other: &Version| {
            head_of(other).is_some_and(|other_head| {
                // Numbers of records grow with each step.
                let is_older = other.written < version.written && other.written.0 > 0;
                let (earlier, later) = (other_head.next_index, head.next_index);
                earlier < later || earlier == later && is_older
            })
        };
        if versions.iter().any(|other| self.has(&other.tag) && is_before(other)) {
            return true;
        }
        match self.staged.get(&version.id.object) {
            Some(bytes) => head.body.count().bytes >= *bytes,
            // No list of any version has a file whose name was lost.
            None => matches!(reference, Reference::Unnamed(_)),
        }
    }

    fn has(&self, tag: &Tag) -> bool {
        self.named.contains(&tag.0)
    }
}

fn head_of(version: &Version) -> Option<&File> {
    match &version.node {
        Node::File(head) => Some(head),
        _ => None,
    }
}
