//! Why a device did not synchronise.

use std::io::{self, ErrorKind};

use inmost::{FileError, StoreError};
use serde::{Deserialize, Serialize};

/// Why a device did not synchronise. Nothing is lost: the next attempt goes on where this one stopped.
#[derive(Debug, thiserror::Error, Serialize, Deserialize)]
#[non_exhaustive]
pub enum SyncError {
    /// The store is in a circle already.
    #[error("This store is in a circle of devices already.")]
    AlreadyMember,
    /// One change, with the earlier texts that it carries, is larger than 512 MiB.
    #[error("A change is too large for one object.")]
    ChangeTooLarge,
    /// A file could not be read or changed.
    #[error(transparent)]
    File(#[from] FileError),
    /// A device cannot have this name.
    #[error("A device is named by 1 to 32 letters, digits, spaces, '-', '_' and '.'.")]
    InvalidDeviceName,
    /// An invitation is mistyped or cut.
    #[error("The invitation is not complete, or has a mistyped character.")]
    InvalidInvitation,
    /// The store was changed all the time while changes of other devices were to be shown.
    #[error("The store kept changing.")]
    KeptChanging,
    /// The store has no folder of its own: it is in a database or in memory.
    #[error("Only a store in a folder of its own synchronises.")]
    NoFolder,
    /// The store is in no circle of devices.
    #[error("This store is in no circle of devices.")]
    NotAMember,
    /// The place has no circle of devices, or another one than this device is in.
    #[error("The place does not belong to this circle of devices.")]
    OtherCircle,
    /// A place for a new circle has objects already.
    #[error("The place has objects of a circle already.")]
    PlaceNotEmpty,
    /// The place is inside the folder of the store, or around it.
    #[error("The place and the folder of the store are inside one another.")]
    PlaceOverlapsStore,
    /// The place could not be read or written.
    #[error("The place of the circle cannot be used: {0}.")]
    PlaceUnavailable(
        #[source]
        #[serde(with = "wire")]
        io::Error,
    ),
    /// The state of synchronisation is damaged, or was sealed before the keys of the store were replaced.
    #[error("The state of synchronisation does not open with the keys of this store.")]
    StateUnreadable,
    /// The file that holds the state of synchronisation could not be read or written.
    #[error("The state of synchronisation cannot be used: {0}.")]
    StateUnavailable(
        #[source]
        #[serde(with = "wire")]
        io::Error,
    ),
    /// The store failed or refused a change.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// No other device of the circle has this name.
    #[error("No other device of the circle is called {0:?}.")]
    UnknownDevice(String),
}

impl SyncError {
    /// The name of the fact: that of the variant. For an error of the store or of a file it is the name that that one has.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::AlreadyMember => "AlreadyMember",
            Self::ChangeTooLarge => "ChangeTooLarge",
            Self::File(error) => error.name(),
            Self::InvalidDeviceName => "InvalidDeviceName",
            Self::InvalidInvitation => "InvalidInvitation",
            Self::KeptChanging => "KeptChanging",
            Self::NoFolder => "NoFolder",
            Self::NotAMember => "NotAMember",
            Self::OtherCircle => "OtherCircle",
            Self::PlaceNotEmpty => "PlaceNotEmpty",
            Self::PlaceOverlapsStore => "PlaceOverlapsStore",
            Self::PlaceUnavailable(_) => "PlaceUnavailable",
            Self::StateUnavailable(_) => "StateUnavailable",
            Self::StateUnreadable => "StateUnreadable",
            Self::Store(error) => error.name(),
            Self::UnknownDevice(_) => "UnknownDevice",
        }
    }

    /// What to do; empty for an error of a file.
    #[must_use]
    pub fn advice(&self) -> &'static str {
        match self {
            Self::AlreadyMember => {
                "`inmost sync` goes on with it, and `inmost sync leave` ends it."
            }
            Self::ChangeTooLarge => {
                "Split the largest files. What was changed is kept, and is sent then."
            }
            Self::File(FileError::Store(error)) | Self::Store(error) => error.advice(),
            Self::File(_) => "",
            Self::InvalidDeviceName => "Choose another name.",
            Self::InvalidInvitation => "Copy the whole line that `inmost sync invite` printed.",
            Self::KeptChanging => "Try again. What was changed is kept.",
            Self::NoFolder => {
                "Create a store in a folder. The hosts of one in a database share it already."
            }
            Self::NotAMember => {
                "Begin a circle with `inmost sync init`, or join one with `inmost sync join`."
            }
            Self::OtherCircle => {
                "Check the place and the invitation. A folder must have arrived on this device."
            }
            Self::PlaceNotEmpty => {
                "Give an empty place for a new circle. `inmost sync join` joins the one that is there."
            }
            Self::PlaceOverlapsStore => {
                "Choose a folder of its own beside the store. A store that is shared itself is damaged."
            }
            Self::PlaceUnavailable(error) => place_advice(error.kind()),
            Self::StateUnavailable(_) => "Check the folder of the store and the space on its disk.",
            Self::StateUnreadable => {
                "Leave the circle with `inmost sync leave --force`, then join it again. Files that are the same stay one file."
            }
            Self::UnknownDevice(_) => {
                "`inmost sync status` lists the devices. One that has published nothing is not among them and needs no name; `inmost sync leave` is for this one."
            }
        }
    }
}

/// What to do about a place that cannot be used. Changes are kept until it can.
fn place_advice(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            "Check that you may write there, the credentials and, for S3, the region and the clock. docs/SYNC.md says where credentials come from. Changes are kept."
        }
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            "Make room in the place, then try again. Changes are kept."
        }
        ErrorKind::InvalidInput | ErrorKind::Unsupported => {
            "Give another folder or URL. docs/SYNC.md has examples. `inmost sync leave --force` gives the place up."
        }
        ErrorKind::InvalidData => {
            "Check the URL, the clock, and that the certificate authority of the server is trusted; SSL_CERT_FILE names another one. Changes are kept."
        }
        ErrorKind::NotFound | ErrorKind::NotADirectory => {
            "Check that the folder or bucket is there; it is not made for you. Changes are kept. `inmost sync leave --force` gives the place up."
        }
        _ => "Check the place and the connection to it, then try again. Changes are kept.",
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_error_has_its_name_a_sentence_and_advice() {
        use SyncError as E;
        let io = || io::Error::from(ErrorKind::NotFound);
        for error in [
            E::AlreadyMember,
            E::ChangeTooLarge,
            E::InvalidDeviceName,
            E::InvalidInvitation,
            E::KeptChanging,
            E::NoFolder,
            E::NotAMember,
            E::OtherCircle,
            E::PlaceNotEmpty,
            E::PlaceOverlapsStore,
            E::PlaceUnavailable(io()),
            E::StateUnavailable(io()),
            E::StateUnreadable,
            E::UnknownDevice("desk".to_owned()),
        ] {
            assert_eq!(format!("{error:?}").split('(').next(), Some(error.name()));
            for text in [error.to_string(), error.advice().to_owned()] {
                assert!(text.ends_with('.') && text.len() > 15, "{text}");
            }
        }
        let of_file = E::File(FileError::NotFound);
        assert_eq!((of_file.name(), of_file.advice()), ("NotFound", ""));
    }
}
