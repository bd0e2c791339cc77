//! Checks every error's message and advice, word for word: people read them when something is lost.

use inmost_format::crypto::kdf::KdfFailed;
use inmost_format::crypto::rng::RandomnessFailed;
use inmost_format::header::HeaderError;
use inmost_format::record::{Flaw, Kind, RecordError};
use inmost_storage::StorageError;
use std::error::Error;
use std::io;

use super::StoreError as E;
use super::*;
use inmost_format::crypto::cost::{KdfCost, KdfLimits};
use inmost_storage::every_variant;

#[test]
#[allow(clippy::too_many_lines, reason = "a row for every variant")]
fn every_error_has_one_sentence_of_message_and_one_of_advice() {
    let bounds = KdfLimits::default().admit(KdfCost::new(1, 1, 1)).unwrap_err();
    let table = every_variant!(StoreError {
        E::AlreadyExists => [E::AlreadyExists, "The destination already exists."];
        E::Damaged(_) => [
            StorageError::Damaged("why".to_owned()).into(),
            "The store is damaged and was not opened: why."
        ];
        E::DiskFull => [StorageError::Full.into(), "The disk is full."];
        E::EngineNotBuilt => [
            StorageError::NotBuilt.into(),
            "The store uses an engine that this build lacks."
        ], [
            HeaderError::UnknownEngine(2).into(),
            "The store uses an engine that this build lacks."
        ];
        E::Halted => [
            StorageError::Poisoned.into(),
            "An earlier write failed, so the session has stopped."
        ];
        E::FilesReplaced(_) => [
            StorageError::Replaced("anchor was replaced".into()).into(),
            "Another program has changed the files of the open store: anchor was replaced. Nothing was saved since."
        ];
        E::FreshnessUnknown => [E::FreshnessUnknown, "It is unknown whether this is the newest state of the store."];
        E::ForeignAnchor => [
            E::ForeignAnchor,
            "The freshness anchor was written with keys that are not this store's."
        ];
        // The reason is an error that is a sentence of its own.
        E::CopyNotVerified { .. } => [
            E::CopyNotVerified { copy: "/b".to_owned(), why: E::HeaderDamaged.to_string() },
            "The copy in /b was written but does not read back: The header of the store is damaged or missing."
        ];
        E::ClockBefore1970 => [
            E::ClockBefore1970,
            "The clock of this machine shows a time before 1970, so nothing was opened."
        ];
        E::Forked => [
            StorageError::Forked.into(),
            "This process is a fork of one that had opened a store. It cannot use what its parent opened."
        ];
        E::HeaderDamaged => [
            HeaderError::Damaged("its checksum").into(),
            "The header of the store is damaged or missing."
        ];
        E::HeaderRolledBack { .. } => [
            E::HeaderRolledBack { expected: 9, found: 7 },
            "The header was rolled back: it has revision 7, but the store had revision 9 before."
        ], [
            E::HeaderRolledBack { expected: 7, found: 7 },
            "The header was rolled back: the records name a different header of revision 7."
        ];
        E::RecordsBehindHeader { .. } => [
            E::RecordsBehindHeader { expected: 9, found: 7 },
            "The records are older than the header: they name its revision 7, but it has revision 9."
        ];
        E::InMemory => [E::InMemory, "A store in memory has no keyslots."];
        E::AnchorUnavailable => [
            E::AnchorUnavailable,
            "The freshness anchor cannot be read or written. Nothing has changed."
        ];
        E::InUse(_) => [
            StorageError::InUse(Some(7)).into(),
            "The store is in use by process 7."
        ], [
            StorageError::InUse(None).into(),
            "The store is in use by another process."
        ];
        E::KeyDaemon(_) => [
            E::KeyDaemon("The key daemon of the store in /s does not respond.".to_owned()),
            "The key daemon of the store in /s does not respond."
        ];
        E::Io(_) => [
            StorageError::Io(io::Error::other("why")).into(),
            "The operating system reports: why."
        ], [
            StorageError::WriteFailed(StorageError::Io(io::Error::other("why")).into()).into(),
            "The operating system reports: why."
        ];
        E::KdfOutOfBounds(_) => [
            HeaderError::KdfOutOfBounds(bounds).into(),
            "The cost of unlocking is out of bounds: key derivation asks for 0.0 MiB of memory; accepted are 19 to 1024."
        ];
        E::LastSlot => [HeaderError::LastSlot.into(), "The last keyslot cannot be removed."];
        E::Locked => [E::Locked, "The store is locked."];
        E::NoSuchSlot(_) => [HeaderError::NoSuchSlot(3).into(), "Keyslot 3 is not in use."];
        E::NotAStore => [
            StorageError::Missing.into(),
            "There is no store at this place."
        ], [
            HeaderError::NotAStore.into(),
            "There is no store at this place."
        ];
        E::OtherOwner { .. } => [
            StorageError::OtherOwner { file: String::new(), owner: 7 }.into(),
            "The store belongs to another user, number 7."
        ], [
            StorageError::OtherOwner { file: "gen-1/db".to_owned(), owner: 7 }.into(),
            "The file gen-1/db of the store belongs to another user, number 7."
        ];
        E::OutOfMemory => [
            HeaderError::KdfFailed(KdfFailed::OutOfMemory(1)).into(),
            "There is not enough memory to derive the key."
        ];
        E::UntrustedFile(_) => [
            E::UntrustedFile("header.a is a symbolic link".to_owned()),
            "A file of the store is not safe to use: header.a is a symbolic link."
        ];
        E::OutcomeUnknown => [
            E::OutcomeUnknown,
            "The process that holds the store ended before it reported whether the change was made."
        ];
        E::CommitUnknown => [
            StorageError::Unknown("why".into()).into(),
            "The connection to the store was lost while a change was stored, so it is unknown whether it is there."
        ];
        E::Unavailable(_) => [
            StorageError::Unavailable("why".into()).into(),
            "The server of the store is not available: why."
        ];
        E::PassphraseNotOneLine => [
            E::PassphraseNotOneLine,
            "The new passphrase has more than one line, or a NUL."
        ];
        E::RandomnessFailed => [
            RandomnessFailed.into(),
            "The operating system returned no random bytes."
        ], [
            RecordError::Randomness.into(),
            "The operating system returned no random bytes."
        ], [
            HeaderError::Randomness(RandomnessFailed).into(),
            "The operating system returned no random bytes."
        ];
        E::RolledBack { .. } => [
            E::RolledBack { expected: 9, found: 7 },
            "The store was rolled back: it is at commit 7, but commit 9 was seen before."
        ];
        // The reason is an error that is a sentence of its own.
        E::OldRecordsRemain(_) => [
            E::OldRecordsRemain(E::DiskFull.to_string()),
            "The store was rewritten, but its old records could not be removed: The disk is full."
        ];
        E::SlotsFull => [HeaderError::SlotsFull.into(), "All eight keyslots are in use."];
        E::Storage(_) => [
            StorageError::Corrupt("why".to_owned()).into(),
            "The storage engine failed: the engine's files are damaged: why."
        ];
        E::SubtreeIsFile => [
            E::SubtreeIsFile,
            "The folder that the memory tool is confined to is a file."
        ];
        E::Tampered { .. } => [
            StorageError::Conflict.into(),
            "The store was damaged or tampered with: the root record is not the version its parent refers to."
        ], [
            RecordError::Damaged { kind: Kind::File, flaw: Flaw::Absent }.into(),
            "The store was damaged or tampered with: a file is missing."
        ], [
            HeaderError::Tampered("a keyslot").into(),
            "The store was damaged or tampered with: a keyslot does not authenticate."
        ], [
            HeaderError::KdfFailed(KdfFailed::Refused).into(),
            "The store was damaged or tampered with: the header has invalid key derivation parameters."
        ];
        E::TooLarge => [
            StorageError::TooLarge.into(),
            "The change is too large for one durable step."
        ], [
            RecordError::TooLarge.into(),
            "The change is too large for one durable step."
        ];
        E::UnknownFormat { .. } => [
            HeaderError::UnknownFormat(7).into(),
            "The store has format 7, which this version does not know."
        ], [
            HeaderError::UnknownFlags(0x30).into(),
            "The store uses features that this version does not know: 0x30."
        ];
        E::WrongKey(_) => [
            E::of_unlock(HeaderError::WrongCredential, SlotKind::RecoveryKey),
            "No keyslot opens with this recovery key."
        ], [
            E::of_unlock(HeaderError::WrongCredential, SlotKind::RawKey),
            "No keyslot opens with this raw key."
        ], [
            E::of_unlock(HeaderError::WrongCredential, SlotKind::PassphraseAndKeyfile),
            "The passphrase or the keyfile is wrong."
        ];
        E::WrongPassphrase => [
            HeaderError::WrongCredential.into(),
            "The passphrase is wrong."
        ], [
            E::of_unlock(HeaderError::WrongCredential, SlotKind::Passphrase),
            "The passphrase is wrong."
        ];
    });
    for (error, sentence) in table {
        assert_eq!(error.to_string(), sentence);
        assert!(format!("{error:?}").starts_with(error.name()), "{}", error.name());
        let advice = error.advice();
        assert!(advice.ends_with('.') && advice.len() > 20, "{sentence}: {advice}");
        assert!(advice.starts_with(char::is_uppercase), "{sentence}: {advice}");
        let system = matches!(error, E::Io(_));
        assert_eq!(error.source().is_some(), system, "{sentence}");
    }
}

