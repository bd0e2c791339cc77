//! A door for the fuzz targets: stores in memory whose key derivation costs next to nothing.
//!
//! Exists with the feature `fuzzing` only. [`KdfLimits::of_fuzzing`] is what makes it cheap; nothing public hands it
//! out, so no application can open such a store, not even one built with the feature.

use inmost_format::crypto::cost::{KdfCost, KdfLimits};
use inmost_format::crypto::passphrase::Passphrase;
use inmost_storage::{EngineKind, Storage};

use super::error::StoreError;
use super::{Session, SessionOptions, VaultOptions, generation};

/// The cheapest key derivation there is.
pub(crate) const COST: KdfCost = KdfCost::new(8, 1, 1);
/// The generation of a store that was just created.
pub(crate) const FIRST_GENERATION: u64 = generation::FIRST_GENERATION;

/// Writes a new store.
pub(crate) fn create(storage: &dyn Storage, passphrase: &Passphrase) -> Result<(), StoreError> {
    options(SessionOptions::new()).fill(storage, EngineKind::Memory, passphrase).map(drop)
}

/// Opens and unlocks a store.
pub(crate) fn unlock(
    storage: Box<dyn Storage>,
    session: SessionOptions,
    passphrase: &Passphrase,
) -> Result<Session, StoreError> {
    options(session).open_storage(storage)?.unlock(passphrase)
}

fn options(session: SessionOptions) -> VaultOptions {
    VaultOptions::new().kdf_cost(COST).kdf_limits(KdfLimits::of_fuzzing()).session(session)
}
