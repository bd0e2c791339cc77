//! How old an earlier text of a file is, and how many newer ones there were, by the entries of the history.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::maintenance::bare_records::BareRecords;
use inmost_format::record::history::Before;
use inmost_format::record::node::{Root, What};
use inmost_format::record::{RecordId, Tag};

/// The changes of a history by their numbers, read when they are first needed.
#[derive(Default)]
pub(super) struct Changes(OnceCell<HashMap<u64, Change>>);

struct Change {
    previous: u64,
    time: u64,
    /// The head of the text that it replaced.
    replaced: Option<(RecordId, Tag)>,
}

/// What is known of an earlier text. Nothing is, unless every change since then has an entry that can be read.
#[derive(Clone, Copy, Default)]
pub(super) struct Age {
    pub(super) written: Option<SystemTime>,
    pub(super) newer: Option<u64>,
}

impl Changes {
    /// The age of the text with this head, of a file whose last change has this number.
    pub(super) fn age(
        &self,
        records: &BareRecords,
        root: Option<&Root>,
        last: u64,
        head: &Tag,
    ) -> Age {
        let changes = self.0.get_or_init(|| read(records, root));
        let (mut number, mut newer) = (last, 0_u64);
        while let Some(change) = changes.get(&number) {
            newer = newer.saturating_add(change.replaced.is_some().into());
            if change.replaced.is_some_and(|(_, tag)| tag == *head) {
                let written = changes
                    .get(&change.previous)
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

    /// The head of the text that the change with this number replaced. A file that is written as a whole begins as a new object.
    pub(super) fn replaced(
        &self,
        records: &BareRecords,
        root: Option<&Root>,
        number: u64,
    ) -> Option<(RecordId, Tag)> {
        self.0.get_or_init(|| read(records, root)).get(&number)?.replaced
    }
}

fn read(records: &BareRecords, root: Option<&Root>) -> HashMap<u64, Change> {
    let history = root.map(|root| root.history).filter(|history| !history.is_none());
    let entries = history.map(|history| records.history(&history)).unwrap_or_default();
    let changes = entries.into_iter().map(|entry| {
        let replaced = match &entry.before {
            Before::Head(head) => Some((head.id(), head.tag)),
            Before::Object(old) if old.what != What::Folder => Some((old.head(), old.tag)),
            _ => None,
        };
        (entry.number, Change { previous: entry.previous, time: entry.time, replaced })
    });
    changes.collect()
}
