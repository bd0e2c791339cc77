//! The whole text of one file, and how it is written.

use inmost_format::record::history::Operation;
use inmost_format::record::node::{Entry, FileInfo};
use inmost_format::record::tree::Owner;
use inmost_format::record::{NodeSink, ObjectId, RecordId, Tag, rope};

use super::change::{self, check_quotas, info_of, length, set_entry, target};
use super::conditional::Expected;
use super::error::FileError;
use super::file::FileView;
use super::folder::{self, ResolvedPath};
use super::path::MemoryPath;
use crate::session::{Txn, now};

/// A whole text to write at a path.
#[derive(Clone, Copy)]
pub(super) struct NewText<'a> {
    pub(super) path: &'a MemoryPath,
    pub(super) text: &'a str,
    pub(super) existing: Existing,
    pub(super) expected: Expected,
    /// In milliseconds since 1970. `None` for that of the replaced file or, without one, the time of the change.
    pub(super) created: Option<u64>,
    /// In milliseconds since 1970. `None` for the current time.
    pub(super) modified: Option<u64>,
}

/// What happens to a file that is at the path already. A folder there is always an error.
#[derive(Clone, Copy)]
pub(super) enum Existing {
    /// It is an error.
    Refuse,
    /// It is replaced.
    Replace,
    /// It is left alone if it has the same text. Another text is replaced, or is an error.
    Compare {
        /// Whether another text is replaced.
        replace: bool,
    },
}

/// The place of a file: the folders on its path, and the file that it replaces.
pub(super) type Place = (ResolvedPath, Option<(Entry, FileInfo)>);

impl<'a> NewText<'a> {
    /// A text that gets the current time.
    pub(super) fn new(path: &'a MemoryPath, text: &'a str, existing: Existing) -> Self {
        Self { path, text, existing, expected: Expected::Anything, created: None, modified: None }
    }

    /// Writes the text in one step, which must not be too long for it. Returns the number of the change; `None` if
    /// nothing changed.
    ///
    /// # Errors
    /// Those of [`place`](Self::place).
    pub(super) fn write(&self, txn: &mut Txn<'_>) -> Result<Option<u64>, FileError> {
        let Some((resolved, before)) = self.place(txn)? else { return Ok(None) };
        let id = write_records(txn, self.text)?;
        let info = self.info(before.as_ref());
        self.put(txn, &resolved, (id, Tag::default()), info, before).map(Some)
    }

    /// Puts the file with its records at its [`place`](Self::place). Returns the number of the change.
    pub(super) fn put(
        &self,
        txn: &mut Txn<'_>,
        resolved: &ResolvedPath,
        object: (ObjectId, Tag),
        info: FileInfo,
        before: Option<(Entry, FileInfo)>,
    ) -> Result<u64, FileError> {
        let file = before.as_ref().map(|(_, before)| before.number);
        // What the history says about writing it.
        let operation = match self.existing {
            Existing::Compare { .. } => Operation::Imported,
            _ if before.is_some() => Operation::Modified,
            _ => Operation::Created,
        };
        set_entry(txn, (self.path, resolved), object, info, before, operation)?;
        if self.modified.is_some() {
            // It is used now, although its time is earlier.
            let file = file.map_or_else(|| txn.number(), Ok)?;
            txn.record_use(&[file])?;
        }
        Ok(txn.number()?)
    }

    /// Checks that the text may be written, and returns its place. `None` if the text is there already.
    ///
    /// # Errors
    /// [`FileError::AlreadyExists`]; [`FileError::NotAFolder`]; a quota.
    pub(super) fn place(&self, txn: &Txn<'_>) -> Result<Option<Place>, FileError> {
        let may_exist = !matches!(self.existing, Existing::Refuse);
        if self.expected != Expected::Anything {
            let at_path = ResolvedPath::new(txn, &txn.root()?, self.path)?;
            self.expected.check(&at_path.target)?;
        }
        let (resolved, before) = target(txn, self.path, may_exist)?;
        if let (Some((entry, _)), Existing::Compare { replace }) = (&before, self.existing) {
            if FileView::of_entry(txn, entry.clone())?.is(self.text)? {
                return Ok(None);
            }
            if !replace {
                return Err(FileError::AlreadyExists);
            }
        }
        check_quotas(txn, &resolved, before.as_ref().map(|(_, info)| info), length(self.text))?;
        Ok(Some((resolved, before)))
    }

    /// The sizes and times for the folder's entry.
    pub(super) fn info(&self, before: Option<&(Entry, FileInfo)>) -> FileInfo {
        let modified = self.modified.unwrap_or_else(now);
        let created = self.created.or(before.map(|(_, info)| info.created)).unwrap_or(modified);
        info_of(self.text, created, modified)
    }
}

/// Writes the records of a new file, which no entry names yet. Returns the file.
pub(super) fn write_records(txn: &mut Txn<'_>, text: &str) -> Result<ObjectId, FileError> {
    let id = folder::fresh_id()?;
    let mut file = change::empty();
    let mut owner = Owner { sink: txn, object: id, next_index: &mut file.next_index };
    rope::splice(&mut owner, &mut file.body, 0..0, text)?;
    txn.put(RecordId::file(id, 0), file.into());
    Ok(id)
}
