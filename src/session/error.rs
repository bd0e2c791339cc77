//! What the application must act on. The model never reads any of it.

use std::fmt;

use inmost_format::crypto::cost::KdfOutOfBounds;
use inmost_format::crypto::kdf::KdfFailed;
use inmost_format::crypto::rng::RandomnessFailed;
use inmost_format::header::HeaderError;
use inmost_format::header::SlotKind;
use inmost_format::record::{Flaw, Kind, RecordError};
use inmost_storage::StorageError;

/// A store could not do what was asked. The application or its user must act; nothing in it names a path
/// or a text of the memory.
///
/// [`Display`](fmt::Display) says what happened, [`advice`](StoreError::advice) what to do.
#[derive(Debug)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum StoreError {
    /// There is a store, or something else, where a new one should go.
    AlreadyExists,
    /// The disk is full. Nothing that was acknowledged is lost; the store can be unlocked and read, and things in it can
    /// be deleted.
    DiskFull,
    /// The store names an engine that this build does not have.
    EngineNotBuilt,
    /// A commit failed; what is on disk is known only after unlocking again.
    Halted,
    /// The freshness anchor, that of the application or the one beside the header, was written with other keys than the
    /// store has.
    ForeignAnchor,
    /// Both copies of the header are damaged or missing.
    HeaderDamaged,
    /// The header is not the one that the records name, nor what a crash leaves of the next change: it was put back from
    /// a copy. A removed passphrase could be alive again in it.
    HeaderRolledBack {
        /// The revision that the records name.
        expected: u64,
        /// The revision of the header. It may be the same: two headers of one revision exist where a change was cut short
        /// and discarded.
        found: u64,
    },
    /// The store lives in memory; it has neither header nor keyslots.
    InMemory,
    /// The freshness anchor that the application keeps cannot be read or written, and what was to be done would leave it
    /// behind for good.
    AnchorUnavailable,
    /// Another process holds the store; its process id where known.
    InUse(Option<u32>),
    /// The operating system failed.
    Io(#[cfg_attr(feature = "serde", serde(with = "io_error"))] std::io::Error),
    /// The key agent that holds the store could not do what was asked; a sentence that names the store and the reason.
    KeyAgent(String),
    /// The header asks for more, or less, key derivation than is accepted.
    KdfOutOfBounds(KdfOutOfBounds),
    /// The store has one keyslot left, without which nobody could open it again.
    LastSlot,
    /// The session was locked.
    Locked,
    /// No keyslot of this number is in use.
    NoSuchSlot(u8),
    /// There is no store at this place.
    NotAStore,
    /// There is not enough memory to derive the key.
    OutOfMemory,
    /// What has the name of one of the store's files is none that is safe to use, a link to another file above all.
    /// It was left as it is. In words, without a path.
    UntrustedFile(String),
    /// The process that holds the store went away before it said whether a change was made.
    OutcomeUnknown,
    /// The operating system gave no randomness.
    RandomnessFailed,
    /// The store is older than a state that was already seen.
    RolledBack {
        /// The number of the commit that was expected at least.
        expected: u64,
        /// The number found.
        found: u64,
    },
    /// The store was written anew and goes on with that, but the records from before could not be removed: they are still on
    /// the disk, under the key that they had.
    OldRecordsRemain(String),
    /// All eight keyslots are in use.
    SlotsFull,
    /// The engine failed, in its own words.
    Storage(String),
    /// A tool is confined to a folder that is a file, or lies below one: someone else put it there.
    SubtreeIsFile,
    /// Stored bytes are not what was written there: damage or tampering, which look alike.
    Tampered {
        /// What is affected, in general words.
        #[cfg_attr(feature = "serde", serde(deserialize_with = "crate::session::phrase"))]
        what: &'static std::primitive::str,
        /// What is wrong with it.
        #[cfg_attr(feature = "serde", serde(deserialize_with = "crate::session::phrase"))]
        how: &'static std::primitive::str,
    },
    /// One change touches more of the tree than a single durable step may.
    TooLarge,
    /// The store is of a format that this version does not know.
    #[non_exhaustive]
    UnknownFormat {
        /// The version of the format.
        version: u16,
        /// Flags of that version, of which at least one is unknown if the version is not.
        flags: u32,
    },
    /// No keyslot of this kind opens with the credential: what [`WrongPassphrase`](StoreError::WrongPassphrase) is for a
    /// credential that is not a passphrase alone.
    WrongKey(SlotKind),
    /// The passphrase is not the one of this store.
    WrongPassphrase,
}

