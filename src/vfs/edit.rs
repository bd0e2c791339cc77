//! Writes and edits single files, each in one atomic step.

use std::ops::Range;

use inmost_format::secret::Wiped;

use super::error::FileError;
use super::file::{self, FileView};
use super::file_text::FileText;
use super::folder::{self, ResolvedPath, Target};
use super::path::MemoryPath;
use super::search::SearchResult;
use super::{rope, staged, text};
use crate::limits::{FILE_INLINE_AGAIN, STAGE_BYTES};
use crate::session::{Session, Txn, now, reap};
use inmost_format::record::node::{Entry, File, FileInfo, Text, What};
use inmost_format::record::tree::{Body, Owner};
use inmost_format::record::{NodeSink, NodeSource, ObjectId, RecordId, Tag};

/// The lines around a change, after the change.
pub(crate) struct Snippet {
    /// The first line.
    pub(crate) first: u64,
    /// The last line, even if `text` ends earlier.
    pub(crate) last: u64,
    /// Lines of the file after the change.
    pub(crate) lines: u64,
    /// The text from `first` on. See [`FileView::lines`] for where it may end.
    pub(crate) text: Wiped<String>,
}

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
    line: u64,
}

/// Writes a file.
///
/// # Errors
/// [`FileError::AlreadyExists`], unless `overwrite` and the path names a file; [`FileError::NotAFolder`]; a quota.
pub(crate) fn write(
    session: &Session,
    path: &MemoryPath,
    text: &str,
    overwrite: bool,
) -> Result<(), FileError> {
    if text.len() > STAGE_BYTES {
        return staged::write(session, path, text, overwrite);
    }
    session.write(|txn| {
        let (resolved, before) = target(txn, path, overwrite)?;
        check_quotas(txn, &resolved, before.as_ref().map(|(_, info)| info), length(text))?;
        let id = folder::fresh_id()?;
        let mut file = empty();
        let mut owner = Owner { sink: txn, object: id, next_index: &mut file.next_index };
        rope::splice(&mut owner, &mut file.body, 0..0, text)?;
        txn.put(RecordId::file(id), file.into());
        let info = new_info(text, before.as_ref());
        set_entry(txn, (path, &resolved), (id, Tag::default()), info, before)
    })
}

/// Replaces the only occurrence of `old`. The snippet has up to two lines before and after the change, read as for a
/// view of `view_limit` characters.
///
/// # Errors
/// [`FileError::NotFound`], [`FileError::EmptySearch`], [`FileError::NoMatch`], [`FileError::SeveralMatches`]; a quota.
pub(crate) fn replace(
    session: &Session,
    path: &MemoryPath,
    old: &str,
    new: &str,
    view_limit: usize,
) -> Result<Snippet, FileError> {
    let plan = |txn: &Txn<'_>| {
        let (resolved, view) = open(txn, path)?;
        let hit = match view.search(old)? {
            SearchResult::Nowhere => return Err(FileError::NoMatch),
            SearchResult::Several { lines, more } => {
                return Err(FileError::SeveralMatches { lines, more });
            }
            SearchResult::Once(hit) => hit,
        };
        let range = hit.offset..hit.offset.saturating_add(length(old));
        Ok(Plan::new(resolved, &view, range, Wiped::new(new.to_owned()), hit.line))
    };
    run(session, path, old.len().max(new.len()), plan, |txn, plan, info, head| {
        snippet(txn, plan, info, head, view_limit)
    })
}

