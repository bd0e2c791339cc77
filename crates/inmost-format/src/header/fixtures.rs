//! Headers for unit tests: with minimal costs, and raw keys that need no key derivation.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::missing_panics_doc,
    reason = "for tests, which panic"
)]

use super::credential::{Credential, Enrolment};
use super::fields::HEADER_BYTES;
use super::label::SlotLabel;
use super::new_header::NewHeader;
use super::unlocked::Unlocked;
use crate::crypto::cost::{KdfCost, KdfLimits};
use crate::crypto::ids::StoreId;
use crate::crypto::keys::{Keyfile, RawKey, RecoveryKey};
use crate::crypto::passphrase::Passphrase;
use crate::crypto::prf;
use crate::secret::SecretBytes;
use inmost_storage::EngineKind;

/// The cheapest possible key derivation.
pub const TINY: KdfCost = KdfCost::new(8, 1, 1);
/// The id of the store that the headers belong to.
pub const STORE: StoreId = StoreId([0x5a; 16]);

/// One credential of each kind.
pub struct Secrets {
    passphrase: Passphrase,
    keyfile: Keyfile,
    recovery: RecoveryKey,
    raw: RawKey,
}

impl Secrets {
    /// Two calls with the same `seed` give the same secrets.
    pub fn new(seed: u8) -> Self {
        let bytes = || SecretBytes::init_with(|bytes| bytes.fill(seed));
        Self {
            passphrase: Passphrase::new(&format!("passphrase {seed}")).unwrap(),
            keyfile: Keyfile::new(bytes()),
            recovery: RecoveryKey::new(bytes()),
            raw: RawKey::new(bytes()),
        }
    }

    /// The passphrase.
    pub fn passphrase(&self) -> Credential<'_> {
        Credential::Passphrase(&self.passphrase)
    }

    /// The passphrase with the keyfile.
    pub fn keyfile(&self) -> Credential<'_> {
        Credential::PassphraseAndKeyfile(&self.passphrase, &self.keyfile)
    }

    /// The recovery key.
    pub fn recovery(&self) -> Credential<'_> {
        Credential::RecoveryKey(&self.recovery)
    }

    /// The raw key.
    pub fn raw(&self) -> Credential<'_> {
        Credential::RawKey(&self.raw)
    }

    /// All four.
    pub fn all(&self) -> [Credential<'_>; 4] {
        [self.passphrase(), self.keyfile(), self.recovery(), self.raw()]
    }
}

/// Calls `then` with the enrolment of a credential.
pub fn enrol<R>(credential: Credential, then: impl FnOnce(&Enrolment) -> R) -> R {
    let label = SlotLabel::parse("laptop").unwrap();
    then(&Enrolment { credential, cost: TINY, label: &label, now_ms: 1_700_000_000_123 })
}

/// A new header with this credential in its first slot.
pub fn created_with(credential: Credential) -> Unlocked {
    let label = SlotLabel::parse("laptop").unwrap();
    let enrolment = Enrolment { credential, cost: TINY, label: &label, now_ms: 1_700_000_000_123 };
    NewHeader { store: STORE, engine: EngineKind::Sled, generation: 7, enrolment }
        .create(&KdfLimits::of_tests())
        .unwrap()
}

/// Corrects the checksum, as an attacker would.
pub fn with_checksum(mut bytes: [u8; HEADER_BYTES]) -> [u8; HEADER_BYTES] {
    let checksum = prf::checksum(&bytes[..HEADER_BYTES - 32]);
    bytes[HEADER_BYTES - 32..].copy_from_slice(&checksum);
    bytes
}