impl StoreError {
    /// One sentence that says what to do.
    #[must_use]
    pub fn advice(&self) -> &'static str {
        match self {
            Self::AlreadyExists => "Choose another place, or open the store that is there.",
            Self::DiskFull => {
                "Free some room on the disk, or delete something in the store, then unlock it again; nothing that was saved is lost."
            }
            Self::EngineNotBuilt => "Use a build that includes the engine.",
            Self::Halted => "Unlock the store again; the last change may or may not be there.",
            Self::ForeignAnchor => {
                "Look for a newer copy of the store: this one may be from before its keys were rotated. Or give the anchor of this store."
            }
            Self::AnchorUnavailable => {
                "Make the anchor reachable, unlock the store again, and repeat this."
            }
            Self::OldRecordsRemain(_) => {
                "See what holds the old generation's files, then unlock the store again, which removes them; see that they are gone."
            }
            Self::HeaderDamaged => {
                "Put back header.a and header.b from an earlier copy of this very folder, from after its last purge; if a keyslot has changed since, only a salvage opens with them. Or use a backup as a whole."
            }
            Self::HeaderRolledBack { .. } => {
                "Put back the newest header.a and header.b, or a whole backup of the store."
            }
            Self::InMemory => "Create a store in a folder to give it keyslots.",
            Self::InUse(_) => {
                "Close the other program that uses the store, or wait for it. If `inmost unlock` holds it, open it through the key agent, with the crate inmost-agent."
            }
            Self::KeyAgent(_) => {
                "Connect again; if that does not help, run `inmost lock`, then `inmost unlock`."
            }
            Self::Io(_) | Self::Storage(_) => {
                "Check the disk, its free space and the permissions, then try again."
            }
            Self::KdfOutOfBounds(_) => {
                "Choose other costs; a store that asks for these opens only where its limits are raised on purpose."
            }
            Self::LastSlot => "Add another keyslot first, or replace this one.",
            Self::Locked => "Unlock the store with its passphrase.",
            Self::NotAStore => "Check the path, or create a store there first.",
            Self::NoSuchSlot(_) => "List the keyslots to see which are in use.",
            Self::UntrustedFile(_) => {
                "Do not trust the folder if it came from somebody else; otherwise move that aside, or make a copy of the store that shares no files with it."
            }
            Self::OutOfMemory => "Close other programs, or unlock on a machine with more memory.",
            Self::OutcomeUnknown => {
                "Look whether the change is there before you try again; what was acknowledged before is safe."
            }
            Self::RandomnessFailed => "Try again; if it stays, the operating system is at fault.",
            Self::RolledBack { .. } => {
                "Look for a newer copy of the store; a restored backup is the usual cause."
            }
            Self::SlotsFull => "Remove or replace a keyslot that is no longer needed.",
            Self::SubtreeIsFile => {
                "Rename or remove that file, or confine the tool to another folder."
            }
            Self::Tampered { .. } => {
                "Restore a backup; the rest of the store stays readable, and nothing was repaired."
            }
            Self::TooLarge => "Split the change, or spread large folders over several.",
            Self::UnknownFormat { .. } => "Use the version that made the store, or a newer one.",
            Self::WrongKey(SlotKind::PassphraseAndKeyfile) => {
                "Check that it is the keyfile of this store, then try the passphrase again."
            }
            Self::WrongKey(_) => "Check that the key is one of this store and was not replaced.",
            Self::WrongPassphrase => {
                "Try again, or use another key of the store, such as its recovery key."
            }
        }
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AlreadyExists => f.write_str("There is something at this place already."),
            Self::DiskFull => f.write_str("The disk is full."),
            Self::EngineNotBuilt => f.write_str("The store uses an engine that this build lacks."),
            Self::Halted => f.write_str("An earlier write failed, so the session has stopped."),
            Self::ForeignAnchor => {
                f.write_str("The freshness anchor was written with other keys than this store has.")
            }
            Self::AnchorUnavailable => {
                f.write_str("The freshness anchor cannot be read or written. Nothing has changed.")
            }
            Self::OldRecordsRemain(why) => write!(
                f,
                "The store was written anew, but its old records could not be removed: {why}"
            ),
            Self::HeaderDamaged => f.write_str("The header of the store is damaged or missing."),
            Self::HeaderRolledBack { expected, found } if expected == found => {
                write!(
                    f,
                    "The header was rolled back: its records name another of revision {found}."
                )
            }
            Self::HeaderRolledBack { expected, found } => {
                write!(
                    f,
                    "The header was rolled back: it has revision {found}, its records {expected}."
                )
            }
            Self::InMemory => f.write_str("A store in memory has no keyslots."),
            Self::InUse(Some(pid)) => write!(f, "The store is in use by process {pid}."),
            Self::InUse(None) => f.write_str("The store is in use by another process."),
            Self::Io(error) => write!(f, "The operating system reports: {error}."),
            Self::KeyAgent(sentence) => f.write_str(sentence),
            Self::KdfOutOfBounds(bounds) => {
                write!(f, "The cost of unlocking is out of bounds: {bounds}.")
            }
            Self::LastSlot => f.write_str("The last keyslot cannot be removed."),
            Self::Locked => f.write_str("The store is locked."),
            Self::NoSuchSlot(number) => write!(f, "Keyslot {number} is not in use."),
            Self::NotAStore => f.write_str("There is no store at this place."),
            Self::UntrustedFile(what) => {
                write!(f, "A file of the store is not what it should be: {what}.")
            }
            Self::OutOfMemory => f.write_str("There is not enough memory to derive the key."),
            Self::OutcomeUnknown => f.write_str(
                "The process that holds the store ended before it said whether the change was made.",
            ),
            Self::RandomnessFailed => f.write_str("The operating system gave no randomness."),
            Self::RolledBack { expected, found } => {
                write!(
                    f,
                    "The store was rolled back: it is at {found}, and {expected} was seen before."
                )
            }
            Self::SlotsFull => f.write_str("All eight keyslots are in use."),
            Self::Storage(what) => write!(f, "The storage engine failed: {what}."),
            Self::SubtreeIsFile => {
                f.write_str("The folder that the memory tool is confined to is a file.")
            }
            Self::Tampered { what, how } => {
                write!(f, "The store was damaged or tampered with: {what} {how}.")
            }
            Self::TooLarge => f.write_str("The change is too large for one durable step."),
            Self::UnknownFormat { version, flags: 0 } => {
                write!(f, "The store has format {version}, which this version does not know.")
            }
            Self::UnknownFormat { flags, .. } => {
                write!(f, "The store uses features that this version does not know: {flags:#x}.")
            }
            Self::WrongKey(SlotKind::PassphraseAndKeyfile) => {
                f.write_str("The passphrase or the keyfile is wrong.")
            }
            Self::WrongKey(kind) => write!(f, "No keyslot opens with this {kind}."),
            Self::WrongPassphrase => f.write_str("The passphrase is wrong."),
        }
    }
}

