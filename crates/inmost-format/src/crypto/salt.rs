//! The salt of a keyslot.

use crate::crypto::rng::{self, RandomnessFailed};

/// Makes equal passphrases give different keys; fresh for every slot and every change of one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Salt(pub [u8; 16]);

impl Salt {
    /// A fresh salt.
    pub fn generate() -> Result<Self, RandomnessFailed> {
        rng::array().map(Self)
    }
}
