//! The names of facts, for bindings of other languages: an exception or a code for each.

use super::StoreError;

impl StoreError {
    /// The name of the fact, such as `WrongPassphrase`. It is that of the variant and never changes its meaning.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::AlreadyExists => "AlreadyExists",
            Self::AnchorUnavailable => "AnchorUnavailable",
            Self::CommitUnknown => "CommitUnknown",
            Self::CopyNotVerified { .. } => "CopyNotVerified",
            Self::Damaged(_) => "Damaged",
            Self::DiskFull => "DiskFull",
            Self::EngineNotBuilt => "EngineNotBuilt",
            Self::ForeignAnchor => "ForeignAnchor",
            Self::Forked => "Forked",
            Self::Halted => "Halted",
            Self::HeaderDamaged => "HeaderDamaged",
            Self::HeaderRolledBack { .. } => "HeaderRolledBack",
            Self::InMemory => "InMemory",
            Self::InUse(_) => "InUse",
            Self::Io(_) => "Io",
            Self::KdfOutOfBounds(_) => "KdfOutOfBounds",
            Self::KeyAgent(_) => "KeyAgent",
            Self::LastSlot => "LastSlot",
            Self::Locked => "Locked",
            Self::NoSuchSlot(_) => "NoSuchSlot",
            Self::NotAStore => "NotAStore",
            Self::OldRecordsRemain(_) => "OldRecordsRemain",
            Self::OutOfMemory => "OutOfMemory",
            Self::OutcomeUnknown => "OutcomeUnknown",
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
}
