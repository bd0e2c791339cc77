//! The changes that the engine does not have yet, and how they are read together with it.

use std::ops::Bound;
use std::sync::Arc;

use super::MARK;
use super::layout::{Change, Layer, Position};
use inmost_storage::{Address, StorageError};

/// Changes in three layers, the newest first.
#[derive(Default)]
pub(super) struct Layers {
    /// Applied, but in no entry yet.
    pub(super) pending: Layer,
    /// In the half that commits are appended to.
    pub(super) active: Changes,
    /// In the other half, until the engine has them, durably.
    pub(super) frozen: Option<Arc<Frozen>>,
}

/// The changes of an epoch.
#[derive(Default)]
pub(super) struct Changes {
    pub(super) changes: Layer,
    /// The address of the root record, if a commit has named it.
    pub(super) root: Option<Address>,
}

impl std::ops::Deref for Changes {
    type Target = Layer;

    fn deref(&self) -> &Layer {
        &self.changes
    }
}

/// An epoch that is being written to the engine.
pub(super) struct Frozen {
    pub(super) changes: Changes,
    /// Its epoch and last entry.
    pub(super) position: Position,
}

impl Layers {
    /// The newest change of an address; `None` if the engine has its value.
    pub(super) fn find(&self, address: &Address) -> Option<Change> {
        let frozen = || self.frozen.as_ref().and_then(|frozen| frozen.changes.get(address));
        let newer = self.pending.get(address).or_else(|| self.active.get(address));
        newer.or_else(frozen).cloned()
    }

    /// All changes behind an address, the newest of each.
    pub(super) fn merged(&self, after: Option<&Address>) -> Layer {
        let from = (after.map_or(Bound::Unbounded, Bound::Excluded), Bound::Unbounded);
        let frozen = self.frozen.as_ref().map(|frozen| &frozen.changes.changes);
        let mut merged = Layer::new();
        for layer in frozen.into_iter().chain([&self.active.changes, &self.pending]) {
            merged
                .extend(layer.range::<Address, _>(from).map(|(key, value)| (*key, value.clone())));
        }
        merged
    }

    /// The pending changes are in an entry now.
    pub(super) fn commit(&mut self, root: Option<Address>) {
        self.active.changes.extend(std::mem::take(&mut self.pending));
        self.active.root = root.or(self.active.root);
    }

    /// Hands the active changes over to a checkpoint. There must be no frozen ones.
    pub(super) fn freeze(&mut self, position: Position) {
        let changes = std::mem::take(&mut self.active);
        self.frozen = Some(Arc::new(Frozen { changes, position }));
    }
}

/// Merges changes with the pages of an engine, until there are `limit` records or the engine has no more.
pub(super) fn merge(
    overlay: Layer,
    after: Option<&Address>,
    limit: usize,
    mut scan: impl FnMut(Option<&Address>, usize) -> Result<Page, StorageError>,
) -> Result<Page, StorageError> {
    let mut merged = Merged { overlay, page: Page::new(), limit };
    let mut after = after.copied();
    // A page whose records were all removed is not the end. Only a short page of the engine is.
    while !merged.is_full() {
        let page = scan(after.as_ref(), limit)?;
        let is_last = page.len() < limit;
        after = page.last().map(|(address, _)| *address).or(after);
        for (address, value) in page {
            merged.push(address, value);
        }
        if is_last {
            merged.finish();
            break;
        }
    }
    Ok(merged.page)
}

type Page = Vec<(Address, Vec<u8>)>;

struct Merged {
    /// Changes that are not in the page yet.
    overlay: Layer,
    page: Page,
    limit: usize,
}

impl Merged {
    fn is_full(&self) -> bool {
        self.page.len() >= self.limit
    }

    /// Adds the next record of the engine, after the new records before it.
    fn push(&mut self, address: Address, value: Vec<u8>) {
        while let Some(entry) = self.overlay.first_entry()
            && *entry.key() <= address
        {
            let (changed, change) = entry.remove_entry();
            self.add(changed, change);
            if changed == address {
                return;
            }
        }
        if address != MARK {
            self.add(address, Some(value));
        }
    }

    /// Adds the changes behind the engine's last record.
    fn finish(&mut self) {
        for (address, change) in std::mem::take(&mut self.overlay) {
            self.add(address, change);
        }
    }

    fn add(&mut self, address: Address, change: Change) {
        if let Some(value) = change
            && !self.is_full()
        {
            self.page.push((address, value));
        }
    }
}
