//! Writing and editing single files, each as one atomic step.

use std::ops::Range;
use std::time::{SystemTime, UNIX_EPOCH};

use inmost_format::secret::Wiped;

use super::error::FileError;
use super::file::{self, FileView};
use super::files::FileText;
use super::folder::{self, Found};
use super::path::MemoryPath;
use super::search;
use super::{rope, staged, text};
use crate::limits::{FILE_INLINE_AGAIN, STAGE_BYTES};
use crate::session::{Session, Txn, reap};
use inmost_format::record::node::{Entry, File, FileInfo, Text, What};
use inmost_format::record::tree::{Body, Owner};
use inmost_format::record::{NodeSink, NodeSource, ObjectId, RecordId, Tag, load_folder};

/// The lines around a change, as they are after it.
pub(crate) struct Snippet {
    /// The first line.
    pub(crate) first: u64,
    /// The last line, whether or not `text` reaches it.
    pub(crate) last: u64,
    /// Lines that the file has now.
    pub(crate) lines: u64,
    /// The text from `first` on; see [`FileView::lines`] for where it may end.
    pub(crate) text: Wiped<String>,
}

/// A change of an existing file, decided but not made.
pub(super) struct Plan {
    /// The file.
    pub(super) entry: Entry,
    /// What its folder says of it.
    pub(super) info: FileInfo,
    /// Its head.
    pub(super) head: File,
    /// What goes.
    pub(super) range: Range<u64>,
    /// What comes in its place.
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
        let before = target(txn, path, overwrite)?;
        check_quotas(txn, before.as_ref().map(|(_, info)| info), length(text))?;
        let id = folder::fresh_id()?;
        let mut file = empty();
        let mut owner = Owner { sink: txn, object: id, next_index: &mut file.next_index };
        rope::splice(&mut owner, &mut file.body, 0..0, text)?;
        txn.put(RecordId::file(id), file.into());
        set_entry(txn, path, (id, Tag::default()), new_info(text, before.as_ref()), before)
    })
}

/// Replaces the only occurrence of `old`; answers up to two lines before and after the change, read as a view
/// of `view_limit` characters would.
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
        let view = FileView::open(txn, &txn.root()?, path)?;
        let hit = match view.search(old)? {
            search::Found::Nowhere => return Err(FileError::NoMatch),
            search::Found::Several(lines) => return Err(FileError::SeveralMatches(lines)),
            search::Found::Once(hit) => hit,
        };
        let range = hit.offset..hit.offset.saturating_add(length(old));
        Ok(Plan::new(&view, range, Wiped::new(new.to_owned()), hit.line))
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
        let view = FileView::open(txn, &txn.root()?, path)?;
        let lines = view.info().lines;
        let line = u64::try_from(line).ok().filter(|line| *line <= lines);
        let line = line.ok_or(FileError::NoSuchLine(lines))?;
        let offset = view.offset_after(line)?;
        let at_open_end = offset == view.info().bytes && view.is_unclosed()?;
        Ok(Plan::new(&view, offset..offset, text::insertion(text, at_open_end), line))
    };
    run(session, path, text.len(), plan, |_, _, _, _| Ok(()))
}

impl Plan {
    fn new<S: NodeSource>(
        view: &FileView<'_, S>,
        range: Range<u64>,
        text: Wiped<String>,
        line: u64,
    ) -> Self {
        let (entry, info, head) = (view.entry().clone(), *view.info(), view.head().clone());
        Self { entry, info, head, range, text, line }
    }

    /// Bytes of the file after the change.
    pub(super) fn bytes_after(&self) -> u64 {
        let removed = self.range.end.saturating_sub(self.range.start);
        self.info.bytes.saturating_sub(removed).saturating_add(length(&self.text))
    }
}

