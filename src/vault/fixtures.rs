//! Headers for unit tests: tiny costs, raw keys that need no key derivation.

use crate::crypto::cost::{KdfCost, KdfLimits};
use crate::crypto::keys::{Keyfile, RawKey, RecoveryKey};
use crate::crypto::passphrase::Passphrase;
use crate::crypto::prf::{self, StoreId};
use crate::secret::SecretBytes;
use crate::storage::EngineKind;
use crate::vault::credential::{Credential, Enrolment};
use crate::vault::header::HEADER_BYTES;
use crate::vault::label::SlotLabel;
use crate::vault::unlocked::{NewHeader, Unlocked};

pub(super) const TINY: KdfCost = KdfCost::new(8, 1, 1);
pub(super) const STORE: StoreId = StoreId([0x5a; 16]);

/// One credential of each kind.
pub(super) struct Secrets {
    passphrase: Passphrase,
    keyfile: Keyfile,
    recovery: RecoveryKey,
    raw: RawKey,
}

impl Secrets {
    /// Two calls with the same `seed` give the same secrets.
    pub(super) fn new(seed: u8) -> Self {
        let bytes = || SecretBytes::init_with(|bytes| bytes.fill(seed));
        Self {
            passphrase: Passphrase::new(&format!("passphrase {seed}")).unwrap(),
            keyfile: Keyfile::new(bytes()),
            recovery: RecoveryKey::new(bytes()),
            raw: RawKey::new(bytes()),
        }
    }

    pub(super) fn passphrase(&self) -> Credential<'_> {
        Credential::Passphrase(&self.passphrase)
    }

    pub(super) fn keyfile(&self) -> Credential<'_> {
        Credential::PassphraseAndKeyfile(&self.passphrase, &self.keyfile)
    }

    pub(super) fn recovery(&self) -> Credential<'_> {
        Credential::RecoveryKey(&self.recovery)
    }

    pub(super) fn raw(&self) -> Credential<'_> {
        Credential::RawKey(&self.raw)
    }

    pub(super) fn all(&self) -> [Credential<'_>; 4] {
        [self.passphrase(), self.keyfile(), self.recovery(), self.raw()]
    }
}

pub(super) fn enrol<R>(credential: Credential, then: impl FnOnce(&Enrolment) -> R) -> R {
    let label = SlotLabel::parse("laptop").unwrap();
    then(&Enrolment { credential, cost: TINY, label: &label, now_ms: 1_700_000_000_123 })
}

pub(super) fn created_with(credential: Credential) -> Unlocked {
    let label = SlotLabel::parse("laptop").unwrap();
    let enrolment = Enrolment { credential, cost: TINY, label: &label, now_ms: 1_700_000_000_123 };
    NewHeader { store: STORE, engine: EngineKind::Sled, generation: 7, enrolment }
        .create(&KdfLimits::of_tests())
        .unwrap()
}

/// What an attacker who knows the format can always do.
pub(super) fn with_checksum(mut bytes: [u8; HEADER_BYTES]) -> [u8; HEADER_BYTES] {
    let checksum = prf::checksum(&bytes[..HEADER_BYTES - 32]);
    bytes[HEADER_BYTES - 32..].copy_from_slice(&checksum);
    bytes
}
