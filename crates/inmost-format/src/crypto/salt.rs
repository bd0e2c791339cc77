//! The salt of a keyslot.

use crate::crypto::rng::{self, RandomnessFailed};

/// Gives equal passphrases different keys; random for every slot and every change of a slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Salt(pub [u8; 16]);

impl Salt {
    /// A fresh salt.
    pub fn generate() -> Result<Self, RandomnessFailed> {
        rng::array().map(Self)
    }
}
