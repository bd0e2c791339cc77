//! Writes many files in few commits.
//!
//! Each file is a call of its own. It joins the group that is being formed and does not wait, so the files after it
//! join the same group until that is full. A file is written whole or not at all, and the order of the files is the
//! order in which they become durable. The files of one commit become durable together.

use super::error::FileError;
use super::new_file::{NewFile, WriteOutcome};
use super::new_text::{Existing, NewText};
use super::path::MemoryPath;
use super::staged;
use crate::limits::STAGE_BYTES;
use crate::session::{Series, Session, StoreError, milliseconds};

/// Writes files in their order. The result has one item for each.
///
/// # Errors
/// Those of the store. The files before some point of the order are then written, and those after it are not.
pub(crate) fn write(
    session: &Session,
    files: &[NewFile<'_>],
) -> Result<Vec<Result<WriteOutcome, FileError>>, StoreError> {
    session.series(|series| {
        let each = files.iter().map(|file| match write_one(session, series, file) {
            // Nothing was written, and the store goes on.
            Err(FileError::Store(StoreError::TooLarge)) => Ok(Err(StoreError::TooLarge.into())),
            Err(FileError::Store(error)) => Err(error),
            result => Ok(result),
        });
        each.collect()
    })
}

fn write_one(
    session: &Session,
    series: &mut Series<'_>,
    file: &NewFile<'_>,
) -> Result<WriteOutcome, FileError> {
    let path = MemoryPath::parse(file.path)?;
    let new = NewText {
        created: file.created.map(milliseconds),
        modified: file.modified.map(milliseconds),
        ..NewText::new(&path, file.text, Existing::Compare { replace: file.replaces })
    };
    let written = if file.text.len() > STAGE_BYTES {
        staged::write(session, &new)?
    } else {
        series.run(|txn| new.write(txn))?
    };
    Ok(if written.is_some() { WriteOutcome::Written } else { WriteOutcome::Unchanged })
}
