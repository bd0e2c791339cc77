//! Public values that keys and sealed messages are bound to.

use super::rng::{self, RandomnessFailed};

/// The identity of a store: public, random, and never changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StoreId(pub [u8; 16]);

impl StoreId {
    /// The id of a new store.
    pub fn generate() -> Result<Self, RandomnessFailed> {
        rng::array().map(Self)
    }
}

/// Gives equal passphrases different keys; random for every slot and every change of a slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Salt(pub [u8; 16]);

impl Salt {
    /// A fresh salt.
    pub fn generate() -> Result<Self, RandomnessFailed> {
        rng::array().map(Self)
    }
}
