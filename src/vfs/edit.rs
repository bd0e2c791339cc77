//! Writes and edits single files, each in one atomic step.

use inmost_format::secret::Wiped;

use super::change::{Plan, check_quotas, length, target};
use super::conditional::conditional;
use super::error::FileError;
use super::file::{self, FileView};
use super::folder::{self, ResolvedPath, Target};
use super::guard::Guard;
use super::new_text::{Existing, NewText};
use super::path::MemoryPath;
use super::precondition::{FileVersion, Precondition};
use super::search::{SearchResult, near_line};
use super::{staged, text, versions};
use crate::limits::STAGE_BYTES;
use crate::session::history::{Change, OldHead};
use crate::session::{Session, Txn, now};
use inmost_format::record::history::{Before, Operation, Retired};
use inmost_format::record::node::{Entry, File, FileInfo, What};
use inmost_format::record::tree::Owner;
use inmost_format::record::{Kind, Node, NodeSink, NodeSource, RecordError, RecordId, Tag, rope};

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
    let existing = if overwrite { Existing::Replace } else { Existing::Refuse };
    let new = NewText::new(path, text, existing);
    if text.len() > STAGE_BYTES {
        return staged::write(session, &new).map(drop);
    }
    session.write(|txn| new.write(txn)).map(drop)
}

/// The creation time and the time of the last change, in milliseconds since 1970; `None` as in [`NewText`].
type Times = (Option<u64>, Option<u64>);

/// As [`write`], replacing an existing file, if the condition holds. Returns the state of the file.
///
/// # Errors
/// Those of [`write`]; [`FileError::Changed`].
pub(crate) fn write_if(
    session: &Session,
    path: &MemoryPath,
    text: &str,
    (created, modified): Times,
    condition: &Precondition,
) -> Result<FileVersion, FileError> {
    let number = conditional(session, path, condition, |expected| {
        let new = NewText::new(path, text, Existing::Replace);
        let new = NewText { expected, created, modified, ..new };
        if text.len() > STAGE_BYTES {
            return staged::write(session, &new);
        }
        session.write(|txn| new.write(txn))
    })?;
    Ok(FileVersion::of_text(number.unwrap_or_default(), text))
}

/// Sets the time of the last change of a file, in milliseconds since 1970, if the condition holds. This is no change of the file: its
/// version and the history stay.
///
/// # Errors
/// [`FileError::NotFound`], [`FileError::IsAFolder`], [`FileError::Changed`].
pub(crate) fn set_modified(
    session: &Session,
    path: &MemoryPath,
    modified: u64,
    condition: &Precondition,
) -> Result<(), FileError> {
    conditional(session, path, condition, |expected| {
        session.write(|txn| {
            let root = txn.root()?;
            let Entry { id, tag, what, .. } = file::find(txn, &root, path)?;
            let What::File(info) = what else { return Err(FileError::NotFound) };
            let resolved = ResolvedPath::new(txn, &root, path)?;
            expected.check(&resolved.target)?;
            let what = What::File(FileInfo { modified, ..info });
            folder::put(txn, path, &resolved, (id, tag), what)?;
            // An earlier time is no earlier use.
            txn.record_use(&[info.number])?;
            Ok(())
        })
    })
}

/// Makes only the checks of [`write()`] that come before the quotas.
///
/// # Errors
/// [`FileError::AlreadyExists`], unless `overwrite` and the path names a file; [`FileError::NotAFolder`].
pub(crate) fn check_target(
    session: &Session,
    path: &MemoryPath,
    overwrite: bool,
) -> Result<(), FileError> {
    session.write(|txn| target(txn, path, overwrite).map(drop))
}

/// As [`replace_guarded`], wherever the text is.
#[cfg(test)]
pub(crate) fn replace(
    session: &Session,
    path: &MemoryPath,
    old: &str,
    new: &str,
    view_limit: usize,
) -> Result<Snippet, FileError> {
    replace_guarded(session, path, (old, new), view_limit, &Guard::open())
}

/// Replaces the only occurrence of `old`, if the guard allows it. The snippet has up to two lines before and after the change, read
/// as for a view of `view_limit` characters.
///
/// # Errors
/// [`FileError::NotFound`], [`FileError::EmptySearch`], [`FileError::NoMatch`], [`FileError::SeveralMatches`]; a quota; the end
/// of an attempt that the guard stops.
pub(crate) fn replace_guarded(
    session: &Session,
    path: &MemoryPath,
    (old, new): (&str, &str),
    view_limit: usize,
    guard: &Guard,
) -> Result<Snippet, FileError> {
    let plan = |txn: &Txn<'_>| {
        let (resolved, view) = open(txn, path)?;
        let hit = match view.search(old)? {
            SearchResult::Nowhere => return Err(FileError::NoMatch { near: None }),
            SearchResult::Several { lines, more } => {
                return Err(FileError::SeveralMatches { lines, more });
            }
            SearchResult::Once(hit) => hit,
        };
        let range = hit.offset..hit.offset.saturating_add(length(old));
        let plan = Plan::new(resolved, &view, range, Wiped::new(new.to_owned()), hit.line);
        guard.check(txn, &plan)?;
        Ok(plan)
    };
    let replaced = run(session, path, old.len().max(new.len()), plan, |txn, plan, info, head| {
        snippet(txn, plan, info, head, view_limit)
    });
    match replaced {
        Err(FileError::NoMatch { .. }) => {
            // Looked for while writers go on: for a long file it takes as long as some commits.
            let text = session.read(|open| {
                let view = FileView::open(open, open.root(), path)?;
                Ok::<_, FileError>(view.read()?)
            })?;
            Err(FileError::NoMatch { near: near_line(&text, old) })
        }
        replaced => replaced,
    }
}

