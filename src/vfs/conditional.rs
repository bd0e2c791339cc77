//! Changes that are made only if nobody has changed the file meanwhile.
//!
//! A hash is compared before the change, outside the writer queue. Inside it, only the number of the file's last change is
//! compared, which no two states of the store share.

use inmost_format::record::node::{Entry, File, Text};
use inmost_format::record::{NodeSource, RecordError, load_file};
use sha2::{Digest, Sha256};

use super::error::FileError;
use super::folder::{ResolvedPath, Target};
use super::path::MemoryPath;
use super::precondition::{FileVersion, Precondition};
use crate::session::{Session, StoreError};

/// What a running call compares.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Expected {
    /// Nothing.
    Anything,
    /// That there is neither a file nor a folder.
    Absent,
    /// That the last change of the file has this number.
    Version(u64),
}

impl Expected {
    /// Compares what is at a path.
    ///
    /// # Errors
    /// [`FileError::Changed`] without the state, which the caller reads.
    pub(super) fn check(self, target: &Target) -> Result<(), FileError> {
        let is_met = match self {
            Self::Anything => true,
            Self::Absent => matches!(target, Target::Missing { .. }),
            Self::Version(version) => {
                target.file().is_some_and(|(_, info)| info.version == version)
            }
        };
        if is_met { Ok(()) } else { Err(FileError::Changed(None)) }
    }
}

/// Makes a change if the condition holds. `attempt` may run more than once; it compares what it gets inside the writer
/// queue.
///
/// # Errors
/// [`FileError::Changed`] with the state that is there now; those of `attempt`.
pub(super) fn conditional<T>(
    session: &Session,
    path: &MemoryPath,
    condition: &Precondition,
    mut attempt: impl FnMut(Expected) -> Result<T, FileError>,
) -> Result<T, FileError> {
    for _ in 0..ATTEMPTS {
        match attempt(expectation(session, path, condition)?) {
            Err(FileError::Changed(_)) => {}
            done => return done,
        }
        // A change that is not committed yet cannot be read. Taking the queue commits it.
        session.exclusive(|_| Ok::<(), StoreError>(()))?;
        if !matches!(condition, Precondition::Sha256(_)) {
            break;
        }
    }
    Err(FileError::Changed(state(session, path)?.map(Box::new)))
}

/// What a running call compares for a condition. A hash is compared here.
///
/// # Errors
/// [`FileError::Changed`] if the file has another hash.
pub(super) fn expectation(
    session: &Session,
    path: &MemoryPath,
    condition: &Precondition,
) -> Result<Expected, FileError> {
    Ok(match *condition {
        Precondition::Absent => Expected::Absent,
        Precondition::Version(version) => Expected::Version(version),
        Precondition::Sha256(wanted) => match state(session, path)? {
            Some(found) if found.sha256 == wanted => Expected::Version(found.version),
            found => return Err(FileError::Changed(found.map(Box::new))),
        },
    })
}

/// The state of the file at a path; `None` if there is no file.
pub(crate) fn state(
    session: &Session,
    path: &MemoryPath,
) -> Result<Option<FileVersion>, FileError> {
    session.read(|open| {
        let target = ResolvedPath::new(open, open.root(), path)?.target;
        let Some((entry, info)) = target.file() else { return Ok(None) };
        let head = load_file(open, entry.head(), &entry.tag)?;
        let sha256 = hash(open, entry, &head)?;
        Ok(Some(FileVersion { version: info.version, bytes: info.bytes, sha256 }))
    })
}

fn hash(source: &impl NodeSource, entry: &Entry, head: &File) -> Result<[u8; 32], RecordError> {
    let mut hasher = Sha256::new();
    head.body.visit::<RecordError>(source, entry.id, 0, &mut |_, chunk: &Text| {
        hasher.update(chunk.as_str());
        Ok(true)
    })?;
    Ok(hasher.finalize().into())
}

/// How often a hash is compared again, if others change the file and back meanwhile.
const ATTEMPTS: usize = 8;
