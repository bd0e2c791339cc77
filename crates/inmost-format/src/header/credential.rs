//! Credentials: the four kinds of secret that open a store, each with its own type.

use std::fmt;

use super::label::SlotLabel;
use crate::crypto::cost::KdfCost;
use crate::crypto::keys::{Keyfile, RawKey, RecoveryKey};
use crate::crypto::passphrase::Passphrase;
use crate::secret::SecretBytes;

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
}

impl fmt::Display for SlotKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Passphrase => "passphrase",
            Self::PassphraseAndKeyfile => "passphrase and keyfile",
            Self::RecoveryKey => "recovery key",
            Self::RawKey => "raw key",
        })
    }
}

/// A secret that opens a store, borrowed from its holder.
///
/// A credential is tried on keyslots of its own kind only, so a passphrase alone never opens a slot that needs a
/// keyfile as well.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub enum Credential<'a> {
    /// Text that a person remembers.
    Passphrase(&'a Passphrase),
    /// Text that a person remembers, and a file that is needed as well.
    PassphraseAndKeyfile(&'a Passphrase, &'a Keyfile),
    /// A random key on paper.
    RecoveryKey(&'a RecoveryKey),
    /// A random key that the application keeps.
    RawKey(&'a RawKey),
}

impl Credential<'_> {
    /// The only kind of slot that this credential is tried on.
    #[must_use]
    pub fn kind(&self) -> SlotKind {
        match self {
            Self::Passphrase(_) => SlotKind::Passphrase,
            Self::PassphraseAndKeyfile(..) => SlotKind::PassphraseAndKeyfile,
            Self::RecoveryKey(_) => SlotKind::RecoveryKey,
            Self::RawKey(_) => SlotKind::RawKey,
        }
    }

    /// Whether this process may use it: a forked child must not use a secret of its parent.
    #[doc(hidden)] // for the crates of this workspace
    #[must_use]
    pub fn is_of_this_process(&self) -> bool {
        match self {
            Self::Passphrase(passphrase) => passphrase.is_of_this_process(),
            Self::PassphraseAndKeyfile(passphrase, keyfile) => {
                passphrase.is_of_this_process() && keyfile.is_of_this_process()
            }
            Self::RecoveryKey(key) => key.is_of_this_process(),
            Self::RawKey(key) => key.is_of_this_process(),
        }
    }
}

impl Credential<'_> {
    /// Whether a person can type its passphrase, if it has one. A new one has to be one line.
    #[must_use]
    pub fn is_one_line(&self) -> bool {
        match self {
            Self::Passphrase(passphrase) | Self::PassphraseAndKeyfile(passphrase, _) => {
                passphrase.is_one_line()
            }
            Self::RecoveryKey(_) | Self::RawKey(_) => true,
        }
    }
}

impl<'a> From<&'a Passphrase> for Credential<'a> {
    fn from(passphrase: &'a Passphrase) -> Self {
        Self::Passphrase(passphrase)
    }
}

impl<'a> From<(&'a Passphrase, &'a Keyfile)> for Credential<'a> {
    fn from((passphrase, keyfile): (&'a Passphrase, &'a Keyfile)) -> Self {
        Self::PassphraseAndKeyfile(passphrase, keyfile)
    }
}

impl<'a> From<&'a RecoveryKey> for Credential<'a> {
    fn from(key: &'a RecoveryKey) -> Self {
        Self::RecoveryKey(key)
    }
}

impl<'a> From<&'a RawKey> for Credential<'a> {
    fn from(key: &'a RawKey) -> Self {
        Self::RawKey(key)
    }
}

/// A credential for a new keyslot, with the label and the cost of the slot.
#[must_use]
pub struct NewSlot<'a> {
    pub(super) credential: Credential<'a>,
    pub(super) label: Option<SlotLabel>,
    pub(super) cost: Option<KdfCost>,
}

impl<'a> NewSlot<'a> {
    /// Whether this process may use its credential.
    #[doc(hidden)] // for the crates of this workspace
    #[must_use]
    pub fn is_of_this_process(&self) -> bool {
        self.credential.is_of_this_process()
    }

    /// Whether a person can type its passphrase, if it has one.
    #[must_use]
    pub fn is_one_line(&self) -> bool {
        self.credential.is_one_line()
    }

    /// A slot for a credential. By default it takes the label of the slot that it replaces, or is named after its kind.
    /// By default a guess at its passphrase costs as much as in that slot, and at least the default cost.
    pub fn new(credential: impl Into<Credential<'a>>) -> Self {
        Self { credential: credential.into(), label: None, cost: None }
    }

    /// Sets the label of the slot.
    pub fn label(mut self, label: SlotLabel) -> Self {
        self.label = Some(label);
        self
    }

    /// Sets the cost of one guess at its passphrase; ignored for a slot without a passphrase.
    pub fn kdf_cost(mut self, cost: KdfCost) -> Self {
        self.cost = Some(cost);
        self
    }
}

/// A [`NewSlot`] with all its defaults filled in.
pub struct Enrolment<'a> {
    /// The credential.
    pub credential: Credential<'a>,
    /// The cost of one guess at its passphrase; ignored for a credential without a passphrase.
    pub cost: KdfCost,
    /// The label.
    pub label: &'a SlotLabel,
    /// Now, in milliseconds since 1970.
    pub now_ms: u64,
}

impl RawKey {
    /// A key from 32 bytes, which must be random: no key derivation makes guessing them expensive. The caller keeps the
    /// bytes and wipes them.
    #[must_use]
    pub fn from_bytes(bytes: &[u8; 32]) -> Self {
        Self::new(SecretBytes::init_with(|secret| secret.copy_from_slice(bytes)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assert_leaks_nowhere;

    #[test]
    fn credentials_have_no_trait_that_leaks() {
        assert_leaks_nowhere!(Keyfile, RecoveryKey, RawKey, NewSlot<'static>);
        crate::assert_not_impl!(Credential<'static>: std::fmt::Debug, PartialEq, serde::Serialize);
        crate::assert_not_impl!(RawKey: std::str::FromStr, From<String>, From<&'static str>);
    }

    #[test]
    fn a_raw_key_is_the_bytes_it_was_given_and_a_fresh_one_is_its_own() {
        assert_eq!(RawKey::from_bytes(&[7; 32]).expose(), &[7; 32]);
        assert_ne!(RawKey::generate().unwrap().expose(), RawKey::generate().unwrap().expose());
    }
}
