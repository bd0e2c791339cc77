//! Errors of records.

use super::Kind;
use crate::crypto::aead::SealError;
use inmost_storage::StorageError;

/// A record could not be read or sealed.
#[derive(Debug)]
pub enum RecordError {
    /// The stored bytes are not the last ones written there.
    Damaged {
        /// The kind of the record that was expected.
        kind: Kind,
        /// Its flaw.
        flaw: Flaw,
    },
    /// The operating system returned no random bytes.
    Randomness,
    /// The engine failed.
    Storage(StorageError),
    /// A node is larger than the largest record: a bug in the layer above, refused before anything is written.
    TooLarge,
}

impl RecordError {
    /// Whether the record cannot be read: its bytes are damaged, or the engine's files are where it was.
    pub fn is_unreadable(&self) -> bool {
        matches!(
            self,
            Self::Damaged { .. } | Self::Storage(StorageError::Corrupt(_) | StorageError::Io(_))
        )
    }
}

/// A flaw of stored bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flaw {
    /// Nothing is stored at the address.
    Absent,
    /// The length or the version does not exist in this format.
    Frame,
    /// The bytes authenticate as something else, or their body does not decode.
    Malformed,
    /// The bytes do not authenticate under this store's key at this address.
    NotAuthentic,
    /// An intact record, but not the one the reference names: an older or newer state of it.
    Stale,
    /// More than one reference names the record.
    Repeated,
    /// A folder that is deeper than any path.
    TooDeep,
}

impl Flaw {
    /// A phrase for reports; names no path and no content.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Absent => "is missing",
            Self::Frame => "has an impossible length or version",
            Self::Malformed => "authenticates but does not decode",
            Self::NotAuthentic => "does not authenticate",
            Self::Stale => "is not the version its parent refers to",
            Self::Repeated => "is referred to more than once",
            Self::TooDeep => "lies deeper than any path leads",
        }
    }
}

impl From<SealError> for RecordError {
    fn from(error: SealError) -> Self {
        match error {
            SealError::Randomness(_) => Self::Randomness,
            SealError::TooLong => Self::TooLarge,
        }
    }
}

impl From<StorageError> for RecordError {
    fn from(error: StorageError) -> Self {
        Self::Storage(error)
    }
}
