//! Exit codes, and the failures that lead to them.

use std::borrow::Cow;
use std::io;

use inmost::{LabelError, RandomnessFailed, RecoveryKeyError, StoreError};
use inmost_keyd::DaemonError;

/// What each exit code means, as the manual has it. A code never gets another meaning: scripts depend on them.
pub const MEANINGS: [(Exit, &str); 14] = [
    (Exit::Ok, "success"),
    (Exit::Other, "any other failure; for `grep`, no match"),
    (Exit::Usage, "the command line is invalid, or cannot be carried out as given"),
    (Exit::NotAStore, "there is no store at this path"),
    (Exit::WrongPassphrase, "the passphrase, keyfile or recovery key is wrong"),
    (Exit::Damaged, "the store is damaged or was tampered with"),
    (Exit::InUse, "another process uses the store"),
    (Exit::Io, "the operating system failed to read or write, or a database server cannot be used"),
    (Exit::UnknownFormat, "the store has an unknown format or engine"),
    (
        Exit::RolledBack,
        "the store was rolled back to an older state, or the anchor was written with other keys",
    ),
    (Exit::KdfOutOfBounds, "the cost of key derivation is out of bounds"),
    (Exit::Locked, "the store is locked"),
    (Exit::NoSuchPath, "there is no file or folder at this path of the memory"),
    (Exit::Interrupted, "Ctrl-C ended it"),
];

/// The exit codes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exit {
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
    NoSuchPath = 19,
    Interrupted = 130,
}

impl Exit {
    /// The number that the process exits with.
    #[expect(clippy::as_conversions, reason = "the discriminants are the codes, and fit a byte")]
    pub fn code(self) -> u8 {
        self as u8
    }

    fn of(error: &StoreError) -> Self {
        match error {
            StoreError::NotAStore => Self::NotAStore,
            StoreError::WrongPassphrase | StoreError::WrongKey(_) => Self::WrongPassphrase,
            // The engine returns its own error only for its own files: they are damaged.
            StoreError::HeaderDamaged
            | StoreError::CopyNotVerified { .. }
            | StoreError::Tampered { .. }
            | StoreError::Storage(_)
            | StoreError::UntrustedFile(_)
            | StoreError::Damaged(_) => Self::Damaged,
            StoreError::InUse(_) => Self::InUse,
            // A session halts after a failed write.
            StoreError::Io(_)
            | StoreError::OtherOwner { .. }
            | StoreError::ClockBefore1970
            | StoreError::DiskFull
            | StoreError::Halted
            | StoreError::FilesReplaced(_)
            | StoreError::AnchorUnavailable
            | StoreError::KeyDaemon(_)
            | StoreError::OutcomeUnknown
            | StoreError::CommitUnknown
            | StoreError::Unavailable(_)
            | StoreError::OldRecordsRemain(_) => Self::Io,
            StoreError::EngineNotBuilt | StoreError::UnknownFormat { .. } => Self::UnknownFormat,
            // A foreign anchor is a wrong option, or a store from before its keys were rotated. The worse case decides.
            StoreError::RolledBack { .. }
            | StoreError::HeaderRolledBack { .. }
            | StoreError::RecordsBehindHeader { .. }
            | StoreError::FreshnessUnknown
            | StoreError::ForeignAnchor => Self::RolledBack,
            StoreError::KdfOutOfBounds(_) => Self::KdfOutOfBounds,
            StoreError::Locked => Self::Locked,
            StoreError::PassphraseNotOneLine => Self::Usage,
            // Includes `AlreadyExists`: the command line is valid, the path is taken.
            _ => Self::Other,
        }
    }
}

