//! The entries of a folder as a counted tree ordered by name.
//!
//! Entries are inline in the head while they fit, else in leaves. A leaf that outgrows its record is split, and one that
//! shrinks too much is joined with its neighbour. The caller keeps totals and defines the meaning of names.

use super::layout::NODE_BYTES;
use super::node::{Entries, Entry, EntryRange};
use super::tree::{Body, Owner, Ref, by_position, divide};
use super::{NodeSink, NodeSource, ObjectId, RecordError, codec};

impl Body<Entries> {
    /// The entry of this name.
    pub fn entry(
        &self,
        source: &impl NodeSource,
        object: ObjectId,
        name: &str,
    ) -> Result<Option<Entry>, RecordError> {
        let (_, leaf) = self.find(source, object, by_name(name))?;
        Ok(leaf.position(name).ok().and_then(|slot| leaf.0.get(slot)).cloned())
    }

    /// The first entry.
    pub fn first_entry(
        &self,
        source: &impl NodeSource,
        object: ObjectId,
    ) -> Result<Option<Entry>, RecordError> {
        let (_, leaf) = self.find(source, object, |_, _| 0)?;
        Ok(leaf.0.first().cloned())
    }

    /// The last entry.
    pub fn last_entry(
        &self,
        source: &impl NodeSource,
        object: ObjectId,
    ) -> Result<Option<Entry>, RecordError> {
        let (_, leaf) = self.find(source, object, |_, refs| refs.len())?;
        Ok(leaf.0.last().cloned())
    }

    /// The number of entries with a name before this one.
    pub fn position_of(
        &self,
        source: &impl NodeSource,
        object: ObjectId,
        name: &str,
    ) -> Result<u64, RecordError> {
        let (before, leaf) = self.find(source, object, by_name(name))?;
        let (Ok(inside) | Err(inside)) = leaf.position(name);
        Ok(before.saturating_add(u64::try_from(inside).unwrap_or(u64::MAX)))
    }

    /// Adds an entry, or replaces the one of its name.
    pub fn put_entry(
        &mut self,
        owner: &mut Owner<'_, impl NodeSink>,
        entry: Entry,
    ) -> Result<(), RecordError> {
        let name = entry.name.clone();
        self.edit_leaf(owner, name.as_str(), |leaf| match leaf.position(entry.name.as_str()) {
            Ok(slot) => leaf.0.splice(slot..=slot, [entry]).for_each(drop),
            Err(slot) => leaf.0.insert(slot, entry),
        })
    }

    /// Removes the entry of this name, if there is one.
    pub fn remove_entry(
        &mut self,
        owner: &mut Owner<'_, impl NodeSink>,
        name: &str,
    ) -> Result<(), RecordError> {
        self.edit_leaf(owner, name, |leaf| {
            if let Ok(slot) = leaf.position(name) {
                leaf.0.remove(slot);
            }
        })
    }

    /// A body of these entries, which are in order.
    pub fn of_entries(
        owner: &mut Owner<'_, impl NodeSink>,
        entries: Vec<Entry>,
    ) -> Result<Self, RecordError> {
        let entries = Entries(entries);
        if size_of(&entries)? <= INLINE {
            return Ok(Self::Inline(entries));
        }
        Self::build(owner, split(entries)?)
    }

    /// Changes the leaf where `name` is or belongs, and rebalances the tree around it.
    fn edit_leaf(
        &mut self,
        owner: &mut Owner<'_, impl NodeSink>,
        name: &str,
        edit: impl FnOnce(&mut Entries),
    ) -> Result<(), RecordError> {
        if let Self::Inline(entries) = self {
            edit(entries);
            if size_of(entries)? > INLINE {
                let entries = std::mem::take(entries);
                *self = Self::build(owner, split(entries)?)?;
            }
            return Ok(());
        }
        let total = self.count();
        let (mut start, leaf) = self.find(owner.sink, owner.object, by_name(name))?;
        let mut end = start.saturating_add(len(&leaf));
        let mut entries = Entries::clone(&leaf);
        drop(leaf);
        edit(&mut entries);
        if size_of(&entries)? < LEAF / 4 {
            if end < total {
                let (_, right) = self.find(owner.sink, owner.object, by_position(end))?;
                end = end.saturating_add(len(&right));
                entries.0.extend(right.0.iter().cloned());
            } else if let Some(last) = start.checked_sub(1) {
                let (before, left) = self.find(owner.sink, owner.object, by_position(last))?;
                start = before;
                entries.0.splice(0..0, left.0.iter().cloned());
            }
        }
        self.replace(owner, start..end, split(entries)?)?;
        self.inline_again(owner)
    }

    /// Moves the last remaining leaf back into the head once it fills half of what fits there; the slack
    /// prevents a folder near the threshold from changing its form with every call.
    fn inline_again(&mut self, owner: &mut Owner<'_, impl NodeSink>) -> Result<(), RecordError> {
        let Some(leaf) = self.only_leaf(owner.sink, owner.object)? else { return Ok(()) };
        if size_of(&leaf)? > INLINE / 2 {
            return Ok(());
        }
        self.replace(owner, 0..self.count(), Vec::new())?;
        *self = Self::Inline(Entries::clone(&leaf));
        Ok(())
    }
}

impl Entries {
    /// The index of a name; as an error, the index at which it would be inserted.
    fn position(&self, name: &str) -> Result<usize, usize> {
        self.0.binary_search_by(|entry| entry.name.as_str().cmp(name))
    }
}

/// Leads to the leaf where a name is or belongs.
fn by_name(name: &str) -> impl Fn(u64, &[Ref<EntryRange>]) -> usize {
    move |_, refs| {
        refs.partition_point(|child| child.summary().first.as_str() <= name).saturating_sub(1)
    }
}

fn split(entries: Entries) -> Result<Vec<Entries>, RecordError> {
    Ok(divide(entries.0, entry_size, LEAF)?.into_iter().map(Entries).collect())
}

fn len(entries: &Entries) -> u64 {
    u64::try_from(entries.0.len()).unwrap_or(u64::MAX)
}

fn size_of(entries: &Entries) -> Result<usize, RecordError> {
    entries.0.iter().map(entry_size).sum()
}

fn entry_size(entry: &Entry) -> Result<usize, RecordError> {
    codec::direct_len(entry).map_err(|_| RecordError::TooLarge)
}

/// Bytes of entries in a leaf: a node's body less the length.
const LEAF: usize = NODE_BYTES - 3;
/// Bytes of entries in a folder's head: less the head's own fields, of which there are 52 bytes.
const INLINE: usize = NODE_BYTES - 64;

#[cfg(test)]
mod tests;
