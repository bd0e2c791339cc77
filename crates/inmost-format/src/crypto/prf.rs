//! The one hash of the store: BLAKE2b with 256 bits of output (RFC 7693), keyed as PRF and MAC.
//!
//! The parameter block of BLAKE2b replaces HKDF: it has the key's length, a salt, here the store's id, and a
//! personalisation, here that of the [`Role`]. Two outputs are equal only for the same key, role,
//! store and message. So a leaked key reveals no other key, and no key is valid in another store.

use std::marker::PhantomData;

use blake2::digest::{FixedOutput, Update};
use subtle::ConstantTimeEq;

pub use crate::crypto::blake2b::checksum;
use crate::crypto::blake2b::{Mac, blake2b};
use crate::crypto::fixed_width::FixedWidth;
use crate::crypto::ids::StoreId;
use crate::crypto::registry::Role;
use crate::secret::{Granted, SHALLOW, SecretBytes, SecretValue, on_wiped_stack};

/// A key for outputs of the role `R`.
pub trait PrfKey<R: Role> {
    /// The key, of a length that the role admits.
    fn expose_key(&self) -> &[u8];
}

/// A secret output.
pub fn derive<R: Role>(
    key: &impl PrfKey<R>,
    store: &StoreId,
    message: &R::Message,
) -> SecretBytes<32> {
    SecretBytes::init_with(|out| {
        on_wiped_stack::<SHALLOW, _>(|| finish(start::<R>(key, store), message, out));
    })
}

/// A public output: an address, a commitment, a MAC.
pub fn mac<R: Role>(key: &impl PrfKey<R>, store: &StoreId, message: &R::Message) -> [u8; 32] {
    let mut out = [0; 32];
    on_wiped_stack::<SHALLOW, _>(|| finish(start::<R>(key, store), message, &mut out));
    out
}

/// A key that is set up once, so that a short message takes half the time of [`mac`].
///
/// BLAKE2b takes in a key as a block of its own, but only when a message follows. So a state is prepared for each of
/// the likely first bytes of a message. These states are as secret as the key, and are protected like it.
pub struct Keyed<R: Role> {
    before: SecretValue<Mac>,
    after_first: [SecretValue<Mac>; FIRST_BYTES],
    role: PhantomData<R>,
}

impl<R: Role> Keyed<R> {
    /// Prepares outputs under `key`. Messages that begin with 0 to 7 are the fast ones.
    pub fn new(key: &impl PrfKey<R>, store: &StoreId) -> Self {
        let mut first = 0;
        let after_first = std::array::from_fn(|_| {
            let state = SecretValue::make(|| {
                let mut state = start::<R>(key, store);
                state.update(&[first]);
                state
            });
            first += 1;
            state
        });
        let before = SecretValue::make(|| start::<R>(key, store));
        Self { before, after_first, role: PhantomData }
    }

    /// The protections of its memory.
    pub fn granted(&self) -> Granted {
        let first = self.after_first.iter().map(SecretValue::granted);
        first.fold(self.before.granted(), Granted::and)
    }

    /// The same output as [`mac`].
    pub fn mac(&self, message: &R::Message) -> [u8; 32] {
        let mut out = [0; 32];
        let message = message.encode();
        let message = message.as_ref();
        let prepared = message
            .split_first()
            .and_then(|(first, rest)| Some((self.after_first.get(usize::from(*first))?, rest)));
        let (state, rest) = prepared.unwrap_or((&self.before, message));
        on_wiped_stack::<SHALLOW, _>(|| {
            let mut state = state.expose().clone();
            state.update(rest);
            state.finalize_into((&mut out).into());
        });
        out
    }
}

/// Compares in a time that does not depend on the content.
pub fn ct_eq(one: &[u8; 32], other: &[u8; 32]) -> bool {
    one.as_slice().ct_eq(other.as_slice()).into()
}

fn start<R: Role>(key: &impl PrfKey<R>, store: &StoreId) -> Mac {
    blake2b(Some(key.expose_key()), &store.0, R::PERSONAL)
}

fn finish(mut state: Mac, message: &impl FixedWidth, out: &mut [u8; 32]) {
    state.update(message.encode().as_ref());
    state.finalize_into(out.into());
}

/// First bytes with a prepared state. Addresses are the only short and frequent outputs, and begin with the kind of a
/// record, 1 to 7.
const FIRST_BYTES: usize = 8;

#[cfg(test)]
mod tests {
    use blake2::digest::array::ArraySize;
    use blake2::digest::consts::{U20, U32, U48, U64};
    use blake2::digest::typenum::{IsLessOrEqual, True};

    use super::*;
    use crate::assert_leaks_nowhere;
    use crate::crypto::fixed_width::Empty;
    use crate::crypto::registry::{AddressMessage, GenerationMessage, role};
    use crate::crypto::unhex;

    const STORE: StoreId =
        StoreId([128, 129, 130, 131, 132, 133, 134, 135, 136, 137, 138, 139, 140, 141, 142, 143]);

    /// The bytes 0, 1, 2 and so on, as a test key.
    struct Counting<const N: usize>([u8; N]);

    impl<const N: usize> Counting<N> {
        fn new() -> Self {
            Self(std::array::from_fn(|at| u8::try_from(at).unwrap()))
        }
    }

