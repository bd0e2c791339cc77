//! Reads many files in few steps, and writes them in few commits.
//!
//! When writing, each file is a call of its own. It joins the group that is being formed and does not wait, so the files after it
//! join the same group until that is full. If another host was faster, the files of a commit are written again. A file is written whole or not at all, and the order of the files is the
//! order in which they become durable. The files of one commit become durable together.

use super::error::FileError;
use super::file::{self, FileView};
use super::file_text::FileText;
use super::new_file::{NewFile, WriteOutcome};
use super::new_text::{Existing, NewText};
use super::path::MemoryPath;
use super::staged;
use crate::limits::STAGE_BYTES;
use crate::session::{Open, ReadAhead, Scope, Session, StoreError, milliseconds};

/// Writes files in their order. The result has one item for each.
///
/// # Errors
/// Those of the store. The files before some point of the order are then written, and those after it are not.
pub(crate) fn write(
    session: &Session,
    files: &[NewFile<'_>],
) -> Result<Vec<Result<WriteOutcome, FileError>>, StoreError> {
    let outcome = |change: Option<u64>| match change {
        Some(_) => WriteOutcome::Written,
        None => WriteOutcome::Unchanged,
    };
    let existing = |file: &NewFile<'_>| Existing::Compare { replace: file.replaces };
    let changes = write_each(session, files, existing)?.into_iter();
    Ok(changes.map(|result| result.map(outcome)).collect())
}

/// Creates files in their order. Returns the number of the change that made each one. A file that is there already is an error.
///
/// # Errors
/// As [`write`].
pub(crate) fn create(
    session: &Session,
    files: &[NewFile<'_>],
) -> Result<Vec<Result<u64, FileError>>, StoreError> {
    let changes = write_each(session, files, |_| Existing::Refuse)?.into_iter();
    let number = |change: Option<u64>| change.ok_or(FileError::AlreadyExists);
    Ok(changes.map(|result| result.and_then(number)).collect())
}

fn write_each(
    session: &Session,
    files: &[NewFile<'_>],
    existing: impl Fn(&NewFile<'_>) -> Existing,
) -> Result<Vec<Result<Option<u64>, FileError>>, StoreError> {
    let mut results = Vec::with_capacity(files.len());
    while let Some(rest) = files.get(results.len()..).filter(|rest| !rest.is_empty()) {
        let short = rest.iter().take_while(|file| !is_long(file)).count();
        warm(session, rest.get(..short.min(WARMED)).unwrap_or_default())?;
        if let (0, Some(long)) = (short, rest.first()) {
            let written = with_path(long, existing(long), |new| staged::write(session, new));
            results.push(of_file(written)?);
            continue;
        }
        results.extend(session.run_together(short, |call, txn| {
            let file = rest.get(call).ok_or(StoreError::TooLarge)?;
            of_file(with_path(file, existing(file), |new| new.write(txn)))
        })?);
    }
    Ok(results)
}

/// Reads the present files at these paths into the session's cache, in few round trips. Each is compared with its new text before
/// it is written. A failure shows when that is done.
fn warm(session: &Session, files: &[NewFile<'_>]) -> Result<(), StoreError> {
    session.read_once(|open| {
        if !open.is_remote() {
            return Ok(());
        }
        let source = ReadAhead::new(open, Scope::ALL);
        for path in files.iter().filter_map(|file| MemoryPath::parse(file.path).ok()) {
            let _ = file::find(&source, open.root(), &path)
                .and_then(|entry| FileView::of_entry(&source, entry).map(drop));
        }
        Ok(())
    })
}

/// Files that are looked at before they are written: about those of one commit.
const WARMED: usize = 64;

/// Separates what ends the work from what only concerns a file.
fn of_file(
    result: Result<Option<u64>, FileError>,
) -> Result<Result<Option<u64>, FileError>, StoreError> {
    match result {
        // Nothing was written, and the store goes on.
        Err(FileError::Store(StoreError::TooLarge)) => Ok(Err(StoreError::TooLarge.into())),
        Err(FileError::Store(error)) => Err(error),
        result => Ok(result),
    }
}

fn is_long(file: &NewFile<'_>) -> bool {
    file.text.len() > STAGE_BYTES
}

/// Writes a file with `write`.
fn with_path(
    file: &NewFile<'_>,
    existing: Existing,
    write: impl FnOnce(&NewText<'_>) -> Result<Option<u64>, FileError>,
) -> Result<Option<u64>, FileError> {
    let path = MemoryPath::parse(file.path)?;
    let new = NewText {
        created: file.created.map(milliseconds),
        modified: file.modified.map(milliseconds),
        ..NewText::new(&path, file.text, existing)
    };
    write(&new)
}

/// Reads the first of these files, as many as a call may hold the store for. The result has one item for each: the text, and the
/// number of the file.
///
/// # Errors
/// Those of the store, damage to a file included.
pub(crate) fn read(open: &Open, paths: &[&str]) -> Result<Vec<Read>, StoreError> {
    // Of files in the order of a walk, the next ones are read in the same round trip.
    let source = ReadAhead::new(open, Scope::ALL);
    let (mut results, mut bytes) = (Vec::new(), 0_usize);
    for path in paths {
        let read = match MemoryPath::parse(path) {
            Ok(path) => file::read_whole(&source, open.root(), &path),
            Err(error) => Err(error.into()),
        };
        let read = match read {
            // Those before it are whole. It fails alone, if it is read first.
            Err(FileError::Store(StoreError::Tampered { .. })) if !results.is_empty() => break,
            Err(FileError::Store(error)) => return Err(error),
            read => read,
        };
        bytes = bytes.saturating_add(read.as_ref().map_or(0, |(text, _)| text.as_str().len()));
        results.push(read);
        if bytes > READ_BYTES {
            break;
        }
    }
    Ok(results)
}

/// A text with the number of its file.
pub(crate) type Read = Result<(FileText, u64), FileError>;

/// Bytes of text after which one reading of many files ends, so that writers do not wait for long.
const READ_BYTES: usize = 4 << 20;
