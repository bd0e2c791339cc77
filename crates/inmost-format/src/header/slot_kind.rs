//! The kinds of keyslot, one for each kind of credential.

use std::fmt;

/// Which kind of credential a keyslot is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum SlotKind {
    /// A passphrase.
    Passphrase,
    /// A passphrase and a keyfile; both are needed.
    PassphraseAndKeyfile,
    /// A recovery key.
    RecoveryKey,
    /// A raw key of the application.
    RawKey,
}

impl SlotKind {
    /// Every kind.
    pub const ALL: [Self; 4] =
        [Self::Passphrase, Self::PassphraseAndKeyfile, Self::RecoveryKey, Self::RawKey];

    pub(super) const fn code(self) -> u8 {
        match self {
            Self::Passphrase => 1,
            Self::PassphraseAndKeyfile => 2,
            Self::RecoveryKey => 3,
            Self::RawKey => 4,
        }
    }

    pub(super) fn from_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.code() == code)
    }

    /// Whether a person may have chosen the secret, so that guesses must be made expensive.
    #[must_use]
    pub const fn has_passphrase(self) -> bool {
        matches!(self, Self::Passphrase | Self::PassphraseAndKeyfile)
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Passphrase => "passphrase",
            Self::PassphraseAndKeyfile => "passphrase and keyfile",
            Self::RecoveryKey => "recovery key",
            Self::RawKey => "raw key",
        }
    }
}

impl fmt::Display for SlotKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
