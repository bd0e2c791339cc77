//! Errors that the application must act on. The model never reads them.

mod conversions;
#[cfg(feature = "serde")]
pub(crate) mod wire;

use std::fmt;
use std::io::ErrorKind;

use inmost_format::crypto::cost::KdfOutOfBounds;
use inmost_format::header::SlotKind;

use crate::printable::{printable, without_path};

/// An operation on a store failed. The application or its user must act. No message contains a path or a text of the
/// memory.
///
/// [`Display`](fmt::Display) describes what happened; [`advice`](StoreError::advice) says what to do. The words of an engine or
/// of the operating system are part of the message only if they name no path of the host, and control characters are escaped,
/// so a message can go to a log or a terminal.
#[derive(Debug)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum StoreError {
    /// The destination of a new store already exists, or is not an empty folder.
    AlreadyExists,
    /// The records are damaged and were not opened: an engine that opens damaged files can destroy what is left. No file of
    /// the store has changed. Contains a description without a path.
    Damaged(String),
    /// The disk is full. Nothing that was acknowledged is lost. The store can still be unlocked and read, and files in
    /// it can be deleted.
    DiskFull,
    /// The clock of this machine shows a time before 1970. Nothing was opened or changed.
    ClockBefore1970,
    /// This process was forked from one that had opened the store or, with sled, any store. A session, a vault, a
    /// credential and the threads of sled belong to the process that made them.
    Forked,
    /// The store's header names an engine that this build does not include.
    EngineNotBuilt,
    /// A commit failed. The state on disk is known only after the next unlock.
    Halted,
    /// It is not known whether this is the newest state of the store, and [`require_fresh`](crate::VaultOptions::require_fresh)
    /// was asked for. Nothing has changed.
    FreshnessUnknown,
    /// The freshness anchor, either the application's or the one beside the header, was written under keys that are not
    /// this store's.
    ForeignAnchor,
    /// Both copies of the header are damaged or missing.
    HeaderDamaged,
    /// The records are older than the header: the newest commits are lost, changes of the header among them. Accepting it
    /// makes no removed keyslot valid, because the keyslots are those of the newer header, unless that is from a copy of the store
    /// that was used on its own.
    RecordsBehindHeader {
        /// The revision of the header.
        expected: u64,
        /// The revision that the records name.
        found: u64,
    },
    /// The header was rolled back: it is neither the header that the records name, nor the next one that an interrupted
    /// change leaves. It was restored from a copy, in which a removed passphrase may still be valid.
    HeaderRolledBack {
        /// The revision that the records or an anchor name.
        expected: u64,
        /// The revision of the header. It can equal `expected`: an interrupted and discarded change leaves a second
        /// header of the same revision.
        found: u64,
    },
    /// The store lives in memory and has neither a header nor keyslots.
    InMemory,
    /// A copy of the store was written, but it does not read back as it should.
    CopyNotVerified {
        /// The folder of the copy.
        copy: String,
        /// The problem with it: the message of another error.
        why: String,
    },
    /// The application's freshness anchor cannot be read or written, and the operation would leave it permanently out
    /// of date.
    AnchorUnavailable,
    /// Another process holds the store. Contains its process id where known.
    InUse(Option<u32>),
    /// The operating system returned an error.
    Io(#[cfg_attr(feature = "serde", serde(with = "wire"))] std::io::Error),
    /// The key daemon that holds the store could not carry out the request. The sentence names the store and the reason.
    KeyDaemon(String),
    /// The header asks for a key derivation outside the accepted bounds, above or below.
    KdfOutOfBounds(KdfOutOfBounds),
    /// The store has only one keyslot left. Without it, the store could never be opened again.
    LastSlot,
    /// The session was locked.
    Locked,
    /// No keyslot of this number is in use.
    NoSuchSlot(u8),
    /// There is no store at this path.
    NotAStore,
    /// The store, or a file of it, belongs to another user. Nothing was opened or written: what root creates in the store of another
    /// user would lock that user out.
    OtherOwner {
        /// The file below the folder of the store; empty for the folder itself.
        file: String,
        /// The number of its user.
        owner: u32,
    },
    /// There is not enough memory to derive the key.
    OutOfMemory,
    /// The file under the name of one of the store's files is not safe to use, for example a link to another file. It
    /// was left unchanged. Contains a description without a path.
    UntrustedFile(String),
    /// Another program has replaced, moved, removed or linked files of the store while it was open, as a sync client or a restore
    /// does. Nothing is saved from then on: the session has stopped. What was saved right before may be in the files that were
    /// replaced. Contains a description without a path.
    FilesReplaced(String),
    /// The process that holds the store ended before it reported whether a change was made.
    OutcomeUnknown,
    /// The connection to a shared store was lost while a change was stored, and it could not be found out whether it is
    /// there; or the server of the store contradicts itself about that. The change is there as a whole or not at all.
    CommitUnknown,
    /// The server of a shared store cannot be reached or cannot take part now. The text says why. Nothing has changed.
    Unavailable(String),
    /// A new passphrase has a line break or a NUL, so that nobody could type it at a prompt. One that is in use still unlocks.
    PassphraseNotOneLine,
    /// The operating system returned no random bytes.
    RandomnessFailed,
    /// The store is older than a state that was seen before.
    RolledBack {
        /// The lowest number that the newest commit can have.
        expected: u64,
        /// The number of the newest commit found.
        found: u64,
    },
    /// The store was rewritten and uses the new records, but the old records could not be removed. They are still on
    /// the disk, under their old key.
    OldRecordsRemain(String),
    /// All eight keyslots are in use.
    SlotsFull,
    /// The engine failed. Contains the engine's own message.
    Storage(String),
    /// The memory tool is confined to a folder, but someone else has put a file at its path or above it.
    SubtreeIsFile,
    /// Stored bytes differ from those that were written. Damage and tampering look alike.
    Tampered {
        /// The affected object, in general words.
        #[cfg_attr(feature = "serde", serde(deserialize_with = "crate::session::phrase"))]
        what: &'static std::primitive::str,
        /// The problem with it.
        #[cfg_attr(feature = "serde", serde(deserialize_with = "crate::session::phrase"))]
        how: &'static std::primitive::str,
    },
    /// One change touches more records than a single durable step may.
    TooLarge,
    /// The format of the store is unknown to this version.
    #[non_exhaustive]
    UnknownFormat {
        /// The version of the format.
        version: u16,
        /// The flags of that version. If the version is known, at least one flag is not.
        flags: u32,
    },
    /// No keyslot of this kind opens with the credential. Counterpart of
    /// [`WrongPassphrase`](StoreError::WrongPassphrase) for every credential other than a passphrase alone.
    WrongKey(SlotKind),
    /// The passphrase opens no keyslot of this store.
    WrongPassphrase,
}