#[test]
fn advice_on_a_store_in_use_names_the_key_daemon() {
    let advice = E::InUse(Some(7)).advice();
    assert!(advice.contains("`inmost unlock`") && advice.contains("key daemon"), "{advice}");
}

#[test]
fn no_message_quotes_a_path_of_an_engine() {
    let words = || "cannot open \"/data/ada/store/db\"".to_owned();
    let io = std::io::Error::new(std::io::ErrorKind::PermissionDenied, words());
    for (error, sentence) in [
        (E::Storage(words()), "The storage engine failed: its files are damaged."),
        (
            E::Damaged(words()),
            "The store is damaged and was not opened: the engine cannot read its files.",
        ),
        (E::Io(io), "The operating system reports: permission denied."),
    ] {
        assert_eq!(error.to_string(), sentence);
    }
}

#[test]
fn a_path_of_the_host_is_shown_without_control_characters() {
    let copy = E::CopyNotVerified { copy: "/b\u{1b}[2J".to_owned(), why: "Why.".to_owned() };
    let daemon = E::KeyDaemon("The key daemon of the store in /s\nok does not respond.".to_owned());
    for error in [copy, daemon] {
        assert!(!error.to_string().contains(char::is_control), "{error}");
    }
}

#[test]
fn advice_on_a_wrong_key_depends_on_its_kind() {
    let advice = |kind| E::WrongKey(kind).advice();
    assert!(advice(SlotKind::PassphraseAndKeyfile).contains("keyfile"));
    assert_eq!(advice(SlotKind::RecoveryKey), advice(SlotKind::RawKey));
    assert_ne!(advice(SlotKind::RecoveryKey), advice(SlotKind::PassphraseAndKeyfile));
}

#[cfg(feature = "serde")]
#[test]
fn an_operating_system_error_keeps_its_kind_when_serialized() {
    for (error, kind) in [
        (std::io::Error::from_raw_os_error(2), std::io::ErrorKind::NotFound),
        (std::io::Error::other("no room"), std::io::ErrorKind::Other),
    ] {
        let message = error.to_string();
        let json = serde_json::to_string(&E::Io(error)).unwrap();
        let E::Io(read) = serde_json::from_str(&json).unwrap() else { panic!("another variant") };
        assert_eq!((read.kind(), read.to_string()), (kind, message));
    }
}
