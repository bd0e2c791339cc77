//! How the program ends: exit codes, and the two lines that go with a failure.
//!
//! | code | means |
//! |---|---|
//! | 0 | done |
//! | 1 | any other failure, such as a file of the memory that is not there; for `grep`, nothing was found |
//! | 2 | the command line cannot be understood or carried out as it is |
//! | 10 | there is no store at this place |
//! | 11 | the passphrase, keyfile or recovery key is wrong |
//! | 12 | the store is damaged or was tampered with |
//! | 13 | another process uses the store |
//! | 14 | the operating system failed to read or write |
//! | 15 | the store is of an unknown format or engine |
//! | 16 | the store was rolled back to an older state |
//! | 17 | the cost of key derivation is out of bounds |
//! | 18 | the store is locked |
//!
//! A code is never given another meaning: scripts depend on them.

use std::borrow::Cow;
use std::io;

use inmost::{FileError, KeyfileError, LabelError, PassphraseError, RecoveryKeyError, StoreError};
use serde::{Deserialize, Serialize};

/// The exit codes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) enum Exit {
    Ok = 0,
    Other = 1,
    Usage = 2,
    NotAStore = 10,
    WrongPassphrase = 11,
    Damaged = 12,
    InUse = 13,
    Io = 14,
    UnknownFormat = 15,
    RolledBack = 16,
    KdfOutOfBounds = 17,
    Locked = 18,
}

impl Exit {
    /// The number that the process ends with.
    #[expect(clippy::as_conversions, reason = "the discriminants are the codes, and fit a byte")]
    pub(crate) fn code(self) -> u8 {
        self as u8
    }

    fn of(error: &StoreError) -> Self {
        match error {
            StoreError::NotAStore => Self::NotAStore,
            StoreError::WrongPassphrase | StoreError::WrongKey(_) => Self::WrongPassphrase,
            // The engine fails in its own words only over its own files: they are damaged.
            StoreError::HeaderDamaged
            | StoreError::Tampered { .. }
            | StoreError::Storage(_)
            | StoreError::UntrustedFile(_) => Self::Damaged,
            StoreError::InUse(_) => Self::InUse,
            // A session halts after a failed write.
            StoreError::Io(_)
            | StoreError::DiskFull
            | StoreError::Halted
            | StoreError::AnchorUnavailable
            | StoreError::OldRecordsRemain(_) => Self::Io,
            StoreError::EngineNotBuilt | StoreError::UnknownFormat { .. } => Self::UnknownFormat,
            // A foreign anchor may be a slip, or a store from before its keys were rotated: the worse counts.
            StoreError::RolledBack { .. }
            | StoreError::HeaderRolledBack { .. }
            | StoreError::ForeignAnchor => Self::RolledBack,
            StoreError::KdfOutOfBounds(_) => Self::KdfOutOfBounds,
            StoreError::Locked => Self::Locked,
            // `AlreadyExists` too: the command was well formed, only the place is taken.
            _ => Self::Other,
        }
    }
}

/// Why the program ends before its work is done.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Failure {
    /// Somebody has to know.
    Told {
        /// The exit code.
        exit: Exit,
        /// One line on what happened.
        what: Cow<'static, str>,
        /// One line on what to do.
        advice: Cow<'static, str>,
    },
    /// Whoever read our output has had enough, so there is nothing to tell.
    ReaderGone,
    /// The same, but a call was carried out whose answer nobody has read.
    AnswerLost,
    /// A search has found nothing: that is an answer, and the code alone says it.
    NothingFound,
    /// A process of ours has ended with this code, and has said itself why.
    Ended(u8),
}

impl Failure {
    pub(crate) fn new(
        exit: Exit,
        what: impl Into<Cow<'static, str>>,
        advice: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self::Told { exit, what: what.into(), advice: advice.into() }
    }

    pub(crate) fn usage(
        what: impl Into<Cow<'static, str>>,
        advice: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self::new(Exit::Usage, what, advice)
    }

    /// A stream or file other than the store's failed; `what` names it.
    pub(crate) fn io(what: &str, error: &io::Error, advice: &'static str) -> Self {
        Self::new(Exit::Io, format!("{what}: {error}."), advice)
    }

    /// A failure to write to standard output.
    pub(crate) fn output(error: &io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self::ReaderGone;
        }
        let advice = "Check where it leads to; what the store has acknowledged is safe.";
        Self::io("Standard output cannot be written", error, advice)
    }

    /// A failure to read from standard input.
    pub(crate) fn input(error: &io::Error) -> Self {
        Self::io("Standard input cannot be read", error, "Check where it comes from.")
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let what = match &error {
            // The engine's own words may quote the absolute path of its files.
            StoreError::Storage(words) if words.contains(['/', '\\']) => {
                "The storage engine failed: its files are damaged.".to_owned()
            }
            // So may the system's error in the words of the engine.
            StoreError::Io(error) if error.raw_os_error().is_none() => {
                format!("The operating system reports: {}.", error.kind())
            }
            error => error.to_string(),
        };
        let advice = match &error {
            StoreError::NotAStore => "Check the path, or make a store there with `inmost init`.",
            StoreError::Storage(_) => "Restore a backup of the store.",
            StoreError::RolledBack { .. } => {
                "If you know why, because it is a backup or a copy, use `inmost accept-rollback`."
            }
            error => error.advice(),
        };
        Self::new(Exit::of(&error), what, advice)
    }
}

