//! Reads one file: some of its lines, a byte range or the whole text.

use std::sync::Arc;

use inmost_format::secret::Wiped;

use super::entry::Metadata;
use super::error::FileError;
use super::file_text::FileText;
use super::folder::{ResolvedPath, Target};
use super::path::MemoryPath;
use super::search::{Occurrences, SearchResult, Searcher};
use super::text::{self, Extent};
use crate::session::{Open, ReadAhead, Scope};
use inmost_format::record::node::{Entry, File, FileInfo, Root, Text, What};
use inmost_format::record::{NodeSource, ObjectId, RecordError, load_file, read_text, rope};

/// An existing file, to be read through `source`.
pub(crate) struct FileView<'s, S> {
    source: &'s S,
    entry: Entry,
    info: FileInfo,
    head: Arc<File>,
}

impl<'s, S: NodeSource> FileView<'s, S> {
    /// Opens the file at a path.
    ///
    /// # Errors
    /// [`FileError::NotFound`] if there is no file; a folder counts as no file.
    pub(crate) fn open(source: &'s S, root: &Root, path: &MemoryPath) -> Result<Self, FileError> {
        match ResolvedPath::new(source, root, path)?.target {
            Target::Entry(entry) => Self::of_entry(source, entry),
            Target::Root(_) | Target::Missing { .. } => Err(FileError::NotFound),
        }
    }

    /// Opens the file of an entry.
    ///
    /// # Errors
    /// [`FileError::NotFound`] for the entry of a folder.
    pub(crate) fn of_entry(source: &'s S, entry: Entry) -> Result<Self, FileError> {
        let What::File(info) = entry.what else { return Err(FileError::NotFound) };
        let head = load_file(source, entry.head(), &entry.tag)?;
        Ok(Self { source, entry, info, head })
    }

    pub(crate) fn entry(&self) -> &Entry {
        &self.entry
    }

    pub(crate) fn info(&self) -> &FileInfo {
        &self.info
    }

    pub(crate) fn head(&self) -> &File {
        &self.head
    }

    /// The whole text.
    pub(crate) fn read(&self) -> Result<Wiped<String>, RecordError> {
        read_text(self.source, self.entry.id, &self.head.body)
    }

    /// Whether this is the whole text. Reads no further than to the first difference.
    pub(crate) fn is(&self, text: &str) -> Result<bool, RecordError> {
        if usize::try_from(self.info.bytes) != Ok(text.len()) {
            return Ok(false);
        }
        let mut rest = text.as_bytes();
        let mut same = true;
        self.head.body.visit::<RecordError>(
            self.source,
            self.entry.id,
            0,
            &mut |_, chunk: &Text| {
                let after = rest.strip_prefix(chunk.as_str().as_bytes());
                same = after.is_some();
                rest = after.unwrap_or_default();
                Ok(same)
            },
        )?;
        Ok(same && rest.is_empty())
    }

    /// The text of the lines `first` to `last`, counted from 1. It may end early once a view of `limit` characters is
    /// certain to be cut.
    pub(crate) fn lines(
        &self,
        first: u64,
        last: u64,
        limit: usize,
    ) -> Result<Wiped<String>, RecordError> {
        lines(self.source, self.entry.id, &self.head, (first, last), limit)
    }

    /// The offset after a line; 0 for line 0.
    pub(crate) fn offset_after(&self, line: u64) -> Result<u64, RecordError> {
        rope::line_start(self.source, self.entry.id, &self.head.body, line.saturating_add(1))
    }

    /// Whether the last line of the file lacks its `\n`.
    pub(crate) fn is_unclosed(&self) -> Result<bool, RecordError> {
        let closed = rope::is_closed(self.source, self.entry.id, &self.head.body)?;
        Ok(self.info.bytes > 0 && !closed)
    }

    /// Searches the file for a text, in one pass and without holding the whole file in memory.
    ///
    /// # Errors
    /// [`FileError::EmptySearch`] for an empty needle.
    pub(crate) fn search(&self, needle: &str) -> Result<SearchResult, FileError> {
        let mut searcher = Searcher::new(needle).ok_or(FileError::EmptySearch)?;
        let mut occurrences = Occurrences::default();
        self.head.body.visit::<RecordError>(
            self.source,
            self.entry.id,
            0,
            &mut |_, chunk: &Text| {
                searcher.feed(chunk.as_str().as_bytes(), |hit| occurrences.add(hit));
                Ok(true)
            },
        )?;
        Ok(occurrences.result())
    }
}

