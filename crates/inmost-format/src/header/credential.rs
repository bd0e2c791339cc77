//! What opens a store: four kinds of credential, each with a type of its own.

use super::label::SlotLabel;
use super::slot_kind::SlotKind;
use crate::crypto::cost::KdfCost;
use crate::crypto::keys::{Keyfile, RawKey, RecoveryKey};
use crate::crypto::passphrase::Passphrase;
use crate::crypto::rng;
use crate::crypto::rng::RandomnessFailed;
use crate::secret::SecretBytes;

/// What opens a store, borrowed from whoever holds it.
///
/// A credential is tried on keyslots of its own kind only, so one passphrase never opens half of what needs a keyfile
/// as well.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub enum Credential<'a> {
    /// Text that a person remembers.
    Passphrase(&'a Passphrase),
    /// Such text, and a file that must be there as well.
    PassphraseAndKeyfile(&'a Passphrase, &'a Keyfile),
    /// A random key on paper.
    RecoveryKey(&'a RecoveryKey),
    /// A random key that the application keeps.
    RawKey(&'a RawKey),
}

impl Credential<'_> {
    /// The only kind of slot this credential is tried on.
    #[must_use]
    pub fn kind(&self) -> SlotKind {
        match self {
            Self::Passphrase(_) => SlotKind::Passphrase,
            Self::PassphraseAndKeyfile(..) => SlotKind::PassphraseAndKeyfile,
            Self::RecoveryKey(_) => SlotKind::RecoveryKey,
            Self::RawKey(_) => SlotKind::RawKey,
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

/// A credential that is to get a keyslot, and what goes with it.
#[must_use]
pub struct NewSlot<'a> {
    pub(super) credential: Credential<'a>,
    pub(super) label: Option<SlotLabel>,
    pub(super) cost: Option<KdfCost>,
}

impl<'a> NewSlot<'a> {
    /// A slot for a credential. Left alone, it is called what the slot that it replaces was called, or after its
    /// kind; and guessing its passphrase costs what that slot's cost, but never less than the default.
    pub fn new(credential: impl Into<Credential<'a>>) -> Self {
        Self { credential: credential.into(), label: None, cost: None }
    }

    /// What the owner calls it.
    pub fn label(mut self, label: SlotLabel) -> Self {
        self.label = Some(label);
        self
    }

    /// What one guess at its passphrase is to cost; of no meaning where there is no passphrase.
    pub fn kdf_cost(mut self, cost: KdfCost) -> Self {
        self.cost = Some(cost);
        self
    }
}

/// A [`NewSlot`] of which nothing is left open.
pub struct Enrolment<'a> {
    /// The credential.
    pub credential: Credential<'a>,
    /// What guessing its passphrase is to cost; of no meaning where there is none.
    pub cost: KdfCost,
    /// What the owner calls it.
    pub label: &'a SlotLabel,
    /// Now, in milliseconds since 1970.
    pub now_ms: u64,
}

impl RawKey {
    /// A key from 32 bytes, which must be random: nothing makes guessing them cost more. They stay with their owner,
    /// who wipes them.
    #[must_use]
    pub fn from_bytes(bytes: &[u8; 32]) -> Self {
        Self::new(SecretBytes::init_with(|secret| secret.copy_from_slice(bytes)))
    }

    /// A fresh key.
    ///
    /// # Errors
    /// [`RandomnessFailed`].
    pub fn generate() -> Result<Self, RandomnessFailed> {
        Ok(Self::new(rng::secret()?))
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