/// As [`insert_guarded`], wherever the line is.
#[cfg(test)]
pub(crate) fn insert(
    session: &Session,
    path: &MemoryPath,
    line: i64,
    text: &str,
) -> Result<(), FileError> {
    insert_guarded(session, path, line, text, &Guard::open())
}

/// Inserts text after a line, by the tool's rule for line ends, if the guard allows it.
///
/// # Errors
/// [`FileError::NotFound`], [`FileError::NoSuchLine`]; a quota; the end of an attempt that the guard stops.
pub(crate) fn insert_guarded(
    session: &Session,
    path: &MemoryPath,
    line: i64,
    text: &str,
    guard: &Guard,
) -> Result<(), FileError> {
    let plan = |txn: &Txn<'_>| {
        let (resolved, view) = open(txn, path)?;
        let lines = view.info().lines;
        let line = u64::try_from(line).ok().filter(|line| *line <= lines);
        let line = line.ok_or(FileError::NoSuchLine(lines))?;
        let offset = view.offset_after(line)?;
        let at_open_end = offset == view.info().bytes && view.is_unclosed()?;
        let text = text::insertion(text, at_open_end);
        let plan = Plan::new(resolved, &view, offset..offset, text, line);
        guard.check(txn, &plan)?;
        Ok(plan)
    };
    run(session, path, text.len(), plan, |_, _, _, _| Ok(()))
}

/// Appends text to a file; creates a missing file.
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
        let keeps = txn.keeps_versions()?;
        let mut head = plan.head.clone();
        let last_index = keeps.then_some(plan.head.next_index);
        let mut sink = EditSink { txn, last_index, retired: Vec::new() };
        let mut owner = Owner { sink: &mut sink, object: id, next_index: &mut head.next_index };
        rope::splice(&mut owner, &mut head.body, plan.range.clone(), &plan.text)?;
        let retired = sink.retired;
        let mut info = FileInfo {
            bytes: head.body.count().bytes,
            lines: rope::lines(txn, id, &head.body)?,
            modified: now(),
            version: txn.number()?,
            ..plan.info
        };
        if keeps {
            head.next_index = head.next_index.saturating_add(1);
            info.head = head.next_index;
            // The lowest head that a repair may show.
            let keeps_text = txn.caller().keeps_texts();
            info.lowest = if keeps_text { plan.info.head } else { info.head };
        }
        txn.put(RecordId::file(id, info.head), head.clone().into());
        folder::put(txn, path, &plan.resolved, (id, Tag::default()), What::File(info))?;
        txn.note_change(info.number)?;
        if keeps {
            txn.record(Change {
                operation: Operation::Modified,
                path: &path.in_store(),
                old_path: "",
                file: Some(info),
                previous: plan.info.version,
                before: Before::Head(OldHead {
                    object: id,
                    index: plan.info.head,
                    tag: plan.entry.tag,
                    last_index: plan.head.next_index,
                    bytes: plan.info.bytes,
                    lines: plan.info.lines,
                }),
                retired,
            })?;
            versions::forget_before(txn)?;
        }
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
    let end = plan.line.saturating_add(text::count_newlines(plan.text.as_str()));
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

/// Where an edit of a file puts its nodes. While versions are kept, it leaves the nodes of the file as it was.
struct EditSink<'t, 'a> {
    txn: &'t mut Txn<'a>,
    /// The last index that the file had given out before the edit. Nodes up to it stay. `None` if no versions are kept.
    last_index: Option<u64>,
    /// The nodes that the edit took out of use and that stay.
    retired: Vec<Retired>,
}

impl NodeSource for EditSink<'_, '_> {
    fn load(&self, id: RecordId, tag: &Tag) -> Result<Node, RecordError> {
        self.txn.load(id, tag)
    }
}

impl NodeSink for EditSink<'_, '_> {
    fn put(&mut self, id: RecordId, node: Node) {
        self.txn.put(id, node);
    }

    fn remove(&mut self, id: RecordId) {
        self.txn.remove(id);
    }

    fn retires(&mut self, id: RecordId) -> bool {
        let stays = self.last_index.is_some_and(|last| id.index <= last);
        if stays {
            self.retired.push(Retired { is_inner: id.kind == Kind::FileInner, index: id.index });
        }
        stays
    }
}