/// Why the program ends before its work is done.
#[derive(Debug)]
pub enum Failure {
    /// An error to print on standard error.
    Error {
        exit: Exit,
        /// One line: what happened.
        message: Cow<'static, str>,
        /// One line: what to do.
        advice: Cow<'static, str>,
    },
    /// Standard output was closed by its reader, such as `head`. This is no error.
    OutputClosed,
    /// Standard output was closed before the reply to a tool call could be written.
    ReplyLost,
    /// A search found no match. Prints nothing; the exit code is the result.
    NoMatch,
    /// The output has said everything. Prints nothing; the exit code is for scripts.
    Reported(Exit),
    /// A child process exited with this code and has printed the error.
    ChildExited(u8),
}

impl Failure {
    pub fn new(
        exit: Exit,
        message: impl Into<Cow<'static, str>>,
        advice: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self::Error { exit, message: message.into(), advice: advice.into() }
    }

    pub fn usage(
        message: impl Into<Cow<'static, str>>,
        advice: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self::new(Exit::Usage, message, advice)
    }

    /// An I/O error outside the store. The error is appended to the message.
    pub fn io(message: &str, error: &io::Error, advice: &'static str) -> Self {
        Self::new(Exit::Io, format!("{message}: {error}."), advice)
    }

    /// A failure to write to standard output.
    pub fn output(error: &io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self::OutputClosed;
        }
        let advice =
            "Check where the output goes. Every change that the store acknowledged is safe.";
        Self::io("Standard output cannot be written", error, advice)
    }

    /// A failure to read from standard input.
    pub fn input(error: &io::Error) -> Self {
        Self::io("Standard input cannot be read", error, "Check where the input comes from.")
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let message = match &error {
            // A command has its store unlocked, so this happens only while it runs.
            StoreError::Locked => "The store was locked in the meantime.".to_owned(),
            error => error.to_string(),
        };
        let advice = match &error {
            StoreError::InUse(_) => {
                "Wait for it, with --wait 1m if it takes long, or end it. If it is a key daemon, which `inmost unlock` starts, use its XDG_RUNTIME_DIR and the path with which the store was unlocked."
            }
            StoreError::Locked => "Unlock it again, with `inmost unlock`.",
            StoreError::NotAStore => "Check the path, or create a store there with `inmost init`.",
            StoreError::RolledBack { .. } => {
                "If you restored a backup or a copy, run `inmost accept-rollback`."
            }
            error => error.advice(),
        };
        Self::new(Exit::of(&error), message, advice)
    }
}

impl From<DaemonError> for Failure {
    fn from(error: DaemonError) -> Self {
        let exit = match error {
            DaemonError::Store(error) => return error.into(),
            DaemonError::CannotBind { .. }
            | DaemonError::CannotListen(_)
            | DaemonError::CannotStart(_)
            | DaemonError::SocketFolder(_)
            | DaemonError::Unreachable { .. }
            | DaemonError::WorkingFolder(_) => Exit::Io,
            DaemonError::NotFound { .. }
            | DaemonError::OtherVersion { .. }
            | DaemonError::TooManyClients
            | DaemonError::Unreached { .. }
            | DaemonError::Unresponsive { .. } => Exit::InUse,
            DaemonError::NotStartedByProgram | DaemonError::OtherAnchor => Exit::Usage,
            _ => Exit::Other,
        };
        Self::new(exit, error.to_string(), error.advice())
    }
}

impl From<RandomnessFailed> for Failure {
    fn from(error: RandomnessFailed) -> Self {
        StoreError::from(error).into()
    }
}

impl From<RecoveryKeyError> for Failure {
    fn from(error: RecoveryKeyError) -> Self {
        Self::usage(
            format!("Invalid recovery key: {error}."),
            "Compare it with your copy on paper.",
        )
    }
}

impl From<LabelError> for Failure {
    fn from(error: LabelError) -> Self {
        Self::usage(
            format!("Invalid label: {error}."),
            "Choose a shorter label without control characters.",
        )
    }
}

#[cfg(test)]
mod tests {
    use inmost::SlotKind;

    use super::*;

