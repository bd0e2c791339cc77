//! The one hash of the store: BLAKE2b with 256 bits of output (RFC 7693), keyed as PRF and MAC.
//!
//! BLAKE2b has all that HKDF is built for in its parameter block: the key and its length, a salt, here
//! the store's id, and a personalisation, here the [`Role`]. Two outputs can only be equal for the same
//! key, role, store and message, so a key that leaks tells nothing of another, and none has a meaning
//! in another store.

use blake2::Blake2bVarCore;
use blake2::digest::block_api::{UpdateCore, VariableOutputCore};
use blake2::digest::block_buffer::LazyBuffer;
use blake2::digest::{Output, consts::U128};
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use crate::crypto::rng::{self, RandomnessFailed};
use crate::secret::{SHALLOW, SecretBytes, SecretValue, on_wiped_stack, wipe};

/// Identity of a store: public, random, for life.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StoreId(pub [u8; 16]);

impl StoreId {
    /// The id of a new store.
    pub fn generate() -> Result<Self, RandomnessFailed> {
        rng::array().map(Self)
    }
}

/// What an output is for; the personalisation of the hash.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// From a credential's secret: the key that wraps the master key.
    Kek,
    /// From a credential's secret: the public value that tells a right secret from a wrong one.
    Commitment,
    /// From the master key: the key that wraps data keys.
    WrapKey,
    /// From the master key: the key of [`Role::HeaderMac`].
    HeaderMacKey,
    /// From the master key: the key that seals labels.
    LabelKey,
    /// From the master key: the key of [`Role::AnchorMac`].
    AnchorKey,
    /// From a data key: the key that seals records.
    RecordKey,
    /// From a data key: the key of [`Role::Address`].
    AddressKey,
    /// From the address key: where a record is stored.
    Address,
    /// The MAC of a header.
    HeaderMac,
    /// The MAC of an anchor.
    AnchorMac,
}

impl Role {
    /// All of them, for the tests of their separation.
    #[cfg(any(test, feature = "testing"))]
    pub const ALL: [Self; 11] = [
        Self::Kek,
        Self::Commitment,
        Self::WrapKey,
        Self::HeaderMacKey,
        Self::LabelKey,
        Self::AnchorKey,
        Self::RecordKey,
        Self::AddressKey,
        Self::Address,
        Self::HeaderMac,
        Self::AnchorMac,
    ];

    const fn personal(self) -> &'static [u8; 16] {
        match self {
            Self::Kek => b"inmost/1 kek\0\0\0\0",
            Self::Commitment => b"inmost/1 commit\0",
            Self::WrapKey => b"inmost/1 wrap\0\0\0",
            Self::HeaderMacKey => b"inmost/1 hdr-key",
            Self::LabelKey => b"inmost/1 label\0\0",
            Self::AnchorKey => b"inmost/1 anc-key",
            Self::RecordKey => b"inmost/1 record\0",
            Self::AddressKey => b"inmost/1 adr-key",
            Self::Address => b"inmost/1 address",
            Self::HeaderMac => b"inmost/1 hdr-mac",
            Self::AnchorMac => b"inmost/1 anc-mac",
        }
    }
}

/// A secret of 32 or 64 bytes, the two lengths of key in use; BLAKE2b tells them apart.
pub trait PrfKey {
    /// The key, of one of the two lengths.
    fn expose_key(&self) -> &[u8];
}

impl PrfKey for SecretBytes<32> {
    fn expose_key(&self) -> &[u8] {
        self.expose()
    }
}

impl PrfKey for SecretBytes<64> {
    fn expose_key(&self) -> &[u8] {
        self.expose()
    }
}

/// A secret output. The parts of `message` are joined, so for one role each has a fixed width.
pub fn derive(
    key: &impl PrfKey,
    role: Role,
    store: &StoreId,
    message: &[&[u8]],
) -> SecretBytes<32> {
    SecretBytes::init_with(|out| {
        blake2b(key.expose_key(), &store.0, role.personal(), message, out);
    })
}

