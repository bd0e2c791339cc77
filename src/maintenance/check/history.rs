//! The walks through the history and the ledger of readings: every record that they lead to is read once.

use std::collections::HashSet;

use super::{Check, Reference, Walked};
use crate::maintenance::check_report::BEGAN_ANEW;
use crate::session::StoreError;
use inmost_format::record::history::{Before, OldHead, Versions};
use inmost_format::record::node::{Name, Root};
use inmost_format::record::{Depth, Flaw, Node, RecordId, Tag};

impl<P: FnMut(u64)> Check<'_, P> {
    /// Reads the history and everything that it holds. Damage here leaves the files as they are.
    pub(super) fn history(&mut self, root: &Root) -> Result<(), StoreError> {
        if root.history.is_none() {
            return Ok(());
        }
        if root.keep > 0 {
            return self.versions(root);
        }
        // The rest of a history that was switched off: edits in place change what it holds, until it is removed.
        let (listed, unlisted) = (self.report.problems.len(), self.report.unlisted);
        self.versions(root)?;
        self.report.problems.truncate(listed);
        self.report.unlisted = unlisted;
        Ok(())
    }

    /// Reads the ledger of readings. Damage here leaves the files as they are.
    pub(super) fn ledger(&mut self, root: &Root) -> Result<(), StoreError> {
        if root.readings.is_none() {
            return Ok(());
        }
        let names = [Name::new(READINGS)];
        let id = RecordId::file(root.readings.id, 0);
        let Some((depth, node)) = self.load(&names, Depth::TOP, id, &root.readings.tag)? else {
            return Ok(());
        };
        self.below(&names, depth, id, node)
    }

    fn versions(&mut self, root: &Root) -> Result<(), StoreError> {
        let names = [Name::new(NAME)];
        let id = RecordId::history(root.history.id);
        let Some((depth, node)) = self.load(&names, Depth::TOP, id, &root.history.tag)? else {
            return Ok(());
        };
        if let Node::History(history) = &node
            && history.lost_before > 0
        {
            self.problem(&names, id.kind, BEGAN_ANEW);
        }
        self.below(&names, depth, id, node)
    }

    fn below(
        &mut self,
        names: &[Name],
        depth: Depth,
        id: RecordId,
        mut node: Node,
    ) -> Result<(), StoreError> {
        let mut children = Vec::new();
        node.children_mut::<StoreError>(id.object, |child, tag| {
            children.push((child, *tag));
            Ok(())
        })?;
        let mut whole = HashSet::new();
        if let Some(versions) = node.versions() {
            self.retired(names, versions);
            whole.extend(versions.0.iter().filter_map(|version| match &version.before {
                Before::Object(entry) => Some(entry.head()),
                _ => None,
            }));
        }
        for (child, tag) in children {
            // Only parts of files are shared. What an entry holds whole would go with it.
            if whole.contains(&child) && self.reached.contains_key(&self.sealer.address(child)) {
                self.problem(names, child.kind, Flaw::Repeated.describe());
            }
            if let Some((depth, node)) = self.shared(names, depth, child, &tag)? {
                self.below(names, depth, child, node)?;
            }
        }
        Ok(())
    }

    /// Reports entries that retired records which the tree has. Those would go with the entry.
    fn retired(&mut self, names: &[Name], versions: &Versions) {
        for version in &versions.0 {
            let Before::Head(OldHead { object, .. }) = version.before else { continue };
            let repeated = version.retired.iter().map(|record| record.id(object)).find(|id| {
                let reached = self.reached.get(&self.sealer.address(*id));
                reached.is_some_and(|reached| reached.is_in_tree)
            });
            if let Some(id) = repeated {
                self.problem(names, id.kind, Flaw::Repeated.describe());
            }
        }
    }

    /// Reads a record unless the walk has read it. Then its tag must be the same.
    fn shared(
        &mut self,
        names: &[Name],
        depth: Depth,
        id: RecordId,
        tag: &Tag,
    ) -> Result<Walked<(Depth, Node)>, StoreError> {
        match self.reached.get(&self.sealer.address(id)) {
            None => self.load(names, depth, id, tag),
            Some(reached) => {
                if reached.tag != Reference::new(tag, false).tag {
                    self.problem(names, id.kind, Flaw::Stale.describe());
                }
                Ok(None)
            }
        }
    }
}

/// How reports name the ledger of readings.
const READINGS: &str = "(readings)";
/// How reports name the history.
const NAME: &str = "(history)";