    impl<R: Role, const N: usize> PrfKey<R> for Counting<N> {
        fn expose_key(&self) -> &[u8] {
            &self.0
        }
    }

    fn hash<N: ArraySize + IsLessOrEqual<U64, Output = True>>(
        key: Option<&[u8]>,
        salt: &[u8; 16],
        personal: &[u8; 16],
        message: &[u8],
    ) -> Vec<u8> {
        let mut state = blake2b::<N>(key, salt, personal);
        state.update(message);
        state.finalize_fixed().to_vec()
    }

    #[test]
    fn the_prepared_states_have_no_trait_that_leaks() {
        assert_leaks_nowhere!(Keyed<role::Address>);
    }

    /// Appendix E of RFC 7693: keyed and unkeyed, four output lengths, six input lengths.
    #[test]
    fn blake2b_passes_the_self_test_of_its_rfc() {
        fn sequence(length: usize, seed: u32) -> Vec<u8> {
            let (mut a, mut b) = (0xdead_4bad_u32.wrapping_mul(seed), 1_u32);
            std::iter::repeat_with(|| {
                let next = a.wrapping_add(b);
                (a, b) = (b, next);
                next.to_be_bytes()[0]
            })
            .take(length)
            .collect()
        }
        fn outputs<N: ArraySize + IsLessOrEqual<U64, Output = True>>() -> Vec<u8> {
            let hash =
                |key: Option<&[u8]>, message: &[u8]| hash::<N>(key, &[0; 16], &[0; 16], message);
            let mut all = Vec::new();
            for (length, seed) in [(0, 0), (3, 3), (128, 128), (129, 129), (255, 255), (1024, 1024)]
            {
                let message = sequence(length, seed);
                all.extend(hash(None, &message));
                all.extend(hash(
                    Some(&sequence(N::USIZE, u32::try_from(N::USIZE).unwrap())),
                    &message,
                ));
            }
            all
        }
        let all = [outputs::<U20>(), outputs::<U32>(), outputs::<U48>(), outputs::<U64>()].concat();
        assert_eq!(
            hash::<U32>(None, &[0; 16], &[0; 16], &all),
            unhex("c23a7800d98123bd10f506c61e29da5603d763b8bbad2e737f5e765a7bccd475")
        );
    }

    /// Values of Python's `hashlib.blake2b` (the reference implementation in C).
    #[test]
    fn key_salt_and_personal_agree_with_another_implementation() {
        let (short, long) = (Counting::<32>::new(), Counting::<64>::new());
        let kek = |key: &[u8]| hash::<U32>(Some(key), &STORE.0, role::Kek::PERSONAL, &[3, 1]);
        assert_eq!(
            kek(&short.0),
            unhex("f253ac623356b771541b67fa1cfad8494c3ae56afdf11ceb317dfcaf75c04e6c")
        );
        assert_eq!(
            kek(&long.0),
            unhex("ae27d00f8a1ae6d9f7a2e463cbc6870bbb4ae9d5bf3e03788821ceb5b7cbb41f")
        );
        assert_eq!(
            derive::<role::WrapKey>(&short, &STORE, &Empty).expose().as_slice(),
            unhex("48bd50370dcc381930608a1c90d8d3e12cd92b9bb7d329661b415324bca587bc")
        );
        let message: Vec<u8> = (0..=255).cycle().take(300).collect();
        assert_eq!(
            hash::<U32>(Some(&short.0), &STORE.0, role::HeaderMac::PERSONAL, &message),
            unhex("c33b41e539e0bcb82de2757cc81ca753fca2051bc627e847d5f30cf4a0eb7503")
        );
        assert_eq!(
            checksum(b"abc").as_slice(),
            unhex("b8ecefdf425a4ba15fcd3b340ef0578d0876fe6a5cb755ee3725e6c4fd2b0908")
        );
    }

    #[test]
    fn prepared_states_give_the_same_outputs() {
        let key = Counting::<32>::new();
        let keyed = Keyed::<role::Address>::new(&key, &STORE);
        for kind in [0, 1, 7, 8, 255] {
            let message = AddressMessage { kind, object: [7; 16], index: 1 };
            assert_eq!(keyed.mac(&message), mac::<role::Address>(&key, &STORE, &message));
        }
        let long = [7; 4_032];
        assert_eq!(
            Keyed::<role::HeaderMac>::new(&key, &STORE).mac(&long),
            mac::<role::HeaderMac>(&key, &STORE, &long)
        );
        assert_eq!(
            Keyed::<role::WrapKey>::new(&key, &STORE).mac(&Empty),
            mac::<role::WrapKey>(&key, &STORE, &Empty)
        );
    }

    #[test]
    fn outputs_differ_by_role_and_by_store() {
        let key = Counting::<32>::new();
        let message = GenerationMessage { generation: 1 };
        let outputs = [STORE, StoreId([1; 16])].map(|store| {
            [
                mac::<role::RecordKey>(&key, &store, &message),
                mac::<role::AddressKey>(&key, &store, &message),
            ]
        });
        let distinct: std::collections::BTreeSet<_> = outputs.as_flattened().iter().collect();
        assert_eq!(distinct.len(), 4);
    }
}
