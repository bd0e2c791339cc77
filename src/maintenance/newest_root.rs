//! The root at which a recovery begins.
//!
//! A crash may cut off a part of the last commit: its root can be there without a list or a file that it names. Then the root
//! before it has the state that was durable.

use std::collections::{HashMap, HashSet};

use super::bare_records::BareRecords;
use inmost_format::record::node::Root;
use inmost_format::record::{Node, NodeSource, ObjectId, RecordId, Tag};

impl BareRecords {
    /// The newest root. If an anchor names an earlier commit, it counts only if everything is there that its commit has added,
    /// or if the state before it is not there either.
    pub(crate) fn root(&self) -> Option<Root> {
        let mut roots = self.roots().into_iter();
        let root = roots.next()?;
        let was_durable = root.commit <= self.expected_commit();
        // Without an anchor, damage to the last commit could not be told from a crash, and must be reported.
        if was_durable || self.expected_commit() == 0 {
            return Some(root);
        }
        let before = roots.next().filter(|before| before.commit.saturating_add(1) == root.commit);
        match before {
            Some(before) if !self.has_added(&root, &before) => Some(before),
            _ => Some(root),
        }
    }

    /// Whether every record is there that a root leads to and the root before it does not. Damage to older records makes no
    /// difference.
    fn has_added(&self, root: &Root, before: &Root) -> bool {
        let mut older = Older::default();
        for (id, tag) in tops(before) {
            older.heads.insert(id.object, (id, tag));
        }
        let mut next = tops(root);
        while let Some((id, tag)) = next.pop() {
            match older.heads.remove(&id.object) {
                Some((_, same)) if same == tag => continue,
                Some((id, tag)) => older.learn(self, id, tag),
                None => {}
            }
            if !older.known.insert(tag.0) {
                continue;
            }
            match self.load(id, &tag) {
                Ok(node) => next.extend(children(&node, id)),
                // If the state before is damaged here, too, nothing says that a crash was the reason.
                Err(_) => return older.is_damaged,
            }
        }
        true
    }
}

/// What an earlier state has, as far as it is known.
#[derive(Default)]
struct Older {
    /// The tags of its records.
    known: HashSet<[u8; 16]>,
    /// The heads of the objects that are named by known ones.
    heads: HashMap<ObjectId, (RecordId, Tag)>,
    is_damaged: bool,
}

impl Older {
    /// Reads the records of one object.
    fn learn(&mut self, records: &BareRecords, head: RecordId, tag: Tag) {
        let mut next = vec![(head, tag)];
        while let Some((id, tag)) = next.pop() {
            if !self.known.insert(tag.0) {
                continue;
            }
            let Ok(node) = records.load(id, &tag) else {
                self.is_damaged = true;
                continue;
            };
            for (id, tag) in children(&node, id) {
                if id.object == head.object {
                    next.push((id, tag));
                } else {
                    self.heads.insert(id.object, (id, tag));
                }
            }
        }
    }
}

/// What a root names.
fn tops(root: &Root) -> Vec<(RecordId, Tag)> {
    let mut tops: Vec<_> =
        [root.tree, root.system].map(|it| (RecordId::folder(it.id), it.tag)).into();
    if !root.history.is_none() && root.keep > 0 {
        tops.push((RecordId::history(root.history.id), root.history.tag));
    }
    tops
}

/// What a record names, but for the texts of a history: no commit adds them together with the entries that hold them.
fn children(node: &Node, parent: RecordId) -> Vec<(RecordId, Tag)> {
    let mut children = Vec::new();
    node.children(parent.object, |id, tag| children.push((id, *tag)));
    children
}