/// Makes a planned change, in one step if what it moves is small and in several if not.
fn run<T>(
    session: &Session,
    path: &MemoryPath,
    moved: usize,
    plan: impl Fn(&Txn<'_>) -> Result<Plan, FileError>,
    answer: impl Fn(&Txn<'_>, &Plan, &FileInfo, &File) -> Result<T, FileError>,
) -> Result<T, FileError> {
    if moved > STAGE_BYTES {
        return staged::edit(session, path, plan, answer);
    }
    session.write(|txn| {
        let mut plan = plan(txn)?;
        check_quotas(txn, Some(&plan.info), plan.bytes_after())?;
        let id = plan.entry.id;
        let mut head = plan.head.clone();
        let mut owner = Owner { sink: txn, object: id, next_index: &mut head.next_index };
        rope::splice(&mut owner, &mut head.body, plan.range.clone(), &plan.text)?;
        plan.head = head.clone();
        txn.put(RecordId::file(id), head.clone().into());
        let info = FileInfo {
            bytes: head.body.count().bytes,
            lines: rope::lines(txn, id, &head.body)?,
            created: plan.info.created,
            modified: now(),
        };
        let root = txn.root()?.tree;
        folder::put(txn, (root.id, root.tag), path, (id, Tag::default()), What::File(info))?;
        answer(txn, &plan, &info, &head)
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

/// The file that a write would replace; `None` if it makes a new one.
pub(super) fn target(
    txn: &Txn<'_>,
    path: &MemoryPath,
    overwrite: bool,
) -> Result<Option<(Entry, FileInfo)>, FileError> {
    let root = txn.root()?.tree;
    match folder::find(txn, (root.id, root.tag), path)? {
        Found::Missing { file_at: None } => Ok(None),
        Found::Missing { file_at: Some(depth) } => Err(not_a_folder(path, depth)),
        Found::Entry(entry) => match entry.what {
            What::File(info) if overwrite => Ok(Some((entry, info))),
            _ => Err(FileError::AlreadyExists),
        },
        Found::Root(_) => Err(FileError::AlreadyExists),
    }
}

/// The error for a path that goes through a file, to which its first `depth` names lead.
pub(super) fn not_a_folder(path: &MemoryPath, depth: usize) -> FileError {
    let mut file = path.clone();
    for _ in depth..path.depth() {
        let Some(folder) = file.parent() else { break };
        file = folder;
    }
    FileError::NotAFolder(FileText::new(file.as_str()))
}

/// Whether a file may grow, or come to be, with this many bytes. What shrinks is always allowed, so that a store
/// whose quotas were lowered can be tidied.
pub(super) fn check_quotas(
    txn: &Txn<'_>,
    before: Option<&FileInfo>,
    bytes: u64,
) -> Result<(), FileError> {
    let quotas = *txn.quotas();
    let old_bytes = before.map_or(0, |info| info.bytes);
    if bytes > quotas.file_bytes && bytes > old_bytes {
        return Err(FileError::FileTooLarge(quotas.file_bytes));
    }
    let root = txn.root()?.tree;
    let totals = load_folder(txn, root.id, &root.tag)?.totals;
    if before.is_none() && totals.files >= quotas.store_files {
        return Err(FileError::TooManyFiles(quotas.store_files));
    }
    let total = totals.bytes.saturating_sub(old_bytes).saturating_add(bytes);
    if total > quotas.store_bytes && bytes > old_bytes {
        return Err(FileError::TooMuchText(quotas.store_bytes));
    }
    Ok(())
}

/// Puts a file with new records at a path and discards those of the file that was there.
pub(super) fn set_entry(
    txn: &mut Txn<'_>,
    path: &MemoryPath,
    object: (ObjectId, Tag),
    info: FileInfo,
    before: Option<(Entry, FileInfo)>,
) -> Result<(), FileError> {
    let root = txn.root()?.tree;
    folder::put(txn, (root.id, root.tag), path, object, What::File(info))?;
    if let Some((entry, _)) = before {
        discard(txn, entry)?;
    }
    Ok(())
}

/// Gives up an object that no path leads to any more: at once if it is one record, else bit by bit later.
pub(super) fn discard(txn: &mut Txn<'_>, entry: Entry) -> Result<(), FileError> {
    match entry.what {
        What::File(info) if info.bytes < FILE_INLINE_AGAIN => txn.remove(entry.head()),
        _ => drop(reap::discard(txn, entry)?),
    }
    Ok(())
}

/// What a folder will say of a file of this text.
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

/// Milliseconds since 1970; 0 on a clock that stands before.
pub(super) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

pub(super) fn length(text: &str) -> u64 {
    u64::try_from(text.len()).unwrap_or(u64::MAX)
}
