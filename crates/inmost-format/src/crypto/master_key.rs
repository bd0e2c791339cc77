//! The keys derived from the master key.

use crate::crypto::aead::{AeadKey, NotAuthentic, SealError, SealedKey};
use crate::crypto::fixed_width::Empty;
use crate::crypto::ids::StoreId;
use crate::crypto::keys::{DataKey, HeaderMacKey, MasterKey};
use crate::crypto::prf;
use crate::crypto::registry::{AnchorAad, DataKeyAad, HeaderMessage, LabelAad, SyncStateAad, role};
use crate::crypto::rng::{self, RandomnessFailed};

impl MasterKey {
    /// A random master key, for a new store.
    pub fn generate() -> Result<Self, RandomnessFailed> {
        rng::secret().map(Self)
    }

    /// The key that seals data keys.
    pub fn wrap_key(&self, store: &StoreId) -> WrapKey {
        WrapKey(AeadKey::new(prf::derive::<role::WrapKey>(self, store, &Empty)))
    }

    /// The key that authenticates headers.
    pub fn header_mac_key(&self, store: &StoreId) -> HeaderMacKey {
        HeaderMacKey(prf::derive::<role::HeaderMacKey>(self, store, &Empty))
    }

    /// The key that seals labels of keyslots.
    pub fn label_key(&self, store: &StoreId) -> LabelKey {
        AeadKey::new(prf::derive::<role::LabelKey>(self, store, &Empty))
    }

    /// The key that seals anchors.
    pub fn anchor_key(&self, store: &StoreId) -> AnchorKey {
        AeadKey::new(prf::derive::<role::AnchorKey>(self, store, &Empty))
    }

    /// The key that seals the state of synchronisation.
    pub fn sync_state_key(&self, store: &StoreId) -> AeadKey<SyncStateAad> {
        AeadKey::new(prf::derive::<role::SyncStateKey>(self, store, &Empty))
    }
}

/// Seals data keys.
pub struct WrapKey(AeadKey<DataKeyAad>);

impl WrapKey {
    /// Seals a data key.
    pub fn seal(&self, aad: &DataKeyAad, key: &DataKey) -> Result<SealedKey, SealError> {
        self.0.seal_key(aad, &key.0)
    }

    /// Opens a data key.
    pub fn open(&self, aad: &DataKeyAad, sealed: &SealedKey) -> Result<DataKey, NotAuthentic> {
        self.0.open_key(aad, sealed).map(DataKey)
    }
}

/// Seals the labels of keyslots.
pub type LabelKey = AeadKey<LabelAad>;

/// Seals the slots of the anchor.
pub type AnchorKey = AeadKey<AnchorAad>;

impl HeaderMacKey {
    /// The MAC of a header.
    pub fn mac(&self, store: &StoreId, header: &HeaderMessage) -> [u8; 32] {
        prf::mac::<role::HeaderMac>(self, store, header)
    }

    /// Whether `mac` is the MAC of `header`.
    pub fn verify(&self, store: &StoreId, header: &HeaderMessage, mac: &[u8; 32]) -> bool {
        prf::ct_eq(&self.mac(store, header), mac)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::assert_leaks_nowhere;
    use crate::crypto::registry::Role;
    use crate::secret::SecretBytes;

    const STORE: StoreId = StoreId([5; 16]);

    #[test]
    fn no_key_has_a_trait_that_leaks() {
        assert_leaks_nowhere!(WrapKey, LabelKey, AnchorKey);
    }

    #[test]
    fn keys_of_the_master_key_are_all_different() {
        fn output<R: Role<Message = Empty>>(master: &impl prf::PrfKey<R>) -> Vec<u8> {
            prf::derive::<R>(master, &STORE, &Empty).expose().to_vec()
        }
        let master = MasterKey::new(SecretBytes::init_with(|bytes| bytes.fill(1)));
        let seen = BTreeSet::from([
            output::<role::WrapKey>(&master),
            output::<role::HeaderMacKey>(&master),
            output::<role::LabelKey>(&master),
            output::<role::AnchorKey>(&master),
            output::<role::SyncStateKey>(&master),
            master.expose_for_tests(),
        ]);
        assert_eq!(seen.len(), 6);
        assert_eq!(
            master.header_mac_key(&STORE).expose_for_tests(),
            output::<role::HeaderMacKey>(&master)
        );
    }
}
