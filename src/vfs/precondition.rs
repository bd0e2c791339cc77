//! Changes that are made only if nobody has changed the file meanwhile.
//!
//! A hash is compared before the change, outside the writer queue. Inside it, only the number of the file's last change is
//! compared, which no two states of the store share.

use std::fmt::{self, Write};

use inmost_format::record::node::{File, Text, What};
use inmost_format::record::{NodeSource, RecordError, load_file};
use sha2::{Digest, Sha256};

use super::change::length;
use super::error::FileError;
use super::folder::{ResolvedPath, Target};
use super::path::MemoryPath;
use crate::session::{Session, StoreError};

/// What must be at a path for a change to be made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Precondition {
    /// Neither a file nor a folder.
    Absent,
    /// The file whose last change has this number.
    Version(u64),
    /// A file whose bytes have this SHA-256.
    Sha256([u8; 32]),
}

impl Precondition {
    /// A file whose bytes have this SHA-256, in 64 hexadecimal digits of either case; `None` for any other text. Does no I/O.
    #[must_use]
    pub fn of_sha256_digits(digits: &str) -> Option<Self> {
        // Checked first, because the parser of numbers accepts a sign.
        if digits.len() != 64 || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return None;
        }
        let mut bytes = [0; 32];
        for (byte, at) in bytes.iter_mut().zip((0..).step_by(2)) {
            *byte = u8::from_str_radix(digits.get(at..at + 2)?, 16).ok()?;
        }
        Some(Self::Sha256(bytes))
    }
}

/// The state of a file: what a later change can be conditional on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct FileVersion {
    /// The number of its last change. A rename is a change too.
    pub version: u64,
    /// Bytes of its text.
    pub bytes: u64,
    /// The SHA-256 of its bytes.
    pub sha256: [u8; 32],
}

impl FileVersion {
    /// The SHA-256 in 64 lower-case hexadecimal digits. Does no I/O.
    #[must_use]
    pub fn sha256_digits(&self) -> String {
        self.sha256.iter().fold(String::with_capacity(64), |mut digits, byte| {
            // Writing to a string cannot fail.
            let _ = write!(digits, "{byte:02x}");
            digits
        })
    }
}

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
        let found = match target {
            Target::Entry(entry) => match entry.what {
                What::File(info) => Some(info.version),
                What::Folder => None,
            },
            Target::Root(_) => None,
            Target::Missing { .. } => {
                return match self {
                    Self::Anything | Self::Absent => Ok(()),
                    Self::Version(_) => Err(FileError::Changed(None)),
                };
            }
        };
        match self {
            Self::Anything => Ok(()),
            Self::Version(version) if found == Some(version) => Ok(()),
            Self::Absent | Self::Version(_) => Err(FileError::Changed(None)),
        }
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
    session.read(|open| match ResolvedPath::new(open, open.root(), path)?.target {
        Target::Entry(entry) => match entry.what {
            What::File(info) => {
                let head = load_file(open, entry.head(), &entry.tag)?;
                let sha256 = hash(open, &entry, &head)?;
                Ok(Some(FileVersion { version: info.version, bytes: info.bytes, sha256 }))
            }
            What::Folder => Ok(None),
        },
        Target::Root(_) | Target::Missing { .. } => Ok(None),
    })
}

fn hash(
    source: &impl NodeSource,
    entry: &inmost_format::record::node::Entry,
    head: &File,
) -> Result<[u8; 32], RecordError> {
    let mut hasher = Sha256::new();
    head.body.visit::<RecordError>(source, entry.id, 0, &mut |_, chunk: &Text| {
        hasher.update(chunk.as_str());
        Ok(true)
    })?;
    Ok(hasher.finalize().into())
}

/// The state of a file with this text.
pub(crate) fn version_of(version: u64, text: &str) -> FileVersion {
    FileVersion { version, bytes: length(text), sha256: Sha256::digest(text).into() }
}

impl fmt::Display for FileVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "version {} of {} bytes", self.version, self.bytes)
    }
}

/// How often a hash is compared again, if others change the file and back meanwhile.
const ATTEMPTS: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_in_digits_is_read_as_it_was_written() {
        let bytes = std::array::from_fn(|at| u8::try_from(at * 8).unwrap());
        let digits = FileVersion { version: 1, bytes: 1, sha256: bytes }.sha256_digits();
        assert!(digits.starts_with("00081018") && digits.len() == 64, "{digits}");
        for digits in [&digits, &digits.to_uppercase()] {
            assert_eq!(Precondition::of_sha256_digits(digits), Some(Precondition::Sha256(bytes)));
        }
        for invalid in
            ["", "0", &"+1".repeat(32), &"g".repeat(64), &"é".repeat(32), &"0".repeat(66)]
        {
            assert_eq!(Precondition::of_sha256_digits(invalid), None, "{invalid}");
        }
    }
}