/// The text of a file, or of some of its lines, for a host, and the number of the file.
///
/// # Errors
/// [`FileError::NotFound`]; [`FileError::IsAFolder`]; [`FileError::NoSuchLine`] if the lines begin after the last one.
pub(crate) fn read(
    open: &Open,
    path: &MemoryPath,
    range: Option<LineRange>,
) -> Result<(FileText, u64), FileError> {
    let Some(range) = range else {
        return read_whole(&ReadAhead::new(open, Scope::ALL), open.root(), path);
    };
    let file = FileView::of_entry(open, find(open, open.root(), path)?)?;
    let number = file.info.number;
    let total = file.info.lines;
    if range.first > total.max(1) {
        return Err(FileError::NoSuchLine(total));
    }
    let last = range.last.unwrap_or(total).min(total);
    if last < range.first {
        return Ok((String::new().into(), number));
    }
    Ok((file.lines(range.first, last, usize::MAX)?.into(), number))
}

/// The whole text of a file with its metadata, and the number of the file.
///
/// # Errors
/// As [`read`].
pub(crate) fn read_with_metadata(
    open: &Open,
    path: &MemoryPath,
) -> Result<(FileText, Metadata, u64), FileError> {
    let source = ReadAhead::new(open, Scope::ALL);
    let file = FileView::of_entry(&source, find(&source, open.root(), path)?)?;
    Ok((file.read()?.into(), Metadata::of(&file.entry, 0), file.info.number))
}

/// The whole text of a file, and its number.
///
/// # Errors
/// As [`read`].
pub(crate) fn read_whole(
    source: &impl NodeSource,
    root: &Root,
    path: &MemoryPath,
) -> Result<(FileText, u64), FileError> {
    let file = FileView::of_entry(source, find(source, root, path)?)?;
    Ok((file.read()?.into(), file.info.number))
}

/// Finds a file.
///
/// # Errors
/// [`FileError::NotFound`]; [`FileError::IsAFolder`].
pub(crate) fn find(
    source: &impl NodeSource,
    root: &Root,
    path: &MemoryPath,
) -> Result<Entry, FileError> {
    match ResolvedPath::new(source, root, path)?.target {
        Target::Entry(entry) if entry.what != What::Folder => Ok(entry),
        Target::Entry(_) | Target::Root(_) => {
            Err(FileError::IsAFolder(path.as_str().to_owned().into()))
        }
        Target::Missing { .. } => Err(FileError::NotFound),
    }
}

/// As [`FileView::lines`], for a head that is not committed yet.
pub(crate) fn lines(
    source: &impl NodeSource,
    object: ObjectId,
    head: &File,
    (first, last): (u64, u64),
    limit: usize,
) -> Result<Wiped<String>, RecordError> {
    let start = rope::line_start(source, object, &head.body, first)?;
    let mut wanted = last.saturating_add(1).saturating_sub(first);
    let mut extent = Extent::default();
    let mut requested = Wiped::new(String::new());
    head.body.visit::<RecordError>(source, object, start, &mut |before, chunk: &Text| {
        let skip = usize::try_from(start.saturating_sub(before)).unwrap_or(usize::MAX);
        let rest = chunk.as_str().get(skip..).unwrap_or_default();
        let (piece, newlines) = text::first_lines(rest, wanted);
        requested.append(piece);
        wanted = wanted.saturating_sub(newlines);
        Ok(wanted > 0 && !extent.is_enough_after(piece, limit))
    })?;
    Ok(requested)
}

/// Lines of a file, counted from 1, both ends included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct LineRange {
    first: u64,
    last: Option<u64>,
}

impl LineRange {
    /// The lines `first` to `last`. A `first` of 0 counts as line 1, and a `last` beyond the file as its last line.
    #[must_use]
    pub fn new(first: u64, last: u64) -> Self {
        Self { first: first.max(1), last: Some(last) }
    }

    /// Line `first` and every line after it.
    #[must_use]
    pub fn from(first: u64) -> Self {
        Self { first: first.max(1), last: None }
    }
}
