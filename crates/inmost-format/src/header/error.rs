//! Why a header cannot be used.

use crate::crypto::aead::SealError;
use crate::crypto::cost::KdfOutOfBounds;
use crate::crypto::kdf::KdfFailed;
use crate::crypto::rng::RandomnessFailed;

/// Why a header cannot be used.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum HeaderError {
    /// Not a header.
    #[error("this is not an Inmost store")]
    NotAStore,
    /// A format version that this build does not know.
    #[error("format version {0} is unknown to this build")]
    UnknownFormat(u16),
    /// Flags that this build does not know.
    #[error("flags {0:#x} are unknown to this build")]
    UnknownFlags(u32),
    /// The code of an engine that this build does not know.
    #[error("engine {0} is unknown to this build")]
    UnknownEngine(u8),
    /// Damage that is detected without a key, so probably an accident.
    #[error("the header is damaged: {0}")]
    Damaged(&'static str),
    /// Key derivation would cost more than the limits allow, or less than they require.
    #[error(transparent)]
    KdfOutOfBounds(#[from] KdfOutOfBounds),
    /// No keyslot belongs to this credential.
    #[error("no keyslot opens with this credential")]
    WrongCredential,
    /// The credential is right, but a part of the header does not authenticate.
    #[error("the header was changed by someone without its keys: {0} does not authenticate")]
    Tampered(&'static str),
    /// No key could be derived.
    #[error(transparent)]
    KdfFailed(#[from] KdfFailed),
    /// The operating system returned no random bytes for a key, a salt or a nonce.
    #[error(transparent)]
    Randomness(#[from] RandomnessFailed),
    /// A part of the header was too long for the AEAD, which cannot happen.
    #[error("a part of the header is too long to be sealed")]
    TooLong,
    /// All eight slots are in use.
    #[error("all keyslots are in use")]
    SlotsFull,
    /// The slot of this number is not in use.
    #[error("keyslot {0} is not in use")]
    NoSuchSlot(u8),
    /// Without this slot the store could never be opened again.
    #[error("the last keyslot cannot be removed")]
    LastSlot,
}

impl From<SealError> for HeaderError {
    fn from(error: SealError) -> Self {
        match error {
            SealError::Randomness(error) => Self::Randomness(error),
            SealError::TooLong => Self::TooLong,
        }
    }
}
