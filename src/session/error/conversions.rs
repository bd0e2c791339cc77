//! What the errors of the layers below become.

use super::StoreError;
use inmost_format::crypto::kdf::KdfFailed;
use inmost_format::crypto::rng::RandomnessFailed;
use inmost_format::header::HeaderError;
use inmost_format::header::SlotKind;
use inmost_format::record::{Flaw, Kind, RecordError};
use inmost_storage::StorageError;

impl From<StorageError> for StoreError {
    fn from(error: StorageError) -> Self {
        match error {
            // While we hold the lock no other process may write, but one did.
            StorageError::Conflict => Self::tampered(Kind::Root, Flaw::Stale),
            StorageError::InUse(pid) => Self::InUse(pid),
            StorageError::Io(error) => Self::Io(error),
            StorageError::Missing => Self::NotAStore,
            StorageError::Replaced(what) => Self::FilesReplaced(what),
            StorageError::UntrustedFile(file) => Self::UntrustedFile(file.to_string()),
            StorageError::OtherOwner { file, owner } => Self::OtherOwner { file, owner },
            StorageError::NotBuilt => Self::EngineNotBuilt,
            StorageError::Poisoned => Self::Halted,
            StorageError::WriteFailed(reason) => (*reason).into(),
            StorageError::TooLarge => Self::TooLarge,
            StorageError::Full => Self::DiskFull,
            StorageError::Damaged(what) => Self::Damaged(what),
            StorageError::Forked => Self::Forked,
            StorageError::Unavailable(why) => Self::Unavailable(why),
            StorageError::Unknown(_) => Self::CommitUnknown,
            error @ StorageError::Corrupt(_) => Self::Storage(error.to_string()),
        }
    }
}

impl From<RecordError> for StoreError {
    fn from(error: RecordError) -> Self {
        match error {
            RecordError::Damaged { kind, flaw } => Self::tampered(kind, flaw),
            RecordError::Randomness => Self::RandomnessFailed,
            RecordError::Storage(error) => error.into(),
            RecordError::TooLarge => Self::TooLarge,
        }
    }
}

impl StoreError {
    /// Maps the error of an unlock with a credential of this kind.
    pub(crate) fn of_unlock(error: HeaderError, kind: SlotKind) -> Self {
        match (error, kind) {
            (HeaderError::WrongCredential, SlotKind::Passphrase) => Self::WrongPassphrase,
            (HeaderError::WrongCredential, kind) => Self::WrongKey(kind),
            (error, _) => error.into(),
        }
    }

    pub(crate) fn tampered(kind: Kind, flaw: Flaw) -> Self {
        Self::Tampered { what: kind.describe(), how: flaw.describe() }
    }
}

impl From<RandomnessFailed> for StoreError {
    fn from(_: RandomnessFailed) -> Self {
        Self::RandomnessFailed
    }
}

impl From<HeaderError> for StoreError {
    fn from(error: HeaderError) -> Self {
        match error {
            HeaderError::Damaged(_) => Self::HeaderDamaged,
            HeaderError::UnknownEngine(_) => Self::EngineNotBuilt,
            HeaderError::KdfFailed(KdfFailed::OutOfMemory(_)) => Self::OutOfMemory,
            HeaderError::KdfFailed(KdfFailed::Refused) => {
                Self::Tampered { what: "the header", how: "has invalid key derivation parameters" }
            }
            HeaderError::KdfOutOfBounds(bounds) => Self::KdfOutOfBounds(bounds),
            HeaderError::NotAStore => Self::NotAStore,
            HeaderError::Randomness(_) => Self::RandomnessFailed,
            HeaderError::Tampered(what) => Self::Tampered { what, how: "does not authenticate" },
            HeaderError::UnknownFlags(flags) => Self::UnknownFormat { version: FORMAT, flags },
            HeaderError::UnknownFormat(version) => Self::UnknownFormat { version, flags: 0 },
            HeaderError::WrongCredential => Self::WrongPassphrase,
            HeaderError::SlotsFull => Self::SlotsFull,
            HeaderError::NoSuchSlot(number) => Self::NoSuchSlot(number),
            HeaderError::LastSlot => Self::LastSlot,
            HeaderError::TooLong => Self::TooLarge,
        }
    }
}

/// The format that this version writes.
const FORMAT: u16 = 1;