/// Inserts text after a line, by the tool's rule for line ends.
///
/// # Errors
/// [`FileError::NotFound`], [`FileError::NoSuchLine`]; a quota.
pub(crate) fn insert(
    session: &Session,
    path: &MemoryPath,
    line: i64,
    text: &str,
) -> Result<(), FileError> {
    let plan = |txn: &Txn<'_>| {
        let (resolved, view) = open(txn, path)?;
        let lines = view.info().lines;
        let line = u64::try_from(line).ok().filter(|line| *line <= lines);
        let line = line.ok_or(FileError::NoSuchLine(lines))?;
        let offset = view.offset_after(line)?;
        let at_open_end = offset == view.info().bytes && view.is_unclosed()?;
        Ok(Plan::new(resolved, &view, offset..offset, text::insertion(text, at_open_end), line))
    };
    run(session, path, text.len(), plan, |_, _, _, _| Ok(()))
}

/// Appends text to a file; creates the file if there is none.
///
/// # Errors
/// [`FileError::AlreadyExists`] for a folder; [`FileError::NotAFolder`]; a quota.
pub(crate) fn append(session: &Session, path: &MemoryPath, text: &str) -> Result<(), FileError> {
    let plan = |txn: &Txn<'_>| {
        let (resolved, before) = target(txn, path, true)?;
        let (entry, _) = before.ok_or(FileError::NotFound)?;
        let view = FileView::of_entry(txn, entry)?;
        let end = view.info().bytes;
        Ok(Plan::new(resolved, &view, end..end, Wiped::new(text.to_owned()), view.info().lines))
    };
    loop {
        match run(session, path, text.len(), plan, |_, _, _, _| Ok(())) {
            Err(FileError::NotFound) => {}
            done => return done,
        }
        match write(session, path, text, false) {
            // Another caller created the file in between.
            Err(FileError::AlreadyExists) => {}
            done => return done,
        }
    }
}

