//! What the tests of several crates share: the passphrase of their stores, a cheap key derivation, random choices and their
//! seeds, and forked children. Unit tests of `inmost-format` cannot use it, because it depends on that crate.

#[cfg(unix)]
mod child;
mod random;
mod seeds;

#[cfg(unix)]
pub use child::in_child;
use inmost_format::crypto::cost::KdfCost;
use inmost_format::crypto::passphrase::Passphrase;
pub use random::Random;
pub use seeds::{for_all, seeds};

/// The passphrase of a store.
///
/// # Panics
/// Never: the passphrase is valid.
#[must_use]
pub fn passphrase() -> Passphrase {
    #[allow(clippy::unwrap_used, reason = "the passphrase is valid")]
    Passphrase::new("correct horse battery staple").unwrap()
}

/// The cheapest key derivation that every vault accepts.
pub const CHEAP: KdfCost = KdfCost::new(19 << 10, 2, 1);
