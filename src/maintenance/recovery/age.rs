//! The earlier texts of a file, by the entries of the history: how old each is, and how many newer ones there were.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::later::{Later, Verdict};
use crate::maintenance::bare_records::BareRecords;
use inmost_format::record::history::Before;
use inmost_format::record::node::{FileInfo, Root, What};
use inmost_format::record::{RecordId, Tag};

/// The changes of a history by the numbers of their file and their own, read when they are first needed.
pub(super) struct Changes<'a> {
    records: &'a BareRecords,
    root: Option<&'a Root>,
    later: &'a Later,
    read: OnceCell<BTreeMap<(u64, u64), Change>>,
}

struct Change {
    previous: u64,
    time: u64,
    /// The head of the text that it replaced, unless that was taken away since.
    replaced: Option<(RecordId, Tag)>,
}

/// An earlier text of a file.
pub(super) struct Earlier {
    pub(super) id: RecordId,
    pub(super) tag: Tag,
    /// The time and the number of the change that ended it.
    pub(super) ended: (u64, u64),
}

/// What is known of an earlier text. Nothing is, unless every change since then has an entry that can be read.
#[derive(Clone, Copy, Default)]
pub(super) struct Age {
    pub(super) written: Option<SystemTime>,
    pub(super) newer: Option<u64>,
}

impl<'a> Changes<'a> {
    pub(super) fn new(records: &'a BareRecords, root: Option<&'a Root>, later: &'a Later) -> Self {
        Self { records, root, later, read: OnceCell::new() }
    }

    /// The age of the text of a file with this head.
    pub(super) fn age(&self, info: &FileInfo, head: &Tag) -> Age {
        let changes = self.all();
        let (mut number, mut newer) = (info.version, 0_u64);
        while let Some(change) = changes.get(&(info.number, number)) {
            newer = newer.saturating_add(change.replaced.is_some().into());
            if change.replaced.is_some_and(|(_, tag)| tag == *head) {
                let written = changes
                    .get(&(info.number, change.previous))
                    .and_then(|made| UNIX_EPOCH.checked_add(Duration::from_millis(made.time)));
                return Age { written, newer: Some(newer) };
            }
            // A crafted history must not lead in a circle.
            if change.previous >= number {
                break;
            }
            number = change.previous;
        }
        Age::default()
    }

    /// The texts of a file before its last change, the newest first. Where entries between them are lost, the search goes on.
    pub(super) fn earlier(&self, info: &FileInfo) -> impl Iterator<Item = Earlier> {
        let changes = self.all().range((info.number, 0)..=(info.number, info.version));
        changes.rev().filter_map(|((_, number), change)| {
            let (id, tag) = change.replaced?;
            Some(Earlier { id, tag, ended: (change.time, *number) })
        })
    }

    fn all(&self) -> &BTreeMap<(u64, u64), Change> {
        self.read.get_or_init(|| {
            let history = self.root.map(|root| root.history).filter(|history| !history.is_none());
            let entries = history.map(|history| self.records.history(&history));
            let changes = entries.unwrap_or_default().into_iter().map(|mut entry| {
                let is_kept = matches!(self.later.judge(&mut entry), Verdict::Kept);
                let replaced = match &entry.before {
                    Before::Head(head) => Some((head.id(), head.tag)),
                    Before::Object(old) if old.what != What::Folder => Some((old.head(), old.tag)),
                    _ => None,
                };
                let is_kept =
                    |(id, _): &(RecordId, Tag)| is_kept && !self.later.has_forgotten(id.object);
                let (previous, time) = (entry.previous, entry.time);
                let change = Change { previous, time, replaced: replaced.filter(is_kept) };
                ((entry.file, entry.number), change)
            });
            changes.collect()
        })
    }
}
