//! The keys derived from the data key of a generation.

use std::sync::Arc;

use inmost_storage::{JournalMac, SlotFields};

use crate::crypto::aead::AeadKey;
use crate::crypto::ids::StoreId;
use crate::crypto::keys::{AddressKey, DataKey, JournalKey};
use crate::crypto::prf::{self, Keyed};
use crate::crypto::registry::{
    AddressMessage, GenerationMessage, JournalSlotMessage, RecordAad, role,
};
use crate::crypto::rng::{self, RandomnessFailed};
use crate::secret::Granted;

impl DataKey {
    /// A random data key, for a new generation.
    pub fn generate() -> Result<Self, RandomnessFailed> {
        rng::secret().map(Self)
    }
}

/// The keys for sealing and addressing the records of one generation.
pub struct RecordKeys {
    record: AeadKey<RecordAad>,
    // Prepared, because every access to a record computes its address.
    address: Keyed<role::Address>,
    // Shared with the engine, which never sees the key.
    journal: Arc<SlotMac>,
}

impl RecordKeys {
    /// The record keys of one generation.
    pub fn derive(key: &DataKey, store: &StoreId, generation: u64) -> Self {
        let message = GenerationMessage { generation };
        let address = AddressKey::new(prf::derive::<role::AddressKey>(key, store, &message));
        Self {
            record: AeadKey::new(prf::derive::<role::RecordKey>(key, store, &message)),
            address: Keyed::new(&address, store),
            journal: Arc::new(SlotMac {
                key: JournalKey::new(prf::derive::<role::JournalKey>(key, store, &message)),
                store: *store,
            }),
        }
    }

    /// The protections of their memory.
    pub fn granted(&self) -> Granted {
        self.record.granted().and(self.address.granted()).and(self.journal.key.granted())
    }

    /// The AEAD of records.
    pub fn aead(&self) -> &AeadKey<RecordAad> {
        &self.record
    }

    /// The address of the record of this kind, object and index.
    pub fn address(&self, kind: u8, object: &[u8; 16], index: u64) -> [u8; 32] {
        self.address.mac(&AddressMessage { kind, object: *object, index })
    }

    /// The MAC of the slots of the generation's journal.
    pub fn journal(&self) -> Arc<dyn JournalMac> {
        Arc::<SlotMac>::clone(&self.journal)
    }
}

struct SlotMac {
    key: JournalKey,
    store: StoreId,
}

impl JournalMac for SlotMac {
    fn mac(&self, place: u8, fields: &SlotFields) -> [u8; 32] {
        let message = JournalSlotMessage { place, fields: *fields };
        prf::mac::<role::JournalSlot>(&self.key, &self.store, &message)
    }

    fn verify(&self, place: u8, fields: &SlotFields, mac: &[u8; 32]) -> bool {
        prf::ct_eq(&self.mac(place, fields), mac)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use inmost_storage::Address;

    use super::*;
    use crate::assert_leaks_nowhere;
    use crate::secret::SecretBytes;

    const STORE: StoreId = StoreId([5; 16]);

    fn key(value: u8) -> DataKey {
        DataKey::new(SecretBytes::init_with(|bytes| bytes.fill(value)))
    }

    #[test]
    fn the_keys_have_no_trait_that_leaks() {
        assert_leaks_nowhere!(RecordKeys, SlotMac);
    }

    #[test]
    fn an_address_depends_on_everything_that_names_a_record() {
        let keys = RecordKeys::derive(&key(1), &STORE, 1);
        let object = [7; 16];
        let addresses = BTreeSet::from([
            keys.address(1, &object, 0),
            keys.address(2, &object, 0),
            keys.address(1, &[8; 16], 0),
            keys.address(1, &object, 1),
            RecordKeys::derive(&key(2), &STORE, 1).address(1, &object, 0),
            RecordKeys::derive(&key(1), &StoreId([6; 16]), 1).address(1, &object, 0),
            RecordKeys::derive(&key(1), &STORE, 2).address(1, &object, 0),
        ]);
        assert_eq!(addresses.len(), 7);
        assert!(addresses.contains(&keys.address(1, &object, 0)));
    }

    #[test]
    fn the_mac_of_a_slot_depends_on_everything_that_names_it() {
        let fields = |byte| [byte; 96];
        let mac = RecordKeys::derive(&key(1), &STORE, 1).journal();
        let macs = BTreeSet::from([
            mac.mac(0, &fields(1)),
            mac.mac(1, &fields(1)),
            mac.mac(0, &fields(2)),
            RecordKeys::derive(&key(2), &STORE, 1).journal().mac(0, &fields(1)),
            RecordKeys::derive(&key(1), &StoreId([6; 16]), 1).journal().mac(0, &fields(1)),
            RecordKeys::derive(&key(1), &STORE, 2).journal().mac(0, &fields(1)),
        ]);
        assert_eq!(macs.len(), 6);
        assert!(mac.verify(0, &fields(1), &mac.mac(0, &fields(1))));
        assert!(!mac.verify(1, &fields(1), &mac.mac(0, &fields(1))));
    }

    #[test]
    fn records_of_another_generation_do_not_open() {
        let aad = RecordAad { store: STORE, generation: 1, address: Address([0; 32]) };
        let mut record = *b"record";
        let keys = RecordKeys::derive(&key(1), &STORE, 1);
        let (nonce, tag) = keys.aead().seal(&aad, &mut record).unwrap();
        let other = RecordKeys::derive(&key(1), &STORE, 2);
        assert!(other.aead().open(&nonce, &aad, &mut record, &tag).is_err());
    }
}
