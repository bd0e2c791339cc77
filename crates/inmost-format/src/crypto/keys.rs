//! The keys of a store, each with a type that fits one purpose.
//!
//! ```text
//! credential ──┬─> KEK ······> opens the master key in its keyslot
//!              └─> commitment  (public)
//! master key ──┬─> wrap key ··> opens the data key of a generation
//!              ├─> header MAC key, label key, anchor key
//! data key ────┴─> record key, address key
//! ```
//!
//! Arrows are outputs of [`prf`], dots are sealing; master and data keys are random.

use crate::crypto::aead::{AeadKey, NotAuthentic, SealedKey};
use crate::crypto::kdf::Salt;
use crate::crypto::prf::{self, Keyed, PrfKey, Role, StoreId};
use crate::crypto::rng::{self, RandomnessFailed};
use crate::secret::SecretBytes;

/// Declares keys that are only good for deriving from.
macro_rules! prf_keys {
    ($($(#[$doc:meta])* $vis:vis $name:ident($bytes:literal);)+) => {
        $(
            $(#[$doc])*
            $vis struct $name(SecretBytes<$bytes>);

            impl $name {
                /// This kind of key from its secret.
                #[allow(dead_code, reason = "some kinds are only ever derived")]
                pub fn new(secret: SecretBytes<$bytes>) -> Self {
                    Self(secret)
                }

                #[cfg(any(test, feature = "testing"))]
                /// A copy of the key, for tests.
                pub fn expose_for_tests(&self) -> Vec<u8> {
                    self.0.expose().to_vec()
                }
            }

            impl PrfKey for $name {
                fn expose_key(&self) -> &[u8] {
                    self.0.expose_key()
                }
            }
        )+
    };
}

prf_keys! {
    /// What Argon2id makes of a passphrase.
    pub PasswordKey(32);
    /// A [`PasswordKey`] followed by a [`Keyfile`]: both are needed, neither can be guessed alone.
    pub PasswordAndKeyfile(64);
    /// 256 random bits that a person keeps on paper, for the day the passphrase is forgotten.
    pub RecoveryKey(32);
    /// 256 random bits that an application keeps, for instance in the system's keyring. Never made from text: what a
    /// person can type is a [`Passphrase`](crate::Passphrase), and guessing that must cost something.
    pub RawKey(32);
    /// The root of a store's keys, sealed in every keyslot. Never used but to derive.
    pub MasterKey(32);
    /// The root of one generation's keys. Exists only in the header, sealed under the master key.
    pub DataKey(32);
    /// Authenticates whole headers.
    pub HeaderMacKey(32);
    /// Authenticates the anchor.
    pub AnchorKey(32);
}

/// 32 random bytes in a file, which opens a store together with a passphrase: neither is enough alone.
pub struct Keyfile(SecretBytes<32>);

impl Keyfile {
    /// A keyfile from its secret.
    pub fn new(secret: SecretBytes<32>) -> Self {
        Self(secret)
    }

    /// Its secret.
    pub fn expose(&self) -> &[u8; 32] {
        self.0.expose()
    }
}

impl RecoveryKey {
    /// The key itself.
    pub fn expose(&self) -> &[u8; 32] {
        self.0.expose()
    }
}

impl RawKey {
    /// The key itself, for the place where the application keeps it.
    #[must_use]
    pub fn expose(&self) -> &[u8; 32] {
        self.0.expose()
    }
}

impl PasswordKey {
    /// This key followed by the keyfile.
    pub fn with_keyfile(&self, keyfile: &Keyfile) -> PasswordAndKeyfile {
        PasswordAndKeyfile(SecretBytes::init_with(|both| {
            let parts = self.0.expose().iter().chain(keyfile.0.expose());
            both.iter_mut().zip(parts).for_each(|(to, from)| *to = *from);
        }))
    }
}

/// A secret that unlocks: what is left of a credential once its passphrase has been through Argon2id.
pub trait CredentialSecret: PrfKey {}

impl CredentialSecret for PasswordKey {}
impl CredentialSecret for PasswordAndKeyfile {}
impl CredentialSecret for RecoveryKey {}
impl CredentialSecret for RawKey {}

/// Key encryption key: seals the master key for one credential in one place.
pub struct Kek(AeadKey);

impl Kek {
    /// The KEK of `secret` in the place that `context` names, for one writing of it.
    pub fn derive(
        secret: &impl CredentialSecret,
        store: &StoreId,
        context: [u8; 2],
        salt: &Salt,
    ) -> Self {
        Self(AeadKey::new(prf::derive(secret, Role::Kek, store, &[&context, &salt.0])))
    }

    /// Seals the master key.
    pub fn seal(&self, aad: &[u8], master: &MasterKey) -> Result<SealedKey, RandomnessFailed> {
        self.0.seal_key(aad, &master.0)
    }

    /// Opens the master key.
    ///
    /// # Security
    /// Only after the [`Commitment`] was found equal: the AEAD alone does not commit to its key.
    pub fn open(&self, aad: &[u8], sealed: &SealedKey) -> Result<MasterKey, NotAuthentic> {
        self.0.open_key(aad, sealed).map(MasterKey)
    }
}

/// Public proof of which secret a slot is for: no two secrets give the same, nor does one secret give the same twice.
#[derive(Clone, Copy, Debug)]
pub struct Commitment(pub [u8; 32]);

impl Commitment {
    /// The commitment to `secret` in the place that `context` names, for one writing of it.
    ///
    /// # Security
    /// Not every secret has been through Argon2id with the salt. Without it here, whoever compares two headers would see
    /// that a recovery key or raw key was kept.
    pub fn derive(
        secret: &impl CredentialSecret,
        store: &StoreId,
        context: [u8; 2],
        salt: &Salt,
    ) -> Self {
        Self(prf::mac(secret, Role::Commitment, store, &[&context, &salt.0]))
    }

    /// Compares in a time that does not depend on the content.
    pub fn ct_eq(&self, other: &Self) -> bool {
        prf::ct_eq(&self.0, &other.0)
    }
}

impl MasterKey {
    /// A fresh one.
    pub fn generate() -> Result<Self, RandomnessFailed> {
        rng::secret().map(Self)
    }

    /// The key that seals data keys.
    pub fn wrap_key(&self, store: &StoreId) -> WrapKey {
        WrapKey(AeadKey::new(self.derive(Role::WrapKey, store)))
    }

    /// The key that authenticates headers.
    pub fn header_mac_key(&self, store: &StoreId) -> HeaderMacKey {
        HeaderMacKey(self.derive(Role::HeaderMacKey, store))
    }

    /// The key that seals labels of keyslots.
    pub fn label_key(&self, store: &StoreId) -> LabelKey {
        LabelKey(AeadKey::new(self.derive(Role::LabelKey, store)))
    }

    /// The key that authenticates anchors.
    pub fn anchor_key(&self, store: &StoreId) -> AnchorKey {
        AnchorKey(self.derive(Role::AnchorKey, store))
    }

    fn derive(&self, role: Role, store: &StoreId) -> SecretBytes<32> {
        prf::derive(self, role, store, &[])
    }
}

/// Seals data keys.
pub struct WrapKey(AeadKey);

impl WrapKey {
    /// Seals a data key.
    pub fn seal(&self, aad: &[u8], key: &DataKey) -> Result<SealedKey, RandomnessFailed> {
        self.0.seal_key(aad, &key.0)
    }

    /// Opens a data key.
    pub fn open(&self, aad: &[u8], sealed: &SealedKey) -> Result<DataKey, NotAuthentic> {
        self.0.open_key(aad, sealed).map(DataKey)
    }
}

/// Seals what people write about their keyslots.
pub struct LabelKey(AeadKey);

impl LabelKey {
    /// The AEAD under this key.
    pub fn aead(&self) -> &AeadKey {
        &self.0
    }
}

impl HeaderMacKey {
    /// The MAC of a header.
    pub fn mac(&self, store: &StoreId, header: &[u8]) -> [u8; 32] {
        prf::mac(self, Role::HeaderMac, store, &[header])
    }

    /// Whether `mac` is that of `header`.
    pub fn verify(&self, store: &StoreId, header: &[u8], mac: &[u8; 32]) -> bool {
        prf::ct_eq(&self.mac(store, header), mac)
    }
}

impl AnchorKey {
    /// The MAC of an anchor, whose parts have fixed widths.
    pub fn mac(&self, store: &StoreId, parts: &[&[u8]]) -> [u8; 32] {
        prf::mac(self, Role::AnchorMac, store, parts)
    }

    /// Whether `mac` is that of the anchor of these parts.
    pub fn verify(&self, store: &StoreId, parts: &[&[u8]], mac: &[u8; 32]) -> bool {
        prf::ct_eq(&self.mac(store, parts), mac)
    }
}

impl DataKey {
    /// A fresh one, for a new generation.
    pub fn generate() -> Result<Self, RandomnessFailed> {
        rng::secret().map(Self)
    }
}

/// The keys that records of one generation are sealed and found with.
pub struct RecordKeys {
    record: AeadKey,
    // Prepared, because an address is computed for every record that is touched.
    address: Keyed,
}

impl RecordKeys {
    /// The record keys of one generation.
    pub fn derive(key: &DataKey, store: &StoreId, generation: u64) -> Self {
        let generation = generation.to_le_bytes();
        let address = prf::derive(key, Role::AddressKey, store, &[&generation]);
        Self {
            record: AeadKey::new(prf::derive(key, Role::RecordKey, store, &[&generation])),
            address: Keyed::new(&address, Role::Address, store),
        }
    }

    /// The AEAD of records.
    pub fn aead(&self) -> &AeadKey {
        &self.record
    }

    /// Where the record of this kind, object and index is stored.
    pub fn address(&self, kind: u8, object: &[u8; 16], index: u64) -> [u8; 32] {
        let mut message = [0; 25];
        let parts = std::iter::once(kind).chain(*object).chain(index.to_le_bytes());
        message.iter_mut().zip(parts).for_each(|(to, from)| *to = from);
        self.address.mac(&message)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::assert_leaks_nowhere;

    const STORE: StoreId = StoreId([5; 16]);

    fn bytes<const N: usize>(value: u8) -> SecretBytes<N> {
        SecretBytes::init_with(|bytes| bytes.fill(value))
    }

    #[test]
    fn no_key_has_a_trait_that_leaks() {
        assert_leaks_nowhere!(
            PasswordKey,
            PasswordAndKeyfile,
            RecoveryKey,
            RawKey,
            Keyfile,
            Kek,
            MasterKey,
            WrapKey,
            HeaderMacKey,
            LabelKey,
            AnchorKey,
            DataKey,
            RecordKeys,
        );
    }

    #[test]
    fn a_keyfile_follows_the_password_key() {
        let both = PasswordKey::new(bytes(1)).with_keyfile(&Keyfile::new(bytes(2)));
        assert_eq!(both.expose_for_tests(), [[1; 32], [2; 32]].concat());
    }

    #[test]
    fn a_kek_and_a_commitment_belong_to_one_context_and_one_salt() {
        let secret = RawKey::new(bytes(1));
        let master = MasterKey::new(bytes(2));
        let (salt, other) = (Salt([3; 16]), Salt([4; 16]));
        let sealed = Kek::derive(&secret, &STORE, [0, 4], &salt).seal(b"aad", &master).unwrap();
        let first = Commitment::derive(&secret, &STORE, [0, 4], &salt);
        for (context, salt, opens) in [
            ([0, 4], &salt, true),
            ([1, 4], &salt, false),
            ([0, 3], &salt, false),
            ([0, 4], &other, false),
        ] {
            let opened = Kek::derive(&secret, &STORE, context, salt).open(b"aad", &sealed);
            assert_eq!(opened.is_ok(), opens);
            let commitment = Commitment::derive(&secret, &STORE, context, salt);
            assert_eq!(commitment.ct_eq(&first), opens);
        }
    }

    #[test]
    fn keys_of_the_master_key_are_all_different() {
        let master = MasterKey::new(bytes(1));
        let mut seen = BTreeSet::new();
        for role in [Role::WrapKey, Role::HeaderMacKey, Role::LabelKey, Role::AnchorKey] {
            seen.insert(master.derive(role, &STORE).expose().to_vec());
        }
        seen.insert(master.expose_for_tests());
        assert_eq!(seen.len(), 5);
        assert_eq!(
            master.header_mac_key(&STORE).expose_for_tests(),
            master.derive(Role::HeaderMacKey, &STORE).expose()
        );
    }

    #[test]
    fn an_address_depends_on_everything_that_names_a_record() {
        let keys = RecordKeys::derive(&DataKey::new(bytes(1)), &STORE, 1);
        let object = [7; 16];
        let addresses = BTreeSet::from([
            keys.address(1, &object, 0),
            keys.address(2, &object, 0),
            keys.address(1, &[8; 16], 0),
            keys.address(1, &object, 1),
            RecordKeys::derive(&DataKey::new(bytes(2)), &STORE, 1).address(1, &object, 0),
            RecordKeys::derive(&DataKey::new(bytes(1)), &StoreId([6; 16]), 1)
                .address(1, &object, 0),
            RecordKeys::derive(&DataKey::new(bytes(1)), &STORE, 2).address(1, &object, 0),
        ]);
        assert_eq!(addresses.len(), 7);
        assert!(addresses.contains(&keys.address(1, &object, 0)));
    }

    #[test]
    fn records_of_another_generation_do_not_open() {
        let key = DataKey::new(bytes(1));
        let mut record = *b"record";
        let (nonce, tag) =
            RecordKeys::derive(&key, &STORE, 1).aead().seal(b"", &mut record).unwrap();
        let other = RecordKeys::derive(&key, &STORE, 2);
        assert!(other.aead().open(&nonce, b"", &mut record, &tag).is_err());
    }
}
