//! What changes of a single file share, whether they are made in one step or staged: the plan, the checks and the entry.

use std::ops::Range;

use inmost_format::secret::Wiped;

use super::error::FileError;
use super::file::FileView;
use super::folder::{self, ResolvedPath};
use super::path::MemoryPath;
use super::{text, versions};
use crate::session::history::{Change, nameless};
use crate::session::{Quotas, Txn, now, reap};
use inmost_format::record::history::{Before, Operation};
use inmost_format::record::node::{Entry, File, FileInfo, Text, What};
use inmost_format::record::tree::Body;
use inmost_format::record::{NodeSource, ObjectId, Tag};

/// A planned change of an existing file.
pub(super) struct Plan {
    /// The folders on the path to the file.
    pub(super) resolved: ResolvedPath,
    /// The file.
    pub(super) entry: Entry,
    /// The file's sizes and times in its folder's entry.
    pub(super) info: FileInfo,
    /// The file's head.
    pub(super) head: File,
    /// The bytes to replace.
    pub(super) range: Range<u64>,
    /// The replacement.
    pub(super) text: Wiped<String>,
    /// The line on which the change starts.
    pub(super) line: u64,
}

impl Plan {
    pub(super) fn new<S: NodeSource>(
        resolved: ResolvedPath,
        view: &FileView<'_, S>,
        range: Range<u64>,
        text: Wiped<String>,
        line: u64,
    ) -> Self {
        let (entry, info, head) = (view.entry().clone(), *view.info(), view.head().clone());
        Self { resolved, entry, info, head, range, text, line }
    }

    /// Bytes of the file after the change.
    pub(super) fn bytes_after(&self) -> u64 {
        let removed = self.range.end.saturating_sub(self.range.start);
        self.info.bytes.saturating_sub(removed).saturating_add(length(&self.text))
    }
}

/// Resolves the path of a file to write, and returns the existing file, if any.
pub(super) fn target(
    txn: &Txn<'_>,
    path: &MemoryPath,
    overwrite: bool,
) -> Result<(ResolvedPath, Option<(Entry, FileInfo)>), FileError> {
    let resolved = ResolvedPath::new(txn, &txn.root()?, path)?;
    let before = resolved.replaced(path, |_| overwrite)?;
    Ok((resolved, before))
}

/// Checks the quotas for a file that is to have this many bytes. A file may always shrink, so that a store whose quotas
/// were lowered can be cleaned up.
pub(super) fn check_quotas(
    txn: &Txn<'_>,
    resolved: &ResolvedPath,
    before: Option<&FileInfo>,
    bytes: u64,
) -> Result<(), FileError> {
    let quotas = txn.quotas();
    let old_bytes = before.map_or(0, |info| info.bytes);
    check_file_bytes(&quotas, old_bytes, bytes)?;
    let totals = resolved.store_totals().unwrap_or_default();
    if before.is_none() && totals.files >= quotas.store_files {
        return Err(FileError::TooManyFiles(quotas.store_files));
    }
    check_store_bytes(&quotas, totals.bytes, old_bytes, bytes)
}

/// Checks the quota of one file.
pub(super) fn check_file_bytes(
    quotas: &Quotas,
    old_bytes: u64,
    bytes: u64,
) -> Result<(), FileError> {
    if bytes > quotas.file_bytes && bytes > old_bytes {
        return Err(FileError::FileTooLarge(quotas.file_bytes));
    }
    Ok(())
}

/// Checks the quota of a store with this much text, in which one file changes.
pub(super) fn check_store_bytes(
    quotas: &Quotas,
    total: u64,
    old_bytes: u64,
    bytes: u64,
) -> Result<(), FileError> {
    let total = total.saturating_sub(old_bytes).saturating_add(bytes);
    if total > quotas.store_bytes && bytes > old_bytes {
        return Err(FileError::TooMuchText(quotas.store_bytes));
    }
    Ok(())
}

/// Puts a file with new records at a path. The file that it replaces becomes a version, or its records are discarded.
pub(super) fn set_entry(
    txn: &mut Txn<'_>,
    (path, resolved): (&MemoryPath, &ResolvedPath),
    object: (ObjectId, Tag),
    mut info: FileInfo,
    before: Option<(Entry, FileInfo)>,
    operation: Operation,
) -> Result<(), FileError> {
    info.version = txn.number()?;
    info.number = before.as_ref().map_or(info.version, |(_, before)| before.number);
    folder::put(txn, path, resolved, object, What::File(info))?;
    txn.note_change(info.number)?;
    if txn.keeps_versions()? {
        txn.record(Change {
            operation,
            path: &path.in_store(),
            old_path: "",
            file: Some(info),
            previous: before.as_ref().map_or(0, |(_, before)| before.version),
            before: before.map_or(Before::Nothing, |(entry, _)| nameless(&entry)),
            retired: Vec::new(),
        })?;
        return versions::forget_before(txn);
    }
    if let Some((entry, _)) = before {
        reap::remove(txn, entry)?;
    }
    Ok(())
}

/// The sizes and times of a file with this text, for its folder's entry.
pub(super) fn new_info(text: &str, before: Option<&(Entry, FileInfo)>) -> FileInfo {
    let modified = now();
    let created = before.map_or(modified, |(_, info)| info.created);
    info_of(text, created, modified)
}

/// As [`new_info`], with these times. The numbers are set when the entry is.
pub(super) fn info_of(text: &str, created: u64, modified: u64) -> FileInfo {
    let (bytes, lines) = (length(text), text::count_lines(text));
    FileInfo { bytes, lines, ..FileInfo::of_times(created, modified) }
}

/// A file without text.
pub(super) fn empty() -> File {
    File { next_index: 0, is_partial: false, body: Body::<Text>::empty() }
}

pub(super) fn length(text: &str) -> u64 {
    u64::try_from(text.len()).unwrap_or(u64::MAX)
}
