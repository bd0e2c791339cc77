//! The keys of a store, each with a type that fits one purpose.
//!
//! ```text
//! credential ──┬─> KEK ······> opens the master key in its keyslot
//!              └─> commitment  (public)
//! master key ──┬─> wrap key ··> opens the data key of a generation
//!              ├─> header MAC key, label key, anchor key, key of the sync state
//! data key ────┴─> record key, address key, journal key
//! ```
//!
//! Arrows are outputs of [`prf`](super::prf), dots are sealing; master and data keys are random. The keys that a
//! credential gives are in [`slot_keys`](super::slot_keys), those of the master key in
//! [`master_key`](super::master_key), those of a data key in [`record_keys`](super::record_keys).

pub use crate::crypto::master_key::AnchorKey;
use crate::crypto::prf::PrfKey;
use crate::crypto::registry::{Role, role};
use crate::crypto::rng::{self, RandomnessFailed};
use crate::secret::{Granted, SecretBytes};

/// Declares keys that are used only for derivation, each with its length and its roles in the registry.
macro_rules! prf_keys {
    ($($(#[$doc:meta])* $vis:vis $name:ident($bytes:literal): $($role:ident),+;)+) => {
        $(
            $(#[$doc])*
            $vis struct $name(pub(super) SecretBytes<$bytes>);

            impl $name {
                /// This kind of key from its secret.
                #[allow(dead_code, reason = "some kinds are only ever derived")]
                $vis fn new(secret: SecretBytes<$bytes>) -> Self {
                    Self(secret)
                }

                /// The protections of its memory.
                #[allow(dead_code, reason = "not every kind is held for long")]
                $vis fn granted(&self) -> Granted {
                    self.0.granted()
                }

                #[cfg(any(test, feature = "testing"))]
                #[allow(dead_code, reason = "not every kind is compared")]
                /// A copy of the key, for tests.
                $vis fn expose_for_tests(&self) -> Vec<u8> {
                    self.0.expose().to_vec()
                }
            }

            $(
                const _: () = assert!(
                    admits(role::$role::KEY_BYTES, $bytes),
                    "the role has no key of this length"
                );

                impl PrfKey<role::$role> for $name {
                    fn expose_key(&self) -> &[u8] {
                        self.0.expose()
                    }
                }
            )+
        )+
    };
}

prf_keys! {
    /// The output of Argon2id for a passphrase.
    pub PasswordKey(32): Kek, Commitment;
    /// A [`PasswordKey`] followed by a [`Keyfile`]: both are needed, neither can be guessed alone.
    pub PasswordAndKeyfile(64): Kek, Commitment;
    /// 256 random bits that a person keeps on paper, in case the passphrase is forgotten.
    pub RecoveryKey(32): Kek, Commitment;
    /// 256 random bits that an application keeps, for instance in the system's keyring. Never made from text: text
    /// that a person can type is a [`Passphrase`](crate::crypto::passphrase::Passphrase), and guesses of it must be made
    /// expensive.
    pub RawKey(32): Kek, Commitment;
    /// The root of a store's keys, sealed in every keyslot. Used only for derivation.
    pub MasterKey(32): WrapKey, HeaderMacKey, LabelKey, AnchorKey, SyncStateKey;
    /// The root of one generation's keys. Exists only in the header, sealed under the master key.
    pub DataKey(32): RecordKey, AddressKey, JournalKey;
    /// What the devices of a circle share: each derives the keys of all objects from it.
    pub CircleKey(32): CircleObject, CircleNonceKey, CircleFile;
    /// Turns random bytes and a plaintext into the nonce of an object.
    pub(super) NonceKey(32): CircleNonce;
    /// Authenticates whole headers.
    pub HeaderMacKey(32): HeaderMac;
    /// Turns names of records into addresses.
    pub(super) AddressKey(32): Address;
    /// Authenticates the slots of a journal.
    pub(super) JournalKey(32): JournalSlot;
}

/// 32 random bytes in a file, which opens a store together with a passphrase: neither is enough alone.
pub struct Keyfile(SecretBytes<32>);

impl Keyfile {
    /// A keyfile from its secret.
    #[doc(hidden)] // for the crates of this workspace
    pub fn new(secret: SecretBytes<32>) -> Self {
        Self(secret)
    }
}

/// For secrets that an application holds, and could take along into a forked child.
macro_rules! held_by_applications {
    ($($key:ty),*) => { $(
        impl $key {
            /// A new random secret of this kind.
            ///
            /// # Errors
            /// [`RandomnessFailed`].
            pub fn generate() -> Result<Self, RandomnessFailed> {
                rng::secret().map(Self)
            }

            /// Its bytes, for the place where they are kept.
            #[must_use]
            pub fn expose(&self) -> &[u8; 32] {
                self.0.expose()
            }

            /// Whether this process may use it: a forked child must not use a secret of its parent.
            #[must_use]
            pub fn is_of_this_process(&self) -> bool {
                self.0.is_of_this_process()
            }
        }
    )* };
}

held_by_applications!(Keyfile, RecoveryKey, RawKey);

impl PasswordKey {
    /// This key followed by the keyfile.
    pub fn with_keyfile(&self, keyfile: &Keyfile) -> PasswordAndKeyfile {
        PasswordAndKeyfile(SecretBytes::init_with(|both| {
            let parts = self.0.expose().iter().chain(keyfile.0.expose());
            both.iter_mut().zip(parts).for_each(|(to, from)| *to = *from);
        }))
    }
}

const fn admits(lengths: &[usize], bytes: usize) -> bool {
    match lengths {
        [] => false,
        [first, rest @ ..] => *first == bytes || admits(rest, bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assert_leaks_nowhere;

    #[test]
    fn no_key_has_a_trait_that_leaks() {
        assert_leaks_nowhere!(
            PasswordKey,
            PasswordAndKeyfile,
            RecoveryKey,
            RawKey,
            Keyfile,
            MasterKey,
            DataKey,
            CircleKey,
            NonceKey,
            HeaderMacKey,
            AddressKey,
            JournalKey,
        );
    }

    #[test]
    fn a_keyfile_follows_the_password_key() {
        let key = |byte| SecretBytes::init_with(|bytes: &mut [u8; 32]| bytes.fill(byte));
        let both = PasswordKey::new(key(1)).with_keyfile(&Keyfile::new(key(2)));
        assert_eq!(both.expose_for_tests(), [[1; 32], [2; 32]].concat());
    }
}