/// A public output: an address, a commitment, a MAC.
pub fn mac(key: &impl PrfKey, role: Role, store: &StoreId, message: &[&[u8]]) -> [u8; 32] {
    let mut out = [0; 32];
    blake2b(key.expose_key(), &store.0, role.personal(), message, &mut out);
    out
}

/// A key and role whose set-up is paid once: half the time of [`mac`] for a short message.
///
/// The state stands for the key: who has it can compute every output. So it is held like one.
pub struct Keyed(SecretValue<Blake2bVarCore>);

impl Keyed {
    /// Prepares outputs of `role` under `key`.
    pub fn new(key: &impl PrfKey, role: Role, store: &StoreId) -> Self {
        Self(SecretValue::make(|| {
            let (mut core, mut buffer) = start(key.expose_key(), &store.0, role.personal(), 32);
            let mut key_block = buffer.pad_with_zeros();
            core.update_blocks(std::slice::from_ref(&key_block));
            wipe(&mut key_block);
            core
        }))
    }

    /// Equal to [`mac`].
    pub fn mac<const N: usize>(&self, message: &[u8; N]) -> [u8; 32] {
        // Without a message the key block is the last one and has to be hashed as such.
        const { assert!(N > 0) };
        let mut out = [0; 32];
        on_wiped_stack::<SHALLOW, _>(|| {
            finish(Blake2bVarCore::clone(self.0.expose()), Buffer::default(), &[message], &mut out);
        });
        out
    }
}

/// A checksum that anyone can compute: it finds damage, never an attacker.
pub fn checksum(bytes: &[u8]) -> [u8; 32] {
    let mut out = [0; 32];
    blake2b(&[], &[0; 16], CHECKSUM_PERSONAL, &[bytes], &mut out);
    out
}

/// Compares in a time that does not depend on the content.
pub fn ct_eq(one: &[u8; 32], other: &[u8; 32]) -> bool {
    one.as_slice().ct_eq(other.as_slice()).into()
}

/// BLAKE2b of any output length up to 64 bytes; no key if `key` is empty.
fn blake2b(key: &[u8], salt: &[u8; 16], personal: &[u8; 16], message: &[&[u8]], out: &mut [u8]) {
    on_wiped_stack::<SHALLOW, _>(|| {
        let (core, buffer) = start(key, salt, personal, out.len());
        finish(core, buffer, message, out);
    });
}

/// The state before the message: a key is hashed as a first block of its own, padded with zeros. It
/// stays in the buffer, because it is the last block, and hashed as such, if no message follows.
fn start(
    key: &[u8],
    salt: &[u8; 16],
    personal: &[u8; 16],
    out_bytes: usize,
) -> (Blake2bVarCore, Buffer) {
    let core = Blake2bVarCore::new_with_params(salt, personal, key.len(), out_bytes);
    let mut buffer = Buffer::default();
    if !key.is_empty() {
        let mut block = Zeroizing::new([0; 128]);
        block.iter_mut().zip(key).for_each(|(to, from)| *to = *from);
        buffer = Buffer::new(block.as_slice());
    }
    (core, buffer)
}

fn finish(mut core: Blake2bVarCore, mut buffer: Buffer, message: &[&[u8]], out: &mut [u8]) {
    for part in message {
        buffer.digest_blocks(part, |blocks| core.update_blocks(blocks));
    }
    let mut full = Output::<Blake2bVarCore>::default();
    core.finalize_variable_core(&mut buffer, &mut full);
    out.iter_mut().zip(&full).for_each(|(to, from)| *to = *from);
    wipe(&mut full);
}

type Buffer = LazyBuffer<U128>;