impl std::error::Error for StoreError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            _ => None,
        }
    }
}

impl From<StorageError> for StoreError {
    fn from(error: StorageError) -> Self {
        match error {
            // Nobody else may write while we hold the lock: someone did.
            StorageError::Conflict => Self::tampered(Kind::Root, Flaw::Stale),
            StorageError::InUse(pid) => Self::InUse(pid),
            StorageError::Io(error) => Self::Io(error),
            StorageError::Missing => Self::NotAStore,
            StorageError::UntrustedFile(file) => Self::UntrustedFile(file.to_string()),
            StorageError::NotBuilt => Self::EngineNotBuilt,
            StorageError::Poisoned => Self::Halted,
            StorageError::TooLarge => Self::TooLarge,
            StorageError::Full => Self::DiskFull,
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
    /// Why an unlock with a credential of this kind failed.
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
                Self::Tampered { what: "the header", how: "asks for impossible key derivation" }
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
        }
    }
}

/// An error of the operating system by its words: its number means nothing on another system.
#[cfg(feature = "serde")]
mod io_error {
    use std::io;

    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(
        error: &io::Error,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_str(error)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<io::Error, D::Error> {
        String::deserialize(deserializer).map(io::Error::other)
    }
}

/// The format that this version writes.
const FORMAT: u16 = 1;

#[cfg(test)]
mod tests;