impl From<FileError> for Failure {
    fn from(error: FileError) -> Self {
        let (exit, advice) = match error {
            FileError::Store(error) => return error.into(),
            FileError::InvalidPath(_) | FileError::PathBelow(_) => {
                (Exit::Usage, "Write it like /memories/notes/today.md.")
            }
            FileError::AlreadyExists => {
                (Exit::Other, "Choose another path, or remove what is there first.")
            }
            FileError::NotFound => (Exit::Other, "See what there is with `inmost ls`."),
            FileError::NotAFolder(_) => {
                (Exit::Other, "Choose a path that does not lead through a file.")
            }
            FileError::FileTooLarge(_) => (Exit::Other, "Split the text over several files."),
            FileError::TooManyFiles(_) | FileError::TooMuchText(_) => {
                (Exit::Other, "Remove what is no longer needed.")
            }
            _ => (Exit::Other, "Choose another path."),
        };
        Self::new(exit, error.to_string(), advice)
    }
}

impl From<PassphraseError> for Failure {
    fn from(error: PassphraseError) -> Self {
        Self::usage(
            format!("This is no passphrase: {error}."),
            "Check what the passphrase is taken from.",
        )
    }
}

impl From<RecoveryKeyError> for Failure {
    fn from(error: RecoveryKeyError) -> Self {
        Self::usage(format!("This is no recovery key: {error}."), "Compare it with the paper.")
    }
}

impl From<KeyfileError> for Failure {
    fn from(error: KeyfileError) -> Self {
        Self::usage(format!("The keyfile cannot be used: {error}."), "Check which file it is.")
    }
}

impl From<LabelError> for Failure {
    fn from(error: LabelError) -> Self {
        Self::usage(format!("This is no label: {error}."), "Choose a shorter, plain one.")
    }
}

#[cfg(test)]
mod tests {
    use inmost::SlotKind;

    use super::*;

    #[test]
    fn the_codes_are_those_of_the_table() {
        let table = [
            (Exit::Ok, 0),
            (Exit::Other, 1),
            (Exit::Usage, 2),
            (Exit::NotAStore, 10),
            (Exit::WrongPassphrase, 11),
            (Exit::Damaged, 12),
            (Exit::InUse, 13),
            (Exit::Io, 14),
            (Exit::UnknownFormat, 15),
            (Exit::RolledBack, 16),
            (Exit::KdfOutOfBounds, 17),
            (Exit::Locked, 18),
        ];
        for (exit, code) in table {
            assert_eq!(exit.code(), code, "{exit:?}");
            assert!(include_str!("exit.rs").contains(&format!("//! | {code} |")), "{exit:?}");
        }
    }

    #[test]
    fn every_error_of_a_store_has_its_code() {
        let io = || io::Error::other("no reason");
        for (error, exit) in [
            (StoreError::AlreadyExists, Exit::Other),
            (StoreError::EngineNotBuilt, Exit::UnknownFormat),
            (StoreError::ForeignAnchor, Exit::RolledBack),
            (StoreError::Halted, Exit::Io),
            (StoreError::HeaderDamaged, Exit::Damaged),
            (StoreError::InUse(None), Exit::InUse),
            (StoreError::InUse(Some(7)), Exit::InUse),
            (StoreError::Io(io()), Exit::Io),
            (StoreError::Locked, Exit::Locked),
            (StoreError::NotAStore, Exit::NotAStore),
            (StoreError::UntrustedFile("lock is a folder".into()), Exit::Damaged),
            (StoreError::OutOfMemory, Exit::Other),
            (StoreError::RandomnessFailed, Exit::Other),
            (StoreError::RolledBack { expected: 2, found: 1 }, Exit::RolledBack),
            (StoreError::HeaderRolledBack { expected: 2, found: 1 }, Exit::RolledBack),
            (StoreError::Storage("words".into()), Exit::Damaged),
            (StoreError::Tampered { what: "a file", how: "is absent" }, Exit::Damaged),
            (StoreError::TooLarge, Exit::Other),
            (StoreError::WrongPassphrase, Exit::WrongPassphrase),
            (StoreError::WrongKey(SlotKind::RecoveryKey), Exit::WrongPassphrase),
            (StoreError::ForeignAnchor, Exit::RolledBack),
            (StoreError::SlotsFull, Exit::Other),
            (StoreError::NoSuchSlot(7), Exit::Other),
            (StoreError::LastSlot, Exit::Other),
            (StoreError::InMemory, Exit::Other),
            (StoreError::SubtreeIsFile, Exit::Other),
        ] {
            assert_eq!(Exit::of(&error), exit, "{error:?}");
        }
    }

    #[test]
    fn the_engines_words_are_not_repeated_when_they_hold_a_path() {
        let told = |error: StoreError| match Failure::from(error) {
            Failure::Told { what, .. } => what.into_owned(),
            _ => String::new(),
        };
        let words = "cannot open \"/data/ada/store/db\"";
        assert!(told(StoreError::Storage("crc mismatch".into())).contains("crc mismatch"));
        assert!(!told(StoreError::Storage(words.into())).contains("ada"));
        let error = io::Error::new(io::ErrorKind::PermissionDenied, words);
        assert_eq!(told(StoreError::Io(error)), "The operating system reports: permission denied.");
    }
}
