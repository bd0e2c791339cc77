//! Moves a file into the place of another, which keeps its identity and its history, in one atomic step.

use inmost_format::record::Tag;

use super::arrange;
use super::change::target;
use super::conditional::{expectation, state};
use super::error::FileError;
use super::file::{self, FileView};
use super::folder::{ResolvedPath, Target};
use super::new_text::{Existing, NewText, write_records};
use super::path::MemoryPath;
use super::precondition::{FileVersion, Precondition};
use super::staged;
use crate::limits::STAGE_BYTES;
use crate::session::{Exclusive, Session};

/// Gives the file at the new path the text and the time of the one at the old path, which is deleted. Returns the state of the file
/// at the new path.
///
/// # Errors
/// Those of [`Files::replace_if`](crate::Files::replace_if).
pub(crate) fn replace(
    session: &Session,
    (old, new): (&MemoryPath, &MemoryPath),
    (moved, replaced): (&Precondition, &Precondition),
) -> Result<FileVersion, FileError> {
    if old.as_str() == new.as_str() {
        return Err(FileError::AlreadyExists);
    }
    let expected =
        [(old, expectation(session, old, moved)?), (new, expectation(session, new, replaced)?)];
    let mut differs = None;
    let result = session.undisturbed(|exclusive| {
        let step = exclusive.commit(|txn| {
            file::find(txn, &txn.root()?, old)?;
            for (path, expected) in expected {
                let target = ResolvedPath::new(txn, &txn.root()?, path)?.target;
                expected.check(&target).inspect_err(|_| differs = Some(path))?;
            }
            let at_new = ResolvedPath::new(txn, &txn.root()?, new)?.target;
            if matches!(at_new, Target::Missing { .. }) {
                arrange::rename_in(txn, old, new)?;
                return Ok::<_, FileError>(None);
            }
            let view = FileView::open(txn, &txn.root()?, old)?;
            Ok(Some((view.read()?, view.info().modified)))
        })?;
        let Some((text, modified)) = step else { return Ok(None) };
        let file = NewText::new(new, &text, Existing::Replace);
        let number = put(exclusive, old, &NewText { modified: Some(modified), ..file })?;
        Ok(Some(FileVersion::of_text(number, &text)))
    });
    match (result, differs) {
        (Ok(Some(version)), _) => Ok(version),
        (Ok(None), _) => state(session, new)?.ok_or(FileError::Changed(None)),
        (Err(FileError::Changed(_)), Some(path)) => {
            Err(FileError::Changed(state(session, path)?.map(Box::new)))
        }
        (Err(error), _) => Err(error),
    }
}

/// Deletes the file at the old path and writes the new one, each a change of its own, in one commit. Returns the number of the
/// latter.
fn put(
    exclusive: &mut Exclusive<'_>,
    old: &MemoryPath,
    file: &NewText<'_>,
) -> Result<u64, FileError> {
    // The quotas are checked below: here the text would count twice, at its old path too.
    let info = exclusive.commit(|txn| {
        let (_, before) = target(txn, file.path, true)?;
        Ok::<_, FileError>(file.info(before.as_ref()))
    })?;
    let is_long = file.text.len() > STAGE_BYTES;
    let staged = is_long.then(|| staged::stage(exclusive, file.text, info)).transpose()?;
    let numbers = exclusive.commit_each(2, |call, txn| {
        if call == 0 {
            arrange::delete_in(txn, old)?;
            return Ok(txn.number()?);
        }
        let object = match &staged {
            Some((id, name)) => (*id, staged::finish(txn, *id, name)?.0.tag),
            None => (write_records(txn, file.text)?, Tag::default()),
        };
        let (resolved, before) = file.place(txn)?.ok_or(FileError::NotFound)?;
        file.put(txn, &resolved, object, info, before)
    })?;
    Ok(numbers.last().copied().unwrap_or_default())
}