impl Plan {
    fn new<S: NodeSource>(
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

/// Makes a planned change, in one step if it moves little text and otherwise in several.
fn run<T>(
    session: &Session,
    path: &MemoryPath,
    moved: usize,
    plan: impl Fn(&Txn<'_>) -> Result<Plan, FileError>,
    reply: impl Fn(&Txn<'_>, &Plan, &FileInfo, &File) -> Result<T, FileError>,
) -> Result<T, FileError> {
    if moved > STAGE_BYTES {
        return staged::edit(session, path, plan, reply);
    }
    session.write(|txn| {
        let plan = plan(txn)?;
        check_quotas(txn, &plan.resolved, Some(&plan.info), plan.bytes_after())?;
        let id = plan.entry.id;
        let mut head = plan.head.clone();
        let mut owner = Owner { sink: txn, object: id, next_index: &mut head.next_index };
        rope::splice(&mut owner, &mut head.body, plan.range.clone(), &plan.text)?;
        txn.put(RecordId::file(id), head.clone().into());
        let info = FileInfo {
            bytes: head.body.count().bytes,
            lines: rope::lines(txn, id, &head.body)?,
            created: plan.info.created,
            modified: now(),
        };
        folder::put(txn, path, &plan.resolved, (id, Tag::default()), What::File(info))?;
        reply(txn, &plan, &info, &head)
    })
}

fn snippet(
    source: &impl NodeSource,
    plan: &Plan,
    info: &FileInfo,
    head: &File,
    limit: usize,
) -> Result<Snippet, FileError> {
    let end = plan.line.saturating_add(text::count_newlines(&plan.text));
    let first = plan.line.saturating_sub(2).max(1);
    let last = end.saturating_add(2).min(info.lines);
    let text = if first > last {
        Wiped::default()
    } else {
        file::lines(source, plan.entry.id, head, (first, last), limit)?
    };
    Ok(Snippet { first, last, lines: info.lines, text })
}

/// Opens the file at a path. Also returns the resolved path.
fn open<'t>(
    txn: &'t Txn<'_>,
    path: &MemoryPath,
) -> Result<(ResolvedPath, FileView<'t, Txn<'t>>), FileError> {
    let resolved = ResolvedPath::new(txn, &txn.root()?, path)?;
    let Target::Entry(entry) = &resolved.target else { return Err(FileError::NotFound) };
    let view = FileView::of_entry(txn, entry.clone())?;
    Ok((resolved, view))
}

/// Resolves the path of a file to write, and returns the existing file, if any.
pub(super) fn target(
    txn: &Txn<'_>,
    path: &MemoryPath,
    overwrite: bool,
) -> Result<(ResolvedPath, Option<(Entry, FileInfo)>), FileError> {
    let resolved = ResolvedPath::new(txn, &txn.root()?, path)?;
    let before = match &resolved.target {
        Target::Missing { file_at: None } => None,
        Target::Missing { file_at: Some(depth) } => return Err(not_a_folder(path, *depth)),
        Target::Entry(entry) => match entry.what {
            What::File(info) if overwrite => Some((entry.clone(), info)),
            _ => return Err(FileError::AlreadyExists),
        },
        Target::Root(_) => return Err(FileError::AlreadyExists),
    };
    Ok((resolved, before))
}

/// The error for a path through a file. The first `depth` names of `path` are the path of that file.
pub(super) fn not_a_folder(path: &MemoryPath, depth: usize) -> FileError {
    let mut file = path.clone();
    for _ in depth..path.depth() {
        let Some(folder) = file.parent() else { break };
        file = folder;
    }
    FileError::NotAFolder(FileText::from(file.as_str().to_owned()))
}

/// Checks the quotas for a file that is to have this many bytes. A file may always shrink, so that a store whose quotas
/// were lowered can be cleaned up.
pub(super) fn check_quotas(
    txn: &Txn<'_>,
    resolved: &ResolvedPath,
    before: Option<&FileInfo>,
    bytes: u64,
) -> Result<(), FileError> {
    let quotas = *txn.quotas();
    let old_bytes = before.map_or(0, |info| info.bytes);
    if bytes > quotas.file_bytes && bytes > old_bytes {
        return Err(FileError::FileTooLarge(quotas.file_bytes));
    }
    let totals = resolved.store_totals().unwrap_or_default();
    if before.is_none() && totals.files >= quotas.store_files {
        return Err(FileError::TooManyFiles(quotas.store_files));
    }
    let total = totals.bytes.saturating_sub(old_bytes).saturating_add(bytes);
    if total > quotas.store_bytes && bytes > old_bytes {
        return Err(FileError::TooMuchText(quotas.store_bytes));
    }
    Ok(())
}

/// Puts a file with new records at a path and discards the records of the file it replaces.
pub(super) fn set_entry(
    txn: &mut Txn<'_>,
    (path, resolved): (&MemoryPath, &ResolvedPath),
    object: (ObjectId, Tag),
    info: FileInfo,
    before: Option<(Entry, FileInfo)>,
) -> Result<(), FileError> {
    folder::put(txn, path, resolved, object, What::File(info))?;
    if let Some((entry, _)) = before {
        discard(txn, entry)?;
    }
    Ok(())
}

/// Discards an object that has left the tree: at once if it is one record, otherwise by reaping.
pub(super) fn discard(txn: &mut Txn<'_>, entry: Entry) -> Result<(), FileError> {
    match entry.what {
        What::File(info) if info.bytes < FILE_INLINE_AGAIN => txn.remove(entry.head()),
        _ => drop(reap::discard(txn, entry)?),
    }
    Ok(())
}

/// The sizes and times of a file with this text, for its folder's entry.
pub(super) fn new_info(text: &str, before: Option<&(Entry, FileInfo)>) -> FileInfo {
    let modified = now();
    FileInfo {
        bytes: length(text),
        lines: text::count_lines(text),
        created: before.map_or(modified, |(_, info)| info.created),
        modified,
    }
}

/// A file without text.
pub(super) fn empty() -> File {
    File { next_index: 0, body: Body::<Text>::empty() }
}

pub(super) fn length(text: &str) -> u64 {
    u64::try_from(text.len()).unwrap_or(u64::MAX)
}