    #[test]
    fn the_codes_are_those_of_the_page() {
        for (exit, meaning) in MEANINGS {
            let row = format!("\n| {} | ", exit.code());
            assert!(include_str!("../../../docs/PROGRAM.md").contains(&row), "{exit:?}: {meaning}");
        }
        let codes = MEANINGS.map(|(exit, _)| exit.code());
        assert_eq!(codes, [0, 1, 2, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 130]);
    }

    #[test]
    fn every_error_of_a_store_has_its_code() {
        let io = || io::Error::other("no reason");
        for (error, exit) in [
            (StoreError::AlreadyExists, Exit::Other),
            (StoreError::Damaged("words".into()), Exit::Damaged),
            (StoreError::EngineNotBuilt, Exit::UnknownFormat),
            (StoreError::ForeignAnchor, Exit::RolledBack),
            (StoreError::Forked, Exit::Other),
            (StoreError::CopyNotVerified { copy: "/b".into(), why: "why".into() }, Exit::Damaged),
            (StoreError::Halted, Exit::Io),
            (StoreError::ClockBefore1970, Exit::Io),
            (StoreError::OtherOwner { file: String::new(), owner: 7 }, Exit::Io),
            (StoreError::FilesReplaced("anchor was replaced".into()), Exit::Io),
            (StoreError::HeaderDamaged, Exit::Damaged),
            (StoreError::InUse(None), Exit::InUse),
            (StoreError::InUse(Some(7)), Exit::InUse),
            (StoreError::Io(io()), Exit::Io),
            (StoreError::KeyDaemon("why".into()), Exit::Io),
            (StoreError::OutcomeUnknown, Exit::Io),
            (StoreError::CommitUnknown, Exit::Io),
            (StoreError::Unavailable("why".into()), Exit::Io),
            (StoreError::Locked, Exit::Locked),
            (StoreError::NotAStore, Exit::NotAStore),
            (StoreError::UntrustedFile("lock is a folder".into()), Exit::Damaged),
            (StoreError::OutOfMemory, Exit::Other),
            (StoreError::RandomnessFailed, Exit::Other),
            (StoreError::RolledBack { expected: 2, found: 1 }, Exit::RolledBack),
            (StoreError::HeaderRolledBack { expected: 2, found: 1 }, Exit::RolledBack),
            (StoreError::RecordsBehindHeader { expected: 2, found: 1 }, Exit::RolledBack),
            (StoreError::Storage("words".into()), Exit::Damaged),
            (StoreError::Tampered { what: "a file", how: "is absent" }, Exit::Damaged),
            (StoreError::TooLarge, Exit::Other),
            (StoreError::WrongPassphrase, Exit::WrongPassphrase),
            (StoreError::WrongKey(SlotKind::RecoveryKey), Exit::WrongPassphrase),
            (StoreError::ForeignAnchor, Exit::RolledBack),
            (StoreError::SlotsFull, Exit::Other),
            (StoreError::NoSuchSlot(7), Exit::Other),
            (StoreError::LastSlot, Exit::Other),
            (StoreError::PassphraseNotOneLine, Exit::Usage),
            (StoreError::InMemory, Exit::Other),
            (StoreError::SubtreeIsFile, Exit::Other),
        ] {
            assert_eq!(Exit::of(&error), exit, "{error:?}");
        }
    }

    #[test]
    fn engine_messages_with_a_path_are_not_printed() {
        let message = |error: StoreError| match Failure::from(error) {
            Failure::Error { message, .. } => message.into_owned(),
            _ => String::new(),
        };
        let words = "cannot open \"/data/ada/store/db\"";
        assert!(message(StoreError::Storage("crc mismatch".into())).contains("crc mismatch"));
        assert!(!message(StoreError::Storage(words.into())).contains("ada"));
        assert!(message(StoreError::Damaged("crc mismatch".into())).contains("crc mismatch"));
        assert!(!message(StoreError::Damaged(words.into())).contains("ada"));
        let error = io::Error::new(io::ErrorKind::PermissionDenied, words);
        assert_eq!(
            message(StoreError::Io(error)),
            "The operating system reports: permission denied."
        );
    }
}
