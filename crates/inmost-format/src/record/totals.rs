//! The totals that a folder keeps of everything below it.
//!
//! Each entry contributes totals of its own. When an entry changes, its old contribution is subtracted and the new
//! one is added. Stored totals depend on "visible", so it is defined here.

use super::node::{Entry, Name, Totals, What};
use super::{NodeSource, RecordError, load_folder};

/// Whether listings leave out this name. It can still be viewed directly.
pub fn is_hidden(name: &str) -> bool {
    name.starts_with('.') || name == "node_modules"
}

impl Totals {
    /// The contribution of an entry to the totals of its folder.
    pub fn of_entry(source: &impl NodeSource, entry: &Entry) -> Result<Self, RecordError> {
        match entry.what {
            What::File(info) => Ok(Self::of_file(&entry.name, info.bytes)),
            What::Folder => {
                let head = load_folder(source, entry.id, &entry.tag)?;
                Ok(Self::of_folder(&entry.name, &head.totals))
            }
        }
    }

    /// The contribution of a file of this name and size.
    pub fn of_file(name: &Name, bytes: u64) -> Self {
        let (visible, visible_bytes) = if is_hidden(name.as_str()) { (0, 0) } else { (1, bytes) };
        Self { visible_children: visible, visible_grandchildren: 0, visible_bytes, files: 1, bytes }
    }

    /// The contribution of a folder of this name with the totals `below`.
    pub fn of_folder(name: &Name, below: &Self) -> Self {
        let Self { visible_children, visible_bytes, files, bytes, .. } = *below;
        if is_hidden(name.as_str()) {
            return Self { files, bytes, ..Self::default() };
        }
        Self {
            visible_children: 1,
            visible_grandchildren: visible_children,
            visible_bytes,
            files,
            bytes,
        }
    }

    /// These totals with another contribution added.
    pub fn plus(&self, other: &Self) -> Self {
        self.each(other, u64::saturating_add)
    }

    /// These totals with a contribution subtracted.
    pub fn minus(&self, other: &Self) -> Self {
        self.each(other, u64::saturating_sub)
    }

    fn each(&self, other: &Self, operation: impl Fn(u64, u64) -> u64) -> Self {
        Self {
            visible_children: operation(self.visible_children, other.visible_children),
            visible_grandchildren: operation(
                self.visible_grandchildren,
                other.visible_grandchildren,
            ),
            visible_bytes: operation(self.visible_bytes, other.visible_bytes),
            files: operation(self.files, other.files),
            bytes: operation(self.bytes, other.bytes),
        }
    }
}
