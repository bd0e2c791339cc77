//! The identity of a store.

use crate::crypto::rng::{self, RandomnessFailed};

/// The identity of a store: public, random, and never changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StoreId(pub [u8; 16]);

impl StoreId {
    /// The id of a new store.
    pub fn generate() -> Result<Self, RandomnessFailed> {
        rng::array().map(Self)
    }
}