impl StoreError {
    /// The name of the fact, such as `WrongPassphrase`. It is that of the variant and never changes its meaning.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::AlreadyExists => "AlreadyExists",
            Self::AnchorUnavailable => "AnchorUnavailable",
            Self::ClockBefore1970 => "ClockBefore1970",
            Self::CommitUnknown => "CommitUnknown",
            Self::CopyNotVerified { .. } => "CopyNotVerified",
            Self::Damaged(_) => "Damaged",
            Self::DiskFull => "DiskFull",
            Self::EngineNotBuilt => "EngineNotBuilt",
            Self::FilesReplaced(_) => "FilesReplaced",
            Self::ForeignAnchor => "ForeignAnchor",
            Self::Forked => "Forked",
            Self::FreshnessUnknown => "FreshnessUnknown",
            Self::Halted => "Halted",
            Self::HeaderDamaged => "HeaderDamaged",
            Self::HeaderRolledBack { .. } => "HeaderRolledBack",
            Self::InMemory => "InMemory",
            Self::InUse(_) => "InUse",
            Self::Io(_) => "Io",
            Self::KdfOutOfBounds(_) => "KdfOutOfBounds",
            Self::KeyDaemon(_) => "KeyDaemon",
            Self::LastSlot => "LastSlot",
            Self::Locked => "Locked",
            Self::NoSuchSlot(_) => "NoSuchSlot",
            Self::NotAStore => "NotAStore",
            Self::OldRecordsRemain(_) => "OldRecordsRemain",
            Self::OtherOwner { .. } => "OtherOwner",
            Self::OutOfMemory => "OutOfMemory",
            Self::OutcomeUnknown => "OutcomeUnknown",
            Self::PassphraseNotOneLine => "PassphraseNotOneLine",
            Self::RandomnessFailed => "RandomnessFailed",
            Self::RecordsBehindHeader { .. } => "RecordsBehindHeader",
            Self::RolledBack { .. } => "RolledBack",
            Self::SlotsFull => "SlotsFull",
            Self::Storage(_) => "Storage",
            Self::SubtreeIsFile => "SubtreeIsFile",
            Self::Tampered { .. } => "Tampered",
            Self::TooLarge => "TooLarge",
            Self::Unavailable(_) => "Unavailable",
            Self::UnknownFormat { .. } => "UnknownFormat",
            Self::UntrustedFile(_) => "UntrustedFile",
            Self::WrongKey(_) => "WrongKey",
            Self::WrongPassphrase => "WrongPassphrase",
        }
    }

    /// Fails in a forked child. Every call checks this before it takes a lock, because another thread of the parent may have
    /// held it at the fork, and before it uses a secret, because a child has none of its parent's.
    pub(crate) fn check_process(is_ours: bool) -> Result<(), Self> {
        if is_ours { Ok(()) } else { Err(Self::Forked) }
    }

    /// Refuses a new passphrase that nobody can type.
    pub(crate) fn check_new(is_one_line: bool) -> Result<(), Self> {
        if is_one_line { Ok(()) } else { Err(Self::PassphraseNotOneLine) }
    }

    /// Returns one sentence that says what to do, in words for every language that the store is used from.
    #[must_use]
    pub fn advice(&self) -> &'static str {
        match self {
            Self::AlreadyExists => "Choose another path, or an empty folder.",
            Self::Damaged(_) => {
                "Copy the whole folder of the store to another place first; then run `inmost repair`, and `inmost salvage` if that is not enough."
            }
            Self::DiskFull => {
                "Free some disk space, or delete something in the store; nothing that was saved is lost."
            }
            Self::CopyNotVerified { .. } => {
                "Do not rely on the copy: destroy it, check the disk that it is on, and make another."
            }
            Self::ClockBefore1970 => "Set the clock of this machine, then try again.",
            Self::Forked => {
                "Fork before you open the first store, or open the store in a newly started program. To share one store, run `inmost unlock` and connect to its key daemon from each process after the fork."
            }
            Self::EngineNotBuilt => "Use a build that includes the engine.",
            Self::Halted => "Unlock the store again; the last change may or may not be there.",
            Self::FilesReplaced(_) => {
                "Stop the program that changes them, such as a sync client or a restore, and copy the whole folder of the store to another place; then unlock the store again and check the last changes, which may be missing."
            }
            Self::FreshnessUnknown => {
                "Look for a newer copy of the store, and whether the anchor that you keep elsewhere can be read. If there is none, unlock the store without requiring a known freshness, look at its newest entries and its keyslots, and accept it with `inmost accept-rollback`."
            }
            Self::ForeignAnchor => {
                "Look for a newer copy of the store: this one may be from before its keys were rotated. If the anchor is that of another store, use this store's own."
            }
            Self::AnchorUnavailable => {
                "Make the anchor available, unlock the store again, and repeat the operation."
            }
            Self::OldRecordsRemain(_) => {
                "Find out which program holds the old generation's files, unlock the store again to remove them, then check that they are gone."
            }
            Self::HeaderDamaged => {
                "Restore header.a and header.b from a copy of this same folder that was made after its last purge; if a keyslot has changed since then, only a salvage works with them. Or restore a whole backup."
            }
            Self::HeaderRolledBack { .. } => {
                "Restore the newest header.a and header.b, or a whole backup of the store."
            }
            Self::InMemory => "Create a store in a folder to give it keyslots.",
            Self::InUse(_) => {
                "Close the other program, or the other part of this program, that uses the store, or wait until it is done. If `inmost unlock` holds the store, connect to its key daemon instead."
            }
            Self::KeyDaemon(_) => {
                "Connect again; if that does not help, run `inmost lock`, then `inmost unlock`."
            }
            Self::Io(error) if error.kind() == ErrorKind::ReadOnlyFilesystem => {
                "Copy the whole folder of the store to a disk that can be written, and use the copy."
            }
            Self::Io(_) => "Check the disk, its free space and the permissions, then try again.",
            Self::Storage(_) => {
                "Copy the whole folder of the store to another place first; then run `inmost check` and `inmost repair`."
            }
            Self::KdfOutOfBounds(_) => "Choose a cost within the bounds, or use fewer keyslots.",
            Self::LastSlot => "Add another keyslot first, or replace this one.",
            Self::Locked => "Unlock the store with its passphrase.",
            Self::NotAStore => "Check the path, or create a store there first.",
            Self::NoSuchSlot(_) => "List the keyslots to see which are in use.",
            Self::UntrustedFile(_) => {
                "Do not trust the folder if it came from someone else; otherwise move the file aside, or make a copy of the store that shares no files with it."
            }
            Self::OtherOwner { .. } => {
                "Work on the store as that user, or let root give its files to its user with `chown`."
            }
            Self::OutOfMemory => "Close other programs, or unlock on a machine with more memory.",
            Self::OutcomeUnknown | Self::CommitUnknown => {
                "Check whether the change is there before you try again; everything acknowledged earlier is safe."
            }
            Self::Unavailable(_) => {
                "Check the server and the connection to it, then try again; a session that was open stays unlocked."
            }
            Self::PassphraseNotOneLine => "Give the new passphrase in one line.",
            Self::RandomnessFailed => {
                "Try again; if it happens again, check the operating system's random source."
            }
            Self::RecordsBehindHeader { .. } => {
                "Look for a newer copy of the store. Without one, accept the older records on purpose, with `inmost accept-rollback`. A removed passphrase becomes valid by that only if a copy of the store was used on its own."
            }
            Self::RolledBack { .. } => {
                "Look for a newer copy of the store; a restored backup is the usual cause. Without one, accept the older state on purpose, with `inmost accept-rollback`."
            }
            Self::SlotsFull => "Remove or replace a keyslot that is no longer needed.",
            Self::SubtreeIsFile => {
                "Rename or remove that file, or confine the tool to another folder."
            }
            Self::Tampered { .. } => {
                "Copy the whole folder of the store to another place first; then restore a backup, or run `inmost repair`, which lists what it can keep before it asks."
            }
            Self::TooLarge => "Split the change, or split large folders into several.",
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

impl StoreError {
    /// The sentences of what was refused before anything was changed.
    fn fmt_refusal(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ClockBefore1970 => f.write_str(
                "The clock of this machine shows a time before 1970, so nothing was opened.",
            ),
            Self::OtherOwner { file, owner } if file.is_empty() => {
                write!(f, "The store belongs to another user, number {owner}.")
            }
            Self::OtherOwner { file, owner } => {
                let file = printable(file);
                write!(f, "The file {file} of the store belongs to another user, number {owner}.")
            }
            Self::PassphraseNotOneLine => {
                f.write_str("The new passphrase has more than one line, or a NUL.")
            }
            Self::HeaderRolledBack { expected, found } if expected == found => write!(
                f,
                "The header was rolled back: the records name a different header of revision {found}."
            ),
            Self::HeaderRolledBack { expected, found } => write!(
                f,
                "The header was rolled back: it has revision {found}, but the store had revision {expected} before."
            ),
            Self::RecordsBehindHeader { expected, found } => write!(
                f,
                "The records are older than the header: they name its revision {found}, but it has revision {expected}."
            ),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AlreadyExists => f.write_str("The destination already exists."),
            Self::ClockBefore1970
            | Self::OtherOwner { .. }
            | Self::PassphraseNotOneLine
            | Self::HeaderRolledBack { .. }
            | Self::RecordsBehindHeader { .. } => self.fmt_refusal(f),
            Self::Damaged(what) => {
                let what = without_path(what, "the engine cannot read its files");
                write!(f, "The store is damaged and was not opened: {what}.")
            }
            Self::DiskFull => f.write_str("The disk is full."),
            Self::CopyNotVerified { copy, why } => {
                let copy = printable(copy);
                write!(f, "The copy in {copy} was written but does not read back: {why}")
            }
            Self::Forked => f.write_str(
                "This process is a fork of one that had opened a store. It cannot use what its parent opened.",
            ),
            Self::EngineNotBuilt => f.write_str("The store uses an engine that this build lacks."),
            Self::Halted => f.write_str("An earlier write failed, so the session has stopped."),
            Self::ForeignAnchor => f.write_str(FOREIGN_ANCHOR),
            Self::FreshnessUnknown => f.write_str(FRESHNESS_UNKNOWN),
            Self::AnchorUnavailable => {
                f.write_str("The freshness anchor cannot be read or written. Nothing has changed.")
            }
            Self::OldRecordsRemain(why) => write!(
                f,
                "The store was rewritten, but its old records could not be removed: {why}"
            ),
            Self::HeaderDamaged => f.write_str("The header of the store is damaged or missing."),
            Self::InMemory => f.write_str("A store in memory has no keyslots."),
            Self::InUse(Some(pid)) => write!(f, "The store is in use by process {pid}."),
            Self::InUse(None) => f.write_str("The store is in use by another process."),
            Self::Io(error) => {
                // The operating system names no path. An engine that makes such an error itself may.
                let kind = error.kind().to_string();
                let words = error.to_string();
                write!(f, "The operating system reports: {}.", without_path(&words, &kind))
            }
            Self::KeyDaemon(sentence) => f.write_str(&printable(sentence)),
            Self::KdfOutOfBounds(bounds) => {
                write!(f, "The cost of unlocking is out of bounds: {bounds}.")
            }
            Self::LastSlot => f.write_str("The last keyslot cannot be removed."),
            Self::Locked => f.write_str("The store is locked."),
            Self::NoSuchSlot(number) => write!(f, "Keyslot {number} is not in use."),
            Self::NotAStore => f.write_str("There is no store at this place."),
            Self::FilesReplaced(what) => {
                write!(f, "{FILES_REPLACED}: {what}. Nothing was saved since.")
            }
            Self::UntrustedFile(what) => {
                write!(f, "A file of the store is not safe to use: {what}.")
            }
            Self::OutOfMemory => f.write_str("There is not enough memory to derive the key."),
            Self::OutcomeUnknown => f.write_str(
                "The process that holds the store ended before it reported whether the change was made.",
            ),
            Self::CommitUnknown => f.write_str(
                "The connection to the store was lost while a change was stored, so it is unknown whether it is there.",
            ),
            Self::Unavailable(why) => write!(f, "The server of the store is not available: {why}."),
            Self::RandomnessFailed => f.write_str("The operating system returned no random bytes."),
            Self::RolledBack { expected, found } => {
                write!(
                    f,
                    "The store was rolled back: it is at commit {found}, but commit {expected} was seen before."
                )
            }
            Self::SlotsFull => f.write_str("All eight keyslots are in use."),
            Self::Storage(what) => {
                let what = without_path(what, "its files are damaged");
                write!(f, "The storage engine failed: {what}.")
            }
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

const FOREIGN_ANCHOR: &str =
    "The freshness anchor was written with keys that are not this store's.";
const FRESHNESS_UNKNOWN: &str = "It is unknown whether this is the newest state of the store.";
const FILES_REPLACED: &str = "Another program has changed the files of the open store";

#[cfg(test)]
mod tests;
