//! Derives every key of a store from its header and passphrase, independently of the library
//! (docs/FORMAT.md), so that a test can search for keys that the library never returns.

use argon2::{Algorithm, Argon2, AssociatedData, ParamsBuilder, Version};
use blake2::Blake2bMac;
use blake2::digest::consts::U32;
use blake2::digest::{FixedOutput, Update};
use chacha20poly1305::{AeadInOut, KeyInit, XChaCha20Poly1305};
use unicode_normalization::UnicodeNormalization;

/// Returns the keys of the first keyslot and of the generation in the header, with their names.
pub(crate) fn of_header(header: &[u8], passphrase: &str) -> Vec<(&'static str, Vec<u8>)> {
    let store = &header[16..32];
    let slot = &header[128..384];
    let (cost, salt) = (&slot[4..16], &slot[16..32]);
    let password_key = password_key(header, passphrase);
    let place = [0, slot[0]];
    let slot_and_salt = [&place, salt].concat();
    let kek = prf(&password_key, b"inmost/1 kek\0\0\0\0", store, &slot_and_salt);
    let commitment = prf(&password_key, b"inmost/1 commit\0", store, &slot_and_salt);
    assert_eq!(commitment, slot[32..64], "the passphrase does not fit the first slot");
    let aad = [b"inmost/1 slot\0\0\0", store, &place, cost, salt].concat();
    let master = open(&kek, &slot[64..136], &aad);

    let wrap = prf(&master, b"inmost/1 wrap\0\0\0", store, &[]);
    let aad = [b"inmost/1 datakey", store, &header[40..48], &header[10..11]].concat();
    let data = open(&wrap, &header[48..120], &aad);
    let of_master = |role| prf(&master, role, store, &[]);
    let of_data = |role| prf(&data, role, store, &header[40..48]);
    vec![
        ("header MAC key", of_master(b"inmost/1 hdr-key")),
        ("label key", of_master(b"inmost/1 label\0\0")),
        ("anchor key", of_master(b"inmost/1 anc-key")),
        ("record key", of_data(b"inmost/1 record\0")),
        ("address key", of_data(b"inmost/1 adr-key")),
        ("password key", password_key),
        ("KEK", kek),
        ("master key", master),
        ("wrap key", wrap),
        ("data key", data),
    ]
}

/// Returns the Argon2id output for a passphrase with the parameters of the first keyslot.
pub(crate) fn password_key(header: &[u8], passphrase: &str) -> Vec<u8> {
    let passphrase: String = passphrase.nfc().collect();
    let slot = &header[128..384];
    let number = |at: usize| u32::from_le_bytes(slot[at..at + 4].try_into().unwrap());
    let params = ParamsBuilder::new()
        .m_cost(number(4))
        .t_cost(number(8))
        .p_cost(number(12))
        .output_len(32)
        .data(AssociatedData::new(&header[16..32]).unwrap())
        .build()
        .unwrap();
    let mut key = vec![0; 32];
    Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
        .hash_password_into(passphrase.as_bytes(), &slot[16..32], &mut key)
        .unwrap();
    key
}

fn prf(key: &[u8], role: &[u8; 16], store: &[u8], message: &[u8]) -> Vec<u8> {
    let mut mac = Blake2bMac::<U32>::new_with_salt_and_personal(Some(key), store, role).unwrap();
    mac.update(message);
    mac.finalize_fixed().to_vec()
}

/// Opens a nonce, ciphertext and tag.
fn open(key: &[u8], sealed: &[u8], aad: &[u8]) -> Vec<u8> {
    let nonce: [u8; 24] = sealed[..24].try_into().unwrap();
    let (ciphertext, tag) = sealed[24..].split_last_chunk::<16>().unwrap();
    let mut plaintext = ciphertext.to_vec();
    XChaCha20Poly1305::new_from_slice(key)
        .unwrap()
        .decrypt_inout_detached(&nonce.into(), aad, plaintext.as_mut_slice().into(), tag.into())
        .unwrap();
    plaintext
}