const CHECKSUM_PERSONAL: &[u8; 16] = b"inmost/1 check\0\0";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assert_leaks_nowhere;
    use crate::crypto::unhex;

    const STORE: StoreId =
        StoreId([128, 129, 130, 131, 132, 133, 134, 135, 136, 137, 138, 139, 140, 141, 142, 143]);

    fn counting<const N: usize>() -> SecretBytes<N> {
        SecretBytes::init_with(|bytes| (0..).zip(bytes).for_each(|(value, byte)| *byte = value))
    }

    #[test]
    fn the_prepared_state_has_no_trait_that_leaks() {
        assert_leaks_nowhere!(Keyed);
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
        fn hash(length: usize, key: &[u8], message: &[u8]) -> Vec<u8> {
            let mut out = vec![0; length];
            blake2b(key, &[0; 16], &[0; 16], &[message], &mut out);
            out
        }
        let mut all = Vec::new();
        for (out_bytes, key_seed) in [(20, 20), (32, 32), (48, 48), (64, 64)] {
            for (in_bytes, in_seed) in
                [(0, 0), (3, 3), (128, 128), (129, 129), (255, 255), (1024, 1024)]
            {
                let message = sequence(in_bytes, in_seed);
                all.extend(hash(out_bytes, &[], &message));
                all.extend(hash(out_bytes, &sequence(out_bytes, key_seed), &message));
            }
        }
        assert_eq!(
            hash(32, &[], &all),
            unhex("c23a7800d98123bd10f506c61e29da5603d763b8bbad2e737f5e765a7bccd475")
        );
    }

    /// Values of Python's `hashlib.blake2b` (the reference implementation in C).
    #[test]
    fn key_salt_and_personal_agree_with_another_implementation() {
        assert_eq!(
            derive(&counting::<32>(), Role::Kek, &STORE, &[&[3, 1]]).expose().as_slice(),
            unhex("f253ac623356b771541b67fa1cfad8494c3ae56afdf11ceb317dfcaf75c04e6c")
        );
        assert_eq!(
            derive(&counting::<64>(), Role::Kek, &STORE, &[&[3], &[1]]).expose().as_slice(),
            unhex("ae27d00f8a1ae6d9f7a2e463cbc6870bbb4ae9d5bf3e03788821ceb5b7cbb41f")
        );
        assert_eq!(
            derive(&counting::<32>(), Role::WrapKey, &STORE, &[]).expose().as_slice(),
            unhex("48bd50370dcc381930608a1c90d8d3e12cd92b9bb7d329661b415324bca587bc")
        );
        let long: Vec<u8> = (0..=255).cycle().take(300).collect();
        assert_eq!(
            mac(&counting::<32>(), Role::HeaderMac, &STORE, &[&long]).as_slice(),
            unhex("c33b41e539e0bcb82de2757cc81ca753fca2051bc627e847d5f30cf4a0eb7503")
        );
        assert_eq!(
            checksum(b"abc").as_slice(),
            unhex("b8ecefdf425a4ba15fcd3b340ef0578d0876fe6a5cb755ee3725e6c4fd2b0908")
        );
    }

    #[test]
    fn the_prepared_state_gives_the_same_outputs() {
        let key = counting::<32>();
        let keyed = Keyed::new(&key, Role::Address, &STORE);
        let (short, long) = ([7; 25], [7; 300]);
        assert_eq!(keyed.mac(&short), mac(&key, Role::Address, &STORE, &[&short]));
        assert_eq!(keyed.mac(&long), mac(&key, Role::Address, &STORE, &[&long]));
    }

    #[test]
    fn outputs_differ_by_role_and_by_store() {
        let mut outputs = std::collections::BTreeSet::new();
        for role in Role::ALL {
            for store in [STORE, StoreId([1; 16])] {
                outputs.insert(mac(&counting::<32>(), role, &store, &[b"message"]));
            }
        }
        assert_eq!(outputs.len(), 2 * Role::ALL.len());
        assert!(Role::ALL.iter().all(|role| role.personal() != CHECKSUM_PERSONAL));
    }
}
