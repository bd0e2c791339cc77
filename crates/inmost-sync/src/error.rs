//! Why a device did not synchronise.

use std::io;

use inmost::{FileError, StoreError};
use serde::{Deserialize, Serialize};

/// Why a device did not synchronise. Nothing is lost: the next attempt goes on where this one stopped.
#[derive(Debug, thiserror::Error, Serialize, Deserialize)]
#[non_exhaustive]
pub enum SyncError {
    /// The store failed or refused a change.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A file could not be read or changed.
    #[error(transparent)]
    File(#[from] FileError),
    /// The place could not be read or written.
    #[error("the place of the circle cannot be used: {0}")]
    Place(
        #[source]
        #[serde(with = "wire")]
        io::Error,
    ),
    /// The file that holds the state of synchronisation could not be read or written.
    #[error("the state of synchronisation cannot be used: {0}")]
    State(
        #[source]
        #[serde(with = "wire")]
        io::Error,
    ),
    /// The state of synchronisation is damaged, or was sealed before the keys of the store were replaced.
    #[error("the state of synchronisation does not open with the keys of this store")]
    StateUnreadable,
    /// The store is in no circle of devices.
    #[error("this store is in no circle of devices")]
    NotAMember,
    /// The store is in a circle already.
    #[error("this store is in a circle of devices already")]
    AlreadyMember,
    /// The place has no circle of devices, or another one than this device is in.
    #[error("the place does not belong to this circle of devices")]
    OtherCircle,
    /// A place for a new circle has objects already.
    #[error("the place has objects of a circle already")]
    NotEmpty,
    /// An invitation is mistyped or cut.
    #[error("the invitation is not complete, or has a mistyped character")]
    Invitation,
    /// A device cannot have this name.
    #[error("a device is named by 1 to 32 letters, digits, spaces, '-', '_' and '.'")]
    Label,
    /// No other device of the circle has this name.
    #[error("no other device of the circle is called {0:?}")]
    UnknownDevice(String),
    /// The store was changed all the time while changes of other devices were to be shown.
    #[error("the store kept changing")]
    Busy,
    /// One change, with the earlier texts that it carries, is larger than 512 MiB.
    #[error("a change is too large for one object")]
    TooLarge,
    /// The operating system returned no random bytes.
    #[error("the operating system returned no random bytes")]
    Randomness,
}

/// How an error of a place goes through the key daemon: as its kind, which the advice depends on, and its message.
mod wire {
    use std::io::{self, ErrorKind};

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(error: &io::Error, to: S) -> Result<S::Ok, S::Error> {
        let kind = KINDS.iter().position(|kind| *kind == error.kind());
        (kind, error.to_string()).serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<io::Error, D::Error> {
        let (kind, message) = <(Option<usize>, String)>::deserialize(from)?;
        let kind = kind.and_then(|kind| KINDS.get(kind)).copied();
        Ok(io::Error::new(kind.unwrap_or(ErrorKind::Other), message))
    }

    const KINDS: [ErrorKind; 10] = [
        ErrorKind::InvalidData,
        ErrorKind::InvalidInput,
        ErrorKind::NotADirectory,
        ErrorKind::NotFound,
        ErrorKind::PermissionDenied,
        ErrorKind::QuotaExceeded,
        ErrorKind::ReadOnlyFilesystem,
        ErrorKind::StorageFull,
        ErrorKind::TimedOut,
        ErrorKind::Unsupported,
    ];
}
