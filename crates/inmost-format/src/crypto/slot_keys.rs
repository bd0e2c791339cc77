//! The keys derived from a credential for one keyslot, and the master key that they seal there.

use crate::crypto::aead::{AeadKey, NotAuthentic, SealError, SealedKey};
use crate::crypto::ids::StoreId;
use crate::crypto::keys::MasterKey;
use crate::crypto::prf::{self, PrfKey};
use crate::crypto::registry::{MasterKeyAad, SlotMessage, role};

/// The secret of a credential; for a passphrase, the output of Argon2id.
pub trait CredentialSecret: PrfKey<role::Kek> + PrfKey<role::Commitment> {}

impl<K: PrfKey<role::Kek> + PrfKey<role::Commitment>> CredentialSecret for K {}

/// The key encryption key (KEK) and the commitment that one credential has in one writing of one keyslot.
pub struct SlotKeys {
    kek: AeadKey<MasterKeyAad>,
    commitment: [u8; 32],
}

/// A master key, sealed under a KEK, with the commitment to that KEK's credential; public.
///
/// No two credentials have the same commitment, and no credential has the same commitment twice.
#[derive(Clone, Copy, Debug)]
pub struct WrappedMasterKey {
    /// The commitment.
    pub commitment: [u8; 32],
    /// The master key, sealed.
    pub sealed: SealedKey,
}

impl SlotKeys {
    /// The keys of `secret` for one writing of one slot.
    ///
    /// # Security
    /// The slot's salt is part of the message because recovery keys and raw keys do not pass through Argon2id.
    /// Without the salt, a comparison of two headers would show that such a key was kept.
    pub fn derive(secret: &impl CredentialSecret, store: &StoreId, slot: &SlotMessage) -> Self {
        Self {
            kek: AeadKey::new(prf::derive::<role::Kek>(secret, store, slot)),
            commitment: prf::mac::<role::Commitment>(secret, store, slot),
        }
    }

    /// Seals the master key.
    ///
    /// # Errors
    /// [`SealError`].
    pub fn wrap_master(
        &self,
        aad: &MasterKeyAad,
        master: &MasterKey,
    ) -> Result<WrappedMasterKey, SealError> {
        let sealed = self.kek.seal_key(aad, &master.0)?;
        Ok(WrappedMasterKey { commitment: self.commitment, sealed })
    }

    /// Opens the master key; `None` if the commitment is that of another credential.
    ///
    /// # Errors
    /// [`NotAuthentic`] if the credential is the right one and the sealed key or its context was changed.
    ///
    /// # Security
    /// The commitment is compared first, in constant time, and nothing is decrypted unless it is equal. The AEAD does
    /// not commit to its key, so one ciphertext can be made to open for many passphrases: without the comparison,
    /// each try would tell an attacker which group of passphrases a victim's is in.
    pub fn unwrap_master(
        &self,
        aad: &MasterKeyAad,
        wrapped: &WrappedMasterKey,
    ) -> Result<Option<MasterKey>, NotAuthentic> {
        if !prf::ct_eq(&self.commitment, &wrapped.commitment) {
            return Ok(None);
        }
        self.kek.open_key(aad, &wrapped.sealed).map(|master| Some(MasterKey::new(master)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assert_leaks_nowhere;
    use crate::crypto::ids::Salt;
    use crate::crypto::keys::RawKey;
    use crate::secret::SecretBytes;

    const STORE: StoreId = StoreId([5; 16]);
    const SLOT: SlotMessage = SlotMessage { number: 0, kind: 4, salt: Salt([3; 16]) };
    const AAD: MasterKeyAad = MasterKeyAad {
        store: STORE,
        number: 0,
        kind: 4,
        memory_kib: 0,
        passes: 0,
        lanes: 0,
        salt: Salt([3; 16]),
    };

    fn bytes(value: u8) -> SecretBytes<32> {
        SecretBytes::init_with(|bytes| bytes.fill(value))
    }

    fn wrapped() -> WrappedMasterKey {
        let keys = SlotKeys::derive(&RawKey::new(bytes(1)), &STORE, &SLOT);
        keys.wrap_master(&AAD, &MasterKey::new(bytes(2))).unwrap()
    }

    #[test]
    fn the_keys_have_no_trait_that_leaks() {
        assert_leaks_nowhere!(SlotKeys);
    }

    #[test]
    fn slot_keys_depend_on_secret_slot_and_salt() {
        let wrapped = wrapped();
        for (secret, store, slot, opens) in [
            (1, STORE, SLOT, true),
            (9, STORE, SLOT, false),
            (1, StoreId([6; 16]), SLOT, false),
            (1, STORE, SlotMessage { number: 1, ..SLOT }, false),
            (1, STORE, SlotMessage { kind: 3, ..SLOT }, false),
            (1, STORE, SlotMessage { salt: Salt([4; 16]), ..SLOT }, false),
        ] {
            let keys = SlotKeys::derive(&RawKey::new(bytes(secret)), &store, &slot);
            assert_eq!(keys.unwrap_master(&AAD, &wrapped).unwrap().is_some(), opens);
            // The KEK differs too, so exchanging the commitment does not help an attacker.
            let forged = WrappedMasterKey { commitment: keys.commitment, ..wrapped };
            assert_eq!(keys.unwrap_master(&AAD, &forged).is_ok(), opens);
        }
    }

    #[test]
    fn a_key_under_another_commitment_is_not_opened() {
        let keys = SlotKeys::derive(&RawKey::new(bytes(1)), &STORE, &SLOT);
        let mut forged = wrapped();
        forged.commitment[31] ^= 1;
        forged.sealed.tag.0[0] ^= 1;
        // With the AEAD first this would be an error.
        assert!(keys.unwrap_master(&AAD, &forged).unwrap().is_none());
    }

    #[test]
    fn every_field_of_the_context_is_authenticated() {
        let keys = SlotKeys::derive(&RawKey::new(bytes(1)), &STORE, &SLOT);
        for aad in [
            MasterKeyAad { store: StoreId([6; 16]), ..AAD },
            MasterKeyAad { number: 1, ..AAD },
            MasterKeyAad { kind: 3, ..AAD },
            MasterKeyAad { memory_kib: 1, ..AAD },
            MasterKeyAad { passes: 1, ..AAD },
            MasterKeyAad { lanes: 1, ..AAD },
            MasterKeyAad { salt: Salt([4; 16]), ..AAD },
        ] {
            assert_eq!(keys.unwrap_master(&aad, &wrapped()).err(), Some(NotAuthentic));
        }
    }
}
