//! Where a recovery puts what it finds.

use crate::maintenance::bare_records::BareRecords;
use crate::session::StoreError;
use inmost_format::record::node::{Entry, File, Name, Totals};
use inmost_format::record::{ObjectId, RecordId, Tag};

/// Takes what a recovery finds, in the order of the tree: a folder after everything in it.
pub(in crate::maintenance) trait Target {
    type Error: From<StoreError>;
    /// Whether the history is to be recovered too.
    const KEEPS_HISTORY: bool = false;

    /// A file whose text can be read completely. Returns the tag under which it is kept.
    fn file(&mut self, found: &FoundFile<'_>) -> Result<Tag, Self::Error>;

    /// A folder with these entries, in the order of their names.
    fn folder(
        &mut self,
        object: ObjectId,
        entries: Vec<Entry>,
        totals: Totals,
    ) -> Result<Tag, Self::Error>;
}

/// A file that was found.
pub(in crate::maintenance) struct FoundFile<'f> {
    pub(in crate::maintenance) records: &'f BareRecords,
    /// The names on the way to it.
    pub(in crate::maintenance) names: &'f [Name],
    pub(in crate::maintenance) head_id: RecordId,
    /// The object as which it is kept. An earlier version becomes another one: the history may hold the head of that version,
    /// and removes it when its time is over.
    pub(in crate::maintenance) kept_as: ObjectId,
    /// The tag of its head.
    pub(in crate::maintenance) tag: Tag,
    pub(in crate::maintenance) head: &'f File,
}
